import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Hex } from '../engine/quote.js';
import { toHex } from './keccak256.js';

/** Of HMAC-SHA-256, truncated as RFC 2104, 5 allows: nobody guesses 128 bits. */
const MAC_BYTES = 16;

/** Bytes with a code that only the owner of a secret can make. Anyone can read them. */
export class SealedBytes {
  readonly #secret: Buffer;

  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  seal(payload: Uint8Array): Buffer {
    return Buffer.concat([payload, this.#mac(payload)]);
  }

  /** The payload; null: it was not sealed with this secret. */
  open(sealed: Uint8Array): Buffer | null {
    if (sealed.length < MAC_BYTES) return null;
    const payload = Buffer.from(sealed.subarray(0, sealed.length - MAC_BYTES));
    return timingSafeEqual(this.#mac(payload), sealed.subarray(payload.length)) ? payload : null;
  }

  #mac(payload: Uint8Array): Buffer {
    return createHmac('sha256', this.#secret).update(payload).digest().subarray(0, MAC_BYTES);
  }
}

/** Content of a session token. */
export interface SignedInSession {
  /** 16 hex digits. */
  readonly keyId: string;
  /** Lower case. */
  readonly address: Hex;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/**
 * `qbs_` and base64url of the sealed session: 8 bytes of the key's id, the address, 8 bytes of the time. The token keeps
 * its own state, so that it holds at every gateway of a cluster and takes no memory anywhere.
 */
const PREFIX = 'qbs_';
/** 52 bytes are 69 characters and two bits: other endings than these four decode to the same bytes as one of them. */
const PATTERN = /^qbs_[A-Za-z0-9_-]{69}[AQgw]$/;
const ADDRESS_AT = 8;
const TIME_AT = ADDRESS_AT + 20;
const PAYLOAD_BYTES = TIME_AT + 8;

export function isSessionToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** Names a session without giving its token away. */
export function sessionIdOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 32);
}

export function formatSession({ keyId, address, expiresAtMs }: SignedInSession, sealed: SealedBytes): string {
  const payload = Buffer.alloc(PAYLOAD_BYTES);
  payload.write(keyId, 0, 'hex');
  payload.write(address.slice(2), ADDRESS_AT, 'hex');
  payload.writeBigUInt64BE(BigInt(expiresAtMs), TIME_AT);
  return PREFIX + sealed.seal(payload).toString('base64url');
}

/** Null: it is no token of these keys. */
export function readSession(token: string, sealed: SealedBytes): SignedInSession | null {
  if (!PATTERN.test(token)) return null;
  const payload = sealed.open(Buffer.from(token.slice(PREFIX.length), 'base64url'));
  if (payload?.length !== PAYLOAD_BYTES) return null;
  return {
    keyId: payload.toString('hex', 0, ADDRESS_AT),
    address: toHex(payload.subarray(ADDRESS_AT, TIME_AT)),
    expiresAtMs: Number(payload.readBigUInt64BE(TIME_AT)),
  };
}
