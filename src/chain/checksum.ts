import { Keccak256 } from '../auth/keccak256.js';
import type { Hex, PoolKey } from '../engine/quote.js';

/** The key with its three addresses as EIP-55 checksums, whatever letter case they came in. */
export function checksummed(key: PoolKey): PoolKey {
  return {
    ...key,
    base: checksumAddress(key.base),
    quote: checksumAddress(key.quote),
    oracleAdapter: checksumAddress(key.oracleAdapter),
  };
}

const DIGITS = 40;
const SMALL_A = 0x61;
const TO_CAPITAL = 0x41 - SMALL_A;

const digits = new Keccak256().message(DIGITS);

/**
 * EIP-55; the address's own letter case is not looked at. Not by viem, which takes twenty times as long: everybody may
 * name tokens by the thousand.
 */
export function checksumAddress(address: Hex): Hex {
  const { buffer } = digits;
  buffer.write(address.slice(2).toLowerCase(), 'latin1');
  const hash = digits.passingHash();
  for (let i = 0; i < DIGITS; i += 2) {
    const byte = hash[i / 2] ?? 0;
    capitalise(buffer, i, byte >> 4);
    capitalise(buffer, i + 1, byte & 0xf);
  }
  return `0x${buffer.toString('latin1')}`;
}

function capitalise(text: Buffer, at: number, hashDigit: number): void {
  const letter = text[at] ?? 0;
  if (hashDigit >= 8 && letter >= SMALL_A) text[at] = letter + TO_CAPITAL;
}
