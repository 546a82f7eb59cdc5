import { crc32 } from 'node:zlib';
import t from 'tap';
import {
  FRAME_HEAD_BYTES,
  FrameType,
  beginFrame,
  endFrame,
  endOfContent,
  frameEnd,
  readFrame,
} from '../../src/persistence/frame.js';
import { GrowingBuffer } from '../../src/persistence/growing-buffer.js';

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

t.test('what is no frame is told in words, wherever its file ends', async (t) => {
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

t.test('a whole frame of a type that nobody has named is none', async (t) => {
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
