import type { Hex, Signature } from '../engine/quote.js';
import { PACKED_BYTES, PackedVerifier, pack, type ClaimedSignature } from './packed-signatures.js';
import { toHex, type DigestInput, type QuoteDigest } from './quote-digest.js';
import type { Secp256k1 } from './secp256k1-binding.js';

const NOBODY: Hex = '0x0000000000000000000000000000000000000000';

/** Checks, here and now, that a quote was signed by its provider. */
export class QuoteSignature {
  readonly #digests: QuoteDigest;
  readonly #verifier: PackedVerifier;
  readonly #packed = Buffer.alloc(PACKED_BYTES);

  constructor(digests: QuoteDigest, secp256k1: Secp256k1) {
    this.#digests = digests;
    this.#verifier = new PackedVerifier(secp256k1, (bytes) => digests.keccak256(bytes));
  }

  /** The quote's id: its EIP-712 digest. */
  quoteId(quote: DigestInput): Hex {
    return toHex(this.#digests.digest(quote));
  }

  /** Who signed `quoteId`, in lower case; null when `s` is in the upper half, `v` is neither 27 nor 28, or no key fits. */
  signer(quoteId: Hex, signature: Signature): Hex | null {
    pack(this.#packed, 0, { quoteId, provider: NOBODY, signature });
    const address = this.#verifier.signer(this.#packed, 0);
    return address && toHex(address);
  }

  /** True when `provider` signed it. */
  verify(claimed: ClaimedSignature): boolean {
    pack(this.#packed, 0, claimed);
    return this.#verifier.verify(this.#packed, 0);
  }
}
