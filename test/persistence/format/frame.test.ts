import { crc32 } from 'node:zlib';
import t from 'tap';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import {
  beginFrame,
  endFrame,
  endOfContent,
  type Frame,
  FRAME_HEAD_BYTES,
  frameEnd,
  FrameType,
  type Marker,
  readMarker,
  putMarker,
  readFrame,
} from '../../../src/persistence/format/frame.js';

const START = 3;

/** Three bytes of something else, and behind them one frame. */
function framed(payload: string, type: FrameType = FrameType.record): Buffer {
  const out = new GrowingBuffer(1);
  out.put(Buffer.from('abc'));
  const start = beginFrame(out);
  out.put(Buffer.from(payload));
  endFrame(out, start, type);
  return Buffer.from(out.view());
}

/** With another type, and a CRC that is right. */
function typed(bytes: Buffer, type: number): Buffer {
  bytes.writeUInt32LE(type, START + 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(START + 4)), START);
  return bytes;
}

t.test('a frame is read as it was written, up to the last byte of its file', async (t) => {
  for (const payload of ['', 'payload']) {
    for (const type of Object.values(FrameType)) {
      const bytes = framed(payload, type);
      const end = START + FRAME_HEAD_BYTES + payload.length;
      t.equal(bytes.length, end);
      t.same(readFrame(bytes, START), { type, start: START, end, payload: Buffer.from(payload) });
      t.equal(frameEnd(bytes, START), end);
    }
  }
});

t.test('the reader says in words what is wrong with a frame, wherever its file ends', async (t) => {
  const bytes = framed('payload');
  for (let end = START; end < bytes.length; end += 1) {
    const room = end - START;
    const words =
      room < FRAME_HEAD_BYTES
        ? `${room} bytes are too few for a frame`
        : 'a frame of 7 bytes would end behind the file';
    t.equal(readFrame(bytes.subarray(0, end), START), words);
    t.equal(frameEnd(bytes.subarray(0, end), START), -1);
  }
  for (let at = START; at < START + 4; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    t.equal(readFrame(changed, START), 'the CRC is wrong');
  }
});

t.test('a whole frame of an unknown type is rejected', async (t) => {
  for (const type of [0, 9, 1 << 8]) {
    t.equal(readFrame(typed(framed('payload'), type), START), `unknown frame type ${type}`);
  }
});

t.test('content ends behind its last byte that is not zero, however many zeros there are', async (t) => {
  for (const zeros of [0, 1, 4095, 4096, 4097, 3 * 4096]) {
    const empty = Buffer.alloc(START + zeros);
    t.equal(endOfContent(empty, START), START);
    for (const place of [0, zeros >> 1, zeros - 1]) {
      if (place < 0 || place >= zeros) continue;
      const bytes = Buffer.from(empty);
      bytes[START + place] = 1;
      t.equal(endOfContent(bytes, START), START + place + 1);
    }
  }
  t.equal(endOfContent(framed(''), START + FRAME_HEAD_BYTES), START + FRAME_HEAD_BYTES);
});

const PLACE = { file: 'segment-00000001.log', offset: 12, index: 3, seq: 4 };
const NOTES: readonly (readonly [Marker, FrameType])[] = [
  [{ type: 'SNAPSHOT', index: 1, bytes: 2 ** 40, sha256: '5a'.repeat(32), stateHash: 'c3'.repeat(32) }, 5],
  [{ type: 'STATE_HASH', index: 2, stateHash: 'c4'.repeat(32) }, 4],
  [{ type: 'STATE_SUM', index: 3, stateHash: 'c5'.repeat(32) }, 8],
];

function framedNote(put: (out: GrowingBuffer) => void): Frame {
  const out = new GrowingBuffer(16);
  put(out);
  const frame = readFrame(Buffer.from(out.view()), 0);
  if (typeof frame === 'string') throw new Error(frame);
  return frame;
}

t.test('what a log says about itself is read back as it was said', async (t) => {
  for (const [note, type] of NOTES) {
    const frame = framedNote((out) => putMarker(out, note));
    t.equal(frame.type, type);
    t.strictSame(readMarker(frame, PLACE), note);
  }
});

t.test('a whole frame that holds something else is damage, and the error names its place', async (t) => {
  for (const [note, type] of NOTES) {
    const { payload } = framedNote((out) => putMarker(out, note));
    const cut = payload.subarray(0, -1);
    const longer = Buffer.concat([payload, Buffer.alloc(1)]);
    const fields = Buffer.from(payload);
    fields[0] = (fields[0] ?? 0) + 1;
    for (const other of [cut, longer, fields]) {
      const frame = framedNote((out) => {
        const start = beginFrame(out);
        out.put(other);
        endFrame(out, start, type);
      });
      t.throws(() => readMarker(frame, PLACE), { code: 'DAMAGED', place: PLACE });
    }
  }
});
