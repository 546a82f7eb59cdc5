import type { LevelTotal } from '../engine/order-book.js';
import type { Hex, Side } from '../engine/quote.js';

/** 32 bytes; of the original Keccak that Ethereum uses, not of SHA3-256. */
export type HashFunction = (bytes: Uint8Array) => Uint8Array;

const WORD_BYTES = 32;
/** Terms of levels that are kept, of each side: to find one takes an eighth of the time that hashing it takes. */
const KEPT_TERMS = 16_384;
const LOW_64 = (1n << 64n) - 1n;
const MASK = (1n << 256n) - 1n;
const SIDE_WORD: Readonly<Record<Side, bigint>> = { bid: 0n, ask: 1n };

/**
 * Hashes of sets, as sums modulo 2^256 of one term for each member: a member comes or goes with one addition, and the
 * sums of two sets that share nothing add up to the sum of both.
 */
export class BookHash {
  readonly #keccak256: HashFunction;
  readonly #quote = Buffer.alloc(2 * WORD_BYTES);
  readonly #level = Buffer.alloc(4 * WORD_BYTES);
  /** By price, size and count. Those who begin to follow a book have the terms of all of its levels added up. */
  readonly #levelTerms: Readonly<Record<Side, Map<string, bigint>>> = { bid: new Map(), ask: new Map() };

  constructor(keccak256: HashFunction) {
    this.#keccak256 = keccak256;
  }

  /** keccak256(quoteId || uint256 fillableSize) of a quote in the book; 0 of one without anything to fill. */
  quoteTerm(quoteId: Hex, fillableSize: bigint): bigint {
    if (fillableSize === 0n) return 0n;
    this.#quote.write(quoteId.slice(2), 0, WORD_BYTES, 'hex');
    writeWord(this.#quote, 1, fillableSize);
    return this.#number(this.#quote);
  }

  /**
   * keccak256(uint256 side || uint256 price || uint256 size || uint256 count), side 0 bid and 1 ask; 0 of an empty
   * level.
   */
  levelTerm(side: Side, { price, size, count }: LevelTotal): bigint {
    if (count === 0) return 0n;
    const terms = this.#levelTerms[side];
    const name = `${price} ${size} ${count}`;
    const known = terms.get(name);
    if (known !== undefined) return known;
    [SIDE_WORD[side], price, size, BigInt(count)].forEach((word, place) => writeWord(this.#level, place, word));
    const term = this.#number(this.#level);
    if (terms.size >= KEPT_TERMS) terms.clear();
    terms.set(name, term);
    return term;
  }

  #number(bytes: Uint8Array): bigint {
    return BigInt(`0x${Buffer.from(this.#keccak256(bytes)).toString('hex')}`);
  }
}

/** The sum with `term` in it; terms leave by their negative. */
export function addTerm(sum: bigint, term: bigint): bigint {
  return (sum + term) & MASK;
}

/** As it is on the wire: 0x and 64 digits. */
export function hashText(sum: bigint): Hex {
  return `0x${sum.toString(16).padStart(2 * WORD_BYTES, '0')}`;
}

function writeWord(words: Buffer, place: number, value: bigint): void {
  const end = (place + 1) * WORD_BYTES;
  for (let quarter = 1, rest = value; quarter <= 4; quarter++, rest >>= 64n) {
    words.writeBigUInt64BE(rest & LOW_64, end - 8 * quarter);
  }
}
