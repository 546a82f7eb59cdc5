import { concatHex, type Hex, keccak256, numberToHex } from 'viem';
import type { SideText } from '../wire/primitives.js';

const MODULUS = 1n << 256n;
const WORD = { size: 32 } as const;

/**
 * Hash of a set, as the sum modulo 2^256 of one term for each member: a member comes or goes with one addition,
 * whatever the order. The server sends the same sums with snapshots and heartbeats, so that a book that went wrong
 * shows.
 */
export class SetHash {
  #sum = 0n;

  add(term: bigint): void {
    this.#sum = (this.#sum + term) % MODULUS;
  }

  remove(term: bigint): void {
    this.add(MODULUS - term);
  }

  /** As on the wire: 0x and 64 digits. */
  get text(): Hex {
    return numberToHex(this.#sum, WORD);
  }
}

/** keccak256(quoteId || uint256 fillableSize). */
export function quoteTerm(quoteId: Hex, fillableSize: bigint): bigint {
  return BigInt(keccak256(concatHex([quoteId, numberToHex(fillableSize, WORD)])));
}

/** keccak256(uint256 side || uint256 price || uint256 size || uint256 count), side 0 bid and 1 ask. */
export function levelTerm(side: SideText, price: bigint, size: bigint, count: number): bigint {
  const words = [side === 'bid' ? 0 : 1, price, size, count].map((word) => numberToHex(word, WORD));
  return BigInt(keccak256(concatHex(words)));
}
