import type { Hex, Signature } from '../engine/quote.js';
import { toHex, type DigestInput, type QuoteDigest } from './quote-digest.js';
import type { Secp256k1 } from './secp256k1-binding.js';

/** Half of the order of secp256k1 (SEC 2, 2.4.1), rounded down: EIP-2 and the pools refuse an `s` above it. */
const HALF_ORDER_HEX = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0';

/** Checks that a quote was signed by its provider: plain ECDSA as the pools check it, no EIP-1271. */
export class QuoteSignature {
  readonly #digests: QuoteDigest;
  readonly #secp256k1: Secp256k1;
  readonly #rs = Buffer.alloc(64);

  constructor(digests: QuoteDigest, secp256k1: Secp256k1) {
    this.#digests = digests;
    this.#secp256k1 = secp256k1;
  }

  /** The quote's id: its EIP-712 digest. */
  quoteId(quote: DigestInput): Hex {
    return toHex(this.#digests.digest(quote));
  }

  /** Who signed `quoteId`, in lower case; null when `s` is in the upper half, `v` is neither 27 nor 28, or no key fits. */
  signer(quoteId: Hex, { r, s, v }: Signature): Hex | null {
    if (v !== 27 && v !== 28) return null;
    if (s.slice(2).toLowerCase() > HALF_ORDER_HEX) return null;
    this.#rs.write(r.slice(2), 0, 32, 'hex');
    this.#rs.write(s.slice(2), 32, 32, 'hex');
    const key = this.#secp256k1.recover(Buffer.from(quoteId.slice(2), 'hex'), this.#rs, v === 27 ? 0 : 1);
    if (key === null) return null;
    return toHex(this.#digests.keccak256(key.subarray(1)).subarray(12));
  }

  /** True when `provider` signed it. */
  verify(quoteId: Hex, { provider, signature }: { provider: Hex; signature: Signature }): boolean {
    return this.signer(quoteId, signature) === provider;
  }
}
