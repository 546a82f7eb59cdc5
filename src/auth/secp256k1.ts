import { createRequire } from 'node:module';
import type { Hex, Signature } from '../engine/quote.js';
import { Keccak256 } from './keccak256.js';

/** Public key recovery as both libraries give it. */
export interface Secp256k1 {
  /** Which library was loaded: worth a line in the log, since WASM takes eight times as long as native. */
  readonly library: 'secp256k1 (native)' | 'tiny-secp256k1 (WASM)';
  /** Writes the key into `key`, 65 bytes (0x04, x, y); false where no key could have made this signature. */
  recover(digest: Uint8Array, rs: Uint8Array, recoveryId: 0 | 1, key: Uint8Array): boolean;
}

/** The native library alone signs, too. */
export interface NativeSecp256k1 extends Secp256k1 {
  /**
   * r and s in 64 bytes by RFC 6979, s in the lower half. Throws if `privateKey` is not a valid key.
   */
  sign(digest: Uint8Array, privateKey: Uint8Array): { readonly rs: Uint8Array; readonly recoveryId: number };
}

/**
 * The native library where its binary loads, else the WASM one. `secp256k1` on its own would fall back to `elliptic` in
 * silence, so its binding is asked for by name.
 */
export async function loadSecp256k1(): Promise<Secp256k1> {
  return loadNative() ?? (await loadWasm());
}

/** Null where the package has no binary for this machine. */
export function loadNative(): NativeSecp256k1 | null {
  const require = createRequire(import.meta.url);
  let native: typeof import('secp256k1');
  try {
    native = require('secp256k1/bindings.js') as typeof import('secp256k1');
  } catch {
    return null;
  }
  return {
    library: 'secp256k1 (native)',
    recover(digest, rs, recoveryId, key) {
      try {
        native.ecdsaRecover(rs, recoveryId, digest, false, key);
        return true;
      } catch {
        return false; // r or s of zero, or above the curve's order, or an x that is on no point
      }
    },
    sign(digest, privateKey) {
      const { signature, recid } = native.ecdsaSign(digest, privateKey);
      return { rs: signature, recoveryId: recid };
    },
  };
}

export async function loadWasm(): Promise<Secp256k1> {
  const wasm = await import('tiny-secp256k1');
  return {
    library: 'tiny-secp256k1 (WASM)',
    recover(digest, rs, recoveryId, key) {
      try {
        const found = wasm.recover(digest, rs, recoveryId, false);
        if (found !== null) key.set(found);
        return found !== null;
      } catch {
        return false;
      }
    },
  };
}

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
