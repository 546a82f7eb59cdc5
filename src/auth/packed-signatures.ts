import type { Hex, Signature } from '../engine/quote.js';
import { Keccak256 } from './keccak256.js';
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
/** An address is the end of a hash (of the public key). */
const ADDRESS_AT = 12;

/** Half of the order of secp256k1 (SEC 2, 2.4.1), rounded down: EIP-2 and the pools refuse an `s` above it. */
const HALF_ORDER = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex');

/** Writes `claimed` behind `at`. */
function pack(target: Buffer, at: number, { quoteId, provider, signature }: ClaimedSignature): void {
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

/**
 * Plain ECDSA as the pools check it, no EIP-1271. Each signature is brought to one place whose parts have views of
 * their own: a new view of a buffer takes as long as copying all of it.
 */
export class PackedVerifier {
  readonly #secp256k1: Secp256k1;
  readonly #one = Buffer.from(new ArrayBuffer(PACKED_BYTES));
  readonly #digest = new Uint8Array(this.#one.buffer, 0, RS_AT);
  readonly #rs = new Uint8Array(this.#one.buffer, RS_AT, V_AT - RS_AT);
  readonly #key = new Uint8Array(65);
  /** Without the byte that says that both coordinates follow. */
  readonly #coordinates = this.#key.subarray(1);
  readonly #hashed = new Keccak256().message(64);

  constructor(secp256k1: Secp256k1) {
    this.#secp256k1 = secp256k1;
  }

  /** 20 bytes: who signed; null when `s` is in the upper half, `v` is neither 27 nor 28, or no key fits. */
  signer(claimed: ClaimedSignature): Uint8Array | null {
    pack(this.#one, 0, claimed);
    return this.#signerHash()?.slice(ADDRESS_AT) ?? null;
  }

  /** True when the signature is its provider's. */
  verify(claimed: ClaimedSignature): boolean {
    pack(this.#one, 0, claimed);
    return this.#isOfProvider();
  }

  /** As `verify`, of the packed signature at `at`. */
  verifyAt(packed: Buffer, at: number): boolean {
    packed.copy(this.#one, 0, at, at + PACKED_BYTES);
    return this.#isOfProvider();
  }

  #isOfProvider(): boolean {
    const hash = this.#signerHash();
    if (hash === null) return false;
    for (let i = 0; i < ADDRESS_BYTES; i++) if (hash[ADDRESS_AT + i] !== this.#one[PROVIDER_AT + i]) return false;
    return true;
  }

  /** 32 bytes that end in the address; they are others after the next one. */
  #signerHash(): Uint8Array | null {
    const v = this.#one[V_AT];
    if (v !== 27 && v !== 28) return null;
    if (HALF_ORDER.compare(this.#one, S_AT, V_AT) < 0) return null;
    if (!this.#secp256k1.recover(this.#digest, this.#rs, v === 27 ? 0 : 1, this.#key)) return null;
    this.#hashed.bytes.set(this.#coordinates);
    return this.#hashed.passingHash();
  }
}
