import fc from 'fast-check';
import t from 'tap';
import { messageFrame } from '../../../src/net/node/socket.js';

/** Reads a server's frame as RFC 6455 section 5.2 lays it out. */
function read(frame: Buffer): { opcode: number; final: boolean; masked: boolean; payload: Buffer } {
  const [first = 0, second = 0] = frame;
  const short = second & 0x7f;
  const [start, length] =
    short < 126 ? [2, short] : short === 126 ? [4, frame.readUInt16BE(2)] : [10, Number(frame.readBigUInt64BE(2))];
  if (frame.length !== start + length) throw new Error(`${frame.length} bytes for a payload of ${length}`);
  return { opcode: first & 0x7f, final: first >= 0x80, masked: second >= 0x80, payload: frame.subarray(start) };
}

t.test('frames are those of RFC 6455 section 5.7', async (t) => {
  t.equal(messageFrame('Hello', false).toString('hex'), '810548656c6c6f');
  t.equal(messageFrame(new Uint8Array(256), true).subarray(0, 4).toString('hex'), '827e0100');
  t.equal(messageFrame(new Uint8Array(65_536), true).subarray(0, 10).toString('hex'), '827f0000000000010000');
});

t.test('a message of any length is read back', async (t) => {
  for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 1_000_000]) {
    const text = 'x'.repeat(length);
    t.strictSame(read(messageFrame(text, false)), {
      opcode: 1,
      final: true,
      masked: false,
      payload: Buffer.from(text),
    });
  }
});

t.test('text and bytes are read back, whatever is in them', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.uint8Array({ maxLength: 300, size: 'max' }), (text, bytes) => {
      t.equal(read(messageFrame(text, false)).payload.toString(), text);
      const binary = read(messageFrame(bytes, true));
      t.equal(binary.opcode, 2);
      t.strictSame(binary.payload, Buffer.from(bytes));
      // Bytes may be sent as text, too: the caller vouches for their encoding.
      t.equal(read(messageFrame(bytes, false)).opcode, 1);
    }),
  );
});
