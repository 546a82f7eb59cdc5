import type { Hex } from '../engine/quote.js';

/** Most bytes that are written in one piece: a public key. */
const MOST_BYTES = 65;
const text = Buffer.from(new ArrayBuffer(2 + 2 * MOST_BYTES));
text.write('0x', 'latin1');
/** The same text, two characters each. */
const pairs = new Uint16Array(text.buffer);
/**
 * Of each byte its two digits, the first one in the lower byte, as memory has it on every machine that Node and its
 * libraries are built for.
 */
const digits = Uint16Array.from({ length: 256 }, (_, byte) => {
  const [high = 0, low = 0] = Buffer.from(byte.toString(16).padStart(2, '0'));
  return low * 256 + high;
});

/**
 * `0x` and the digits. In one piece: where two are put together the engine keeps them apart, and every map that such a
 * text is a key of compares it by a call out of compiled code. It takes less time than `toString('hex')` too.
 */
export function toHex(bytes: Uint8Array): Hex {
  if (bytes.length > MOST_BYTES) return `0x${Buffer.from(bytes).toString('hex')}`;
  for (let i = 0; i < bytes.length; i++) pairs[i + 1] = digits[bytes[i] ?? 0] ?? 0;
  return text.toString('latin1', 0, 2 + 2 * bytes.length) as Hex;
}
