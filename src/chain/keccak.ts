import { createKeccak } from 'hash-wasm';
import type { Hex } from '../engine/quote.js';

const keccak = await createKeccak(256);

/** viem's own takes five times as long, which shows in transactions of 90 KB. */
export function keccak256(bytes: Uint8Array): Hex {
  return `0x${keccak.init().update(bytes).digest('hex')}`;
}
