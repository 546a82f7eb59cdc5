import fc from 'fast-check';
import type { Hex } from '../../src/engine/quote.js';

/** Any so many bytes. */
export const hexOf = (bytes: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((all): Hex => `0x${Buffer.from(all).toString('hex')}`);
