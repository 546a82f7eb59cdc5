import type { Hex, Signature } from '../engine/quote.js';
import { toHex } from './hex-text.js';
import { PackedVerifier, type ClaimedSignature } from './packed-signatures.js';
import type { DigestInput, QuoteDigest } from './quote-digest.js';
import type { Secp256k1 } from './secp256k1-binding.js';

const NOBODY: Hex = '0x0000000000000000000000000000000000000000';

/** Checks, here and now, that a quote was signed by its provider. */
export class QuoteSignature {
  readonly #digests: QuoteDigest;
  readonly #verifier: PackedVerifier;

  constructor(digests: QuoteDigest, secp256k1: Secp256k1) {
    this.#digests = digests;
    this.#verifier = new PackedVerifier(secp256k1);
  }

  /** The quote's id: its EIP-712 digest. */
  quoteId(quote: DigestInput): Hex {
    return this.#digests.quoteId(quote);
  }

  /**
   * Who signed `quoteId`, in lower case; null when `s` is in the upper half, `v` is neither 27 nor 28, or no key fits.
   */
  signer(quoteId: Hex, signature: Signature): Hex | null {
    const address = this.#verifier.signer({ quoteId, provider: NOBODY, signature });
    return address && toHex(address);
  }

  /** True when `provider` signed it. */
  verify(claimed: ClaimedSignature): boolean {
    return this.#verifier.verify(claimed);
  }
}
