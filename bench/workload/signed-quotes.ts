import { createHash } from 'node:crypto';
import secp256k1 from 'secp256k1';
import { toHex } from '../../src/auth/keccak256.js';
import type { QuoteDigest } from '../../src/auth/quote-signature.js';
import { boundQuote, identifiedQuote } from '../../src/chain/contracts/quote-types.js';
import { type Hex, type Pool, type SignedQuote, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { SeededRandom } from './random.js';
import { CONTRACT } from './quotes.js';

/** The settlement chain of the workloads that need none. */
export const CHAIN_ID = 421613;
const MAKERS = 16;

/** Keys that follow from numbers, and hold nothing anywhere. */
const nobodysKeys = Array.from({ length: MAKERS }, (_, n) => createHash('sha256').update(`maker ${n}`).digest());

/** A quote with its true signature, and the same as a library takes it. */
export interface SignedWork {
  readonly quote: SignedQuote & { readonly quoteId: Hex };
  readonly digest: Uint8Array;
  /** r and s, 64 bytes. */
  readonly rs: Uint8Array;
  readonly recoveryId: number;
}

/** Signs quotes for a number of makers. */
export class Makers {
  readonly #keys: readonly Uint8Array[];
  readonly #addresses: readonly Hex[];
  readonly #random: SeededRandom;
  readonly #digests: QuoteDigest;
  #salt: number;

  /** Two with the same seed sign the same quotes; with another `firstSalt` no quote of one equals one of the other. */
  constructor(digests: QuoteDigest, seed: number, firstSalt: number, keys: readonly Uint8Array[] = nobodysKeys) {
    this.#digests = digests;
    this.#random = new SeededRandom(seed);
    this.#salt = firstSalt;
    this.#keys = keys;
    this.#addresses = keys.map((key) => {
      const publicKey = secp256k1.publicKeyCreate(key, false).subarray(1);
      return toHex(digests.keccak256(publicKey).subarray(12));
    });
  }

  /** Public asks and bids of one contract, at one of a thousand prices; `deadline` in Unix seconds. */
  sign(pool: Pool, deadline: number): SignedWork {
    const maker = this.#random.below(this.#keys.length);
    const provider = this.#addresses[maker];
    const key = this.#keys[maker];
    if (provider === undefined || key === undefined) throw new RangeError(`There is no maker ${maker}`);
    const terms = {
      pool,
      provider,
      taker: ZERO_ADDRESS,
      price: BigInt(1 + this.#random.below(1000)) * 10n ** 14n,
      size: CONTRACT,
      isBuy: this.#random.below(2) === 0,
      deadline,
      salt: this.#salt++,
    };
    const digest = Uint8Array.from(this.#digests.digest(terms));
    const { signature: rs, recid: recoveryId } = secp256k1.ecdsaSign(digest, key);
    const signature = { r: toHex(rs.subarray(0, 32)), s: toHex(rs.subarray(32)), v: 27 + recoveryId };
    const quote = identifiedQuote(boundQuote({ ...terms, signature }, pool), toHex(digest));
    return { quote, digest, rs, recoveryId };
  }

  signMany(pools: readonly Pool[], deadline: number, count: number): SignedWork[] {
    return Array.from({ length: count }, (_, i) => {
      const pool = pools[i % pools.length];
      if (pool === undefined) throw new RangeError('There is no pool to sign quotes for');
      return this.sign(pool, deadline);
    });
  }
}
