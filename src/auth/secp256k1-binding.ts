import { createRequire } from 'node:module';

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
   * r and s in 64 bytes, as RFC 6979 makes them, s in the lower half of its range. Throws where `privateKey` is none.
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
