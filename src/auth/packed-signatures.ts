import type { Hex, Signature } from '../engine/quote.js';
import type { Secp256k1 } from './secp256k1-binding.js';

/** A signature and who it has to be of; `quoteId` is the digest that was signed. */
export interface ClaimedSignature {
  readonly quoteId: Hex;
  /** Lower case. */
  readonly provider: Hex;
  readonly signature: Signature;
}

/** A claimed signature as threads hand it to each other: digest, r, s, v, address. */
const RS_AT = 32;
const S_AT = 64;
const V_AT = 96;
const PROVIDER_AT = 97;
export const PACKED_BYTES = 117;
const ADDRESS_BYTES = 20;

/** Half of the order of secp256k1 (SEC 2, 2.4.1), rounded down: EIP-2 and the pools refuse an `s` above it. */
const HALF_ORDER = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex');

/** Writes `claimed` behind `at`. */
export function pack(target: Buffer, at: number, { quoteId, provider, signature }: ClaimedSignature): void {
  const { r, s, v } = signature;
  target.write(quoteId.slice(2), at, RS_AT, 'hex');
  target.write(r.slice(2), at + RS_AT, 32, 'hex');
  target.write(s.slice(2), at + S_AT, 32, 'hex');
  // Any other v is as wrong as 0, and need not fit a byte.
  target[at + V_AT] = v === 27 || v === 28 ? v : 0;
  target.write(provider.slice(2), at + PROVIDER_AT, ADDRESS_BYTES, 'hex');
}

export function packAll(claimed: readonly ClaimedSignature[]): Buffer {
  const packed = Buffer.alloc(claimed.length * PACKED_BYTES);
  claimed.forEach((each, i) => pack(packed, i * PACKED_BYTES, each));
  return packed;
}

/** Plain ECDSA as the pools check it, no EIP-1271. */
export class PackedVerifier {
  readonly #secp256k1: Secp256k1;
  readonly #keccak256: (bytes: Uint8Array) => Uint8Array;

  constructor(secp256k1: Secp256k1, keccak256: (bytes: Uint8Array) => Uint8Array) {
    this.#secp256k1 = secp256k1;
    this.#keccak256 = keccak256;
  }

  /** 20 bytes: who made the signature at `at`; null when `s` is in the upper half, `v` is neither 27 nor 28, or no key fits. */
  signer(packed: Buffer, at: number): Uint8Array | null {
    const v = packed[at + V_AT];
    if (v !== 27 && v !== 28) return null;
    if (HALF_ORDER.compare(packed, at + S_AT, at + V_AT) < 0) return null;
    const digest = packed.subarray(at, at + RS_AT);
    const key = this.#secp256k1.recover(digest, packed.subarray(at + RS_AT, at + V_AT), v === 27 ? 0 : 1);
    return key && this.#keccak256(key.subarray(1)).subarray(12);
  }

  /** True when the signature at `at` is its provider's. */
  verify(packed: Buffer, at: number): boolean {
    const signer = this.signer(packed, at);
    return signer !== null && packed.compare(signer, 0, ADDRESS_BYTES, at + PROVIDER_AT, at + PACKED_BYTES) === 0;
  }
}
