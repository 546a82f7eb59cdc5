import t from 'tap';
import {
  FILE_FORMAT,
  HEADER_BYTES,
  putSegmentHeader,
  putSnapshotHeader,
  readSegmentHeader,
  readSnapshotHeader,
} from '../../src/persistence/file-header.js';
import { FrameType, beginFrame, endFrame } from '../../src/persistence/frame.js';
import { GrowingBuffer } from '../../src/persistence/growing-buffer.js';
import { MsgpackWriter } from '../../src/persistence/msgpack-writer.js';

const point = { index: 2, seq: 3, group: 4, chain: Buffer.alloc(32, 5), epoch: Buffer.alloc(8, 6) };
const madeBytes = 8192;

function written(put: (out: GrowingBuffer) => void): Buffer {
  const out = new GrowingBuffer(16);
  put(out);
  return Buffer.from(out.view());
}

const USUAL = {
  kind: 'quotebook log',
  format: FILE_FORMAT as number,
  epochBytes: 8,
  chainBytes: 32,
  fields: 9,
  spare: 0,
  type: FrameType.header as FrameType,
};

/** A segment's header as another program might write it. */
function header(other: Partial<typeof USUAL> = {}): Buffer {
  const { kind, format, epochBytes, chainBytes, fields, spare, type } = { ...USUAL, ...other };
  return written((out) => {
    const start = beginFrame(out);
    const writer = new MsgpackWriter(out);
    writer.array(fields);
    writer.text(kind);
    writer.uint(format);
    writer.bin(Buffer.alloc(epochBytes, 6));
    for (const number of [1, 2, 3, 4]) writer.uint(number);
    writer.bin(Buffer.alloc(chainBytes, 5));
    if (fields > 8) writer.uint(madeBytes);
    for (let field = 0; field < spare; field += 1) writer.nil();
    endFrame(out, start, type);
  });
}

t.test('a header is read back with all that it says, and fits into what is read of a file for it', async (t) => {
  const most = { ...point, index: Number.MAX_SAFE_INTEGER, seq: 2 ** 52, group: 2 ** 51 };
  for (const at of [point, most]) {
    const segment = written((out) => putSegmentHeader(out, { ...at, number: 2 ** 50, madeBytes: 2 ** 48 }));
    t.match(readSegmentHeader(segment), {
      header: { ...at, number: 2 ** 50, madeBytes: 2 ** 48, format: FILE_FORMAT },
      frame: { end: segment.length },
    });
    const snapshot = written((out) => putSnapshotHeader(out, { ...at, tsMs: 2 ** 49 }));
    t.match(readSnapshotHeader(snapshot), { header: { ...at, tsMs: 2 ** 49 }, frame: { end: snapshot.length } });
    t.ok(Math.max(segment.length, snapshot.length) <= HEADER_BYTES);
  }
});

t.test('formats from the oldest to the present one are read', async (t) => {
  for (let format = 1; format <= FILE_FORMAT; format += 1) {
    t.match(readSegmentHeader(header({ format, fields: format < 4 ? 8 : 9 })), {
      header: { ...point, number: 1, format, madeBytes: format < 4 ? 0 : madeBytes },
    });
  }
  t.equal(readSegmentHeader(header({ format: 0, fields: 8 })), 'no quotebook log of format 0');
  t.throws(() => readSegmentHeader(header({ format: FILE_FORMAT + 1 })), { code: 'NEWER_FORMAT' });
});

t.test('what is no header of the kind is told in words', async (t) => {
  t.equal(readSnapshotHeader(header({ fields: 8 })), 'not the header of a quotebook snapshot');
  t.equal(readSegmentHeader(header({ kind: 'quotebook snapshot', fields: 8 })), 'not the header of a quotebook log');
  t.equal(readSegmentHeader(header({ type: FrameType.record })), 'a frame of type 2 instead of a header');
  t.equal(readSegmentHeader(header({ epochBytes: 7 })), 'a header with fields of wrong length');
  t.equal(readSegmentHeader(header({ chainBytes: 33 })), 'a header with fields of wrong length');
  t.equal(readSegmentHeader(header({ fields: 10 })), `no quotebook log of format ${FILE_FORMAT}`);
  t.equal(readSegmentHeader(header({ spare: 1 })), '1 bytes too many');
  t.equal(readSegmentHeader(Buffer.alloc(HEADER_BYTES)), 'the CRC is wrong');
});
