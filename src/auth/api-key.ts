import { crc32 } from 'node:zlib';
import type { Random } from '../engine/ports.js';

const PREFIX = 'qb_';
const SECRET_BYTES = 32;
const CHECKSUM_BYTES = 4;
const PATTERN = /^qb_[A-Za-z0-9_-]{48}$/;

/**
 * A new API key as its owner holds it: `qb_`, then 32 random bytes and their CRC-32 in base64url (36 bytes are 48
 * characters, without padding). The prefix lets scanners find keys that leaked, the checksum tells a mistyped key from
 * a revoked one without a look into the store.
 */
export function createApiKey(random: Random): string {
  const bytes = Buffer.alloc(SECRET_BYTES + CHECKSUM_BYTES);
  bytes.set(random.bytes(SECRET_BYTES));
  bytes.writeUInt32BE(crc32(bytes.subarray(0, SECRET_BYTES)), SECRET_BYTES);
  return PREFIX + bytes.toString('base64url');
}

/** Whether `text` can be a key at all; says nothing of whether anyone was given it. */
export function isWellFormedKey(text: string): boolean {
  if (!PATTERN.test(text)) return false;
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  return crc32(bytes.subarray(0, SECRET_BYTES)) === bytes.readUInt32BE(SECRET_BYTES);
}
