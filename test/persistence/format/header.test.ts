import { createHash } from 'node:crypto';
import t from 'tap';
import { MsgpackWriter } from '../../../src/persistence/codec/msgpack-writer.js';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import { beginFrame, endFrame, FRAME_HEAD_BYTES, FrameType, readFrame } from '../../../src/persistence/format/frame.js';
import {
  chainAfter,
  type Commit,
  COMMIT_BYTES,
  FILE_FORMAT,
  firstChain,
  HEADER_BYTES,
  highestDurable,
  putCommit,
  putSegmentHeader,
  putSnapshotHeader,
  readCommit,
  readSegmentHeader,
  readSnapshotHeader,
} from '../../../src/persistence/format/header.js';

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

t.test('the reader says in words what is wrong with a header', async (t) => {
  t.equal(readSnapshotHeader(header({ fields: 8 })), 'not the header of a quotebook snapshot');
  t.equal(readSegmentHeader(header({ kind: 'quotebook snapshot', fields: 8 })), 'not the header of a quotebook log');
  t.equal(readSegmentHeader(header({ type: FrameType.record })), 'a frame of type 2 instead of a header');
  t.equal(readSegmentHeader(header({ epochBytes: 7 })), 'a header with fields of wrong length');
  t.equal(readSegmentHeader(header({ chainBytes: 33 })), 'a header with fields of wrong length');
  t.equal(readSegmentHeader(header({ fields: 10 })), `no quotebook log of format ${FILE_FORMAT}`);
  t.equal(readSegmentHeader(header({ spare: 1 })), '1 bytes too many');
  t.equal(readSegmentHeader(Buffer.alloc(HEADER_BYTES)), 'the CRC is wrong');
});

const EPOCH = Buffer.from('0102030405060708', 'hex');
const OTHER_EPOCH = Buffer.from('0102030405060709', 'hex');
/** Each of another number, and of more than 32 bits where that is allowed. */
const COUNTS = { group: 2 ** 33 + 1, durable: 2 ** 34 + 2, index: 2 ** 35 + 3, seq: 2 ** 36 + 4, records: 5 };
const GROUP = Buffer.from('the bytes of a group');

/** A group that ends with its commit, and that commit's payload. */
function committed(counts: Partial<Commit> = {}, epoch = EPOCH, head: Buffer | null = null) {
  const out = new GrowingBuffer(16);
  out.put(GROUP);
  const chain = putCommit(out, epoch, firstChain(epoch), head, { ...COUNTS, ...counts });
  const bytes = Buffer.from(out.view());
  return { bytes, chain, payload: bytes.subarray(GROUP.length + FRAME_HEAD_BYTES) };
}

t.test('a commit is read as it was written', async (t) => {
  const { bytes, chain, payload } = committed();
  t.match(readFrame(bytes, GROUP.length), { end: bytes.length, type: 3 });
  t.same(readCommit(payload, EPOCH), { ...COUNTS, bytes: GROUP.length, chain });
});

t.test('its chain is SHA-256 of the chain before, the whole group and its own fields', async (t) => {
  const head = Buffer.from('a header');
  for (const before of [null, head]) {
    const group = Buffer.concat([before ?? Buffer.alloc(0), GROUP]);
    const { chain, payload } = committed({}, EPOCH, before);
    const previous = createHash('sha256').update(EPOCH).digest();
    const expected = createHash('sha256')
      .update(Buffer.concat([previous, group, payload.subarray(0, 56)]))
      .digest();
    t.same(chain, expected);
    t.same(chainAfter(previous, group, payload), expected);
    t.equal(readCommit(payload, EPOCH)?.bytes, group.length);
  }
});

t.test('a payload without the mark, of another log or of another length is no commit', async (t) => {
  const { payload } = committed();
  t.equal(readCommit(payload, OTHER_EPOCH), null);
  t.equal(readCommit(payload.subarray(0, COMMIT_BYTES - 1), EPOCH), null);
  t.equal(readCommit(Buffer.concat([payload, Buffer.alloc(1)]), EPOCH), null);
  for (let at = 0; at < 16; at += 1) {
    const changed = Buffer.from(payload);
    changed[at] = (changed[at] ?? 0) ^ 1;
    t.equal(readCommit(changed, EPOCH), null, `byte ${at}`);
  }
});

t.test('what was known to be durable is found behind damage, and is the most that any commit says', async (t) => {
  const [low, high] = [committed({ durable: 7 }).bytes, committed({ durable: 9 }).bytes];
  const damage = Buffer.alloc(50, 0xee);
  t.equal(highestDurable(Buffer.concat([damage, low, high, low]), 0, EPOCH), 9);
  t.equal(highestDurable(Buffer.concat([high, damage, low]), high.length, EPOCH), 7);
  // One whose frame begins before `start` lies not behind it.
  t.equal(highestDurable(high, GROUP.length, EPOCH), 9);
  t.equal(highestDurable(high, GROUP.length + 1, EPOCH), 0);
});

t.test('a commit that is broken, of another log, or only looks like one says nothing of durability', async (t) => {
  const { bytes, payload } = committed();
  const broken = Buffer.from(bytes);
  broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1;
  const record = new GrowingBuffer(16);
  const start = beginFrame(record);
  record.put(payload);
  endFrame(record, start, FrameType.record);
  const others = [broken, committed({}, OTHER_EPOCH).bytes, record.view(), Buffer.from('QBCOMMIT')];
  t.equal(highestDurable(Buffer.concat(others), 0, EPOCH), 0);
  t.equal(highestDurable(Buffer.concat([...others, bytes]), 0, EPOCH), COUNTS.durable);
});
