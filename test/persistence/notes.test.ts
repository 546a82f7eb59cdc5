import t from 'tap';
import { FrameType, beginFrame, endFrame, readFrame, type Frame } from '../../src/persistence/frame.js';
import { GrowingBuffer } from '../../src/persistence/growing-buffer.js';
import { noteIn, putNote, type Note } from '../../src/persistence/notes.js';

const PLACE = { file: 'segment-00000001.log', offset: 12, index: 3, seq: 4 };
const NOTES: readonly (readonly [Note, FrameType])[] = [
  [{ type: 'SNAPSHOT', index: 1, bytes: 2 ** 40, sha256: '5a'.repeat(32), stateHash: 'c3'.repeat(32) }, 5],
  [{ type: 'STATE_HASH', index: 2, stateHash: 'c4'.repeat(32) }, 4],
  [{ type: 'STATE_SUM', index: 3, stateHash: 'c5'.repeat(32) }, 8],
];

function framed(put: (out: GrowingBuffer) => void): Frame {
  const out = new GrowingBuffer(16);
  put(out);
  const frame = readFrame(Buffer.from(out.view()), 0);
  if (typeof frame === 'string') throw new Error(frame);
  return frame;
}

t.test('what a log says about itself is read back as it was said', async (t) => {
  for (const [note, type] of NOTES) {
    const frame = framed((out) => putNote(out, note));
    t.equal(frame.type, type);
    t.strictSame(noteIn(frame, PLACE), note);
  }
});

t.test('a whole frame that holds something else is damage, and the error names its place', async (t) => {
  for (const [note, type] of NOTES) {
    const { payload } = framed((out) => putNote(out, note));
    const cut = payload.subarray(0, -1);
    const longer = Buffer.concat([payload, Buffer.alloc(1)]);
    const fields = Buffer.from(payload);
    fields[0] = (fields[0] ?? 0) + 1;
    for (const other of [cut, longer, fields]) {
      const frame = framed((out) => {
        const start = beginFrame(out);
        out.put(other);
        endFrame(out, start, type);
      });
      t.throws(() => noteIn(frame, PLACE), { code: 'DAMAGED', place: PLACE });
    }
  }
});
