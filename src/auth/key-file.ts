import { type FileHandle, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import Type, { type Static } from 'typebox';
import type { Clock, Random } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { makeDirectory } from '../system/make-directory.js';
import { type Check, compile } from '../wire/validation.js';
import { pause } from '../system/timers.js';

/** Tiers of keys that an operator creates. */
export const TIERS = ['free', 'paid'] as const;
export const KeyTier = Type.Enum([...TIERS], { type: 'string' });
export type KeyTier = Static<typeof KeyTier>;
/** `self`: of keys that their holders created by a sign-in. */
export type HeldTier = KeyTier | 'self';

/**
 * Rights that a key has only where it was created with them. `operator`: to act with the operator's wallet.
 * `takers:all`: to see every taker's private quotes and requests where these are shown to proven takers alone.
 */
export const SCOPES = ['operator', 'takers:all'] as const;
export const Scope = Type.Enum([...SCOPES], { type: 'string' });
export type Scope = Static<typeof Scope>;

/** A key as it is kept: never the key itself. */
export const KeyRecord = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{16}$' }),
    /** HMAC-SHA-256 of the key under the store's secret, in hex. */
    hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    tier: KeyTier,
    /** Absent: none, as of every key that an earlier version created. */
    scopes: Type.Optional(Type.Array(Scope)),
    label: Type.String(),
    /** ISO 8601, for people to read. */
    createdAt: Type.String(),
    revokedAt: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
export type KeyRecord = Static<typeof KeyRecord>;

const Ledger = Type.Object(
  { version: Type.Literal(1), keys: Type.Array(KeyRecord) },
  { additionalProperties: false, description: 'Content of the file that the keys are kept in.' },
);

/** Addresses that the holder of a key has proven, in lower case, the oldest first. */
export const ProofRecord = Type.Object(
  {
    keyId: KeyRecord.properties.id,
    addresses: Type.Array(Type.Unsafe<Hex>(Type.String({ pattern: '^0x[0-9a-f]{40}$' }))),
  },
  { additionalProperties: false },
);
export type ProofRecord = Static<typeof ProofRecord>;

/** A session whose user has signed out before it expires. */
export const SignedOutSession = Type.Object(
  {
    /** Of `sessionIdOf`. */
    id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
    keyId: KeyRecord.properties.id,
    /** Unix milliseconds. */
    expiresAtMs: Type.Integer(),
  },
  { additionalProperties: false },
);
export type SignedOutSession = Static<typeof SignedOutSession>;

const ProofLedger = Type.Object(
  {
    version: Type.Literal(1),
    proofs: Type.Array(ProofRecord),
    /** Absent: none. */
    signedOut: Type.Optional(Type.Array(SignedOutSession)),
  },
  { additionalProperties: false, description: 'Content of the file that proven addresses are kept in.' },
);

/** Results of sign-ins: addresses that keys have proven, and sessions that ended early. */
export interface Proofs {
  readonly proofs: readonly ProofRecord[];
  readonly signedOut: readonly SignedOutSession[];
}

const checkLedger = compile(Ledger, 3);
const checkProofs = compile(ProofLedger, 3);

/** Throws when the text is no ledger of this version. */
export function parseLedger(text: string | null, fileName: string): KeyRecord[] {
  return text === null ? [] : parseKeyFile(text, fileName, 'keys', checkLedger).keys;
}

export function formatLedger(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ version: 1, keys }, null, 2)}\n`;
}

/** Throws when the text is no list of proofs of this version. */
export function parseProofs(text: string | null, fileName: string): Proofs {
  if (text === null) return { proofs: [], signedOut: [] };
  const { proofs, signedOut = [] } = parseKeyFile(text, fileName, 'proofs', checkProofs);
  return { proofs, signedOut };
}

export function formatProofs({ proofs, signedOut }: Proofs): string {
  return `${JSON.stringify({ version: 1, proofs, ...(signedOut.length > 0 && { signedOut }) })}\n`;
}

/** Throws, in words for the operator, when the text is not what `check` takes. */
export function parseKeyFile<T>(text: string, fileName: string, what: string, check: Check<T>): T {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new Error(`${fileName} is not JSON`, { cause: error });
  }
  const result = check(content);
  if (result.ok) return result.value;
  const wrong = result.errors.map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  throw new Error(`${fileName} is not a list of ${what} that this version reads: ${wrong.join('; ')}`);
}

const OWNER_ONLY = 0o600;
const RETRY_MS = 20;
const ROOT = 0;

/**
 * Takes the lock on the file at this path, made when it is absent; null while another process has it. It ends with the
 * process, in whatever way that ends.
 */
export type LockFile = (path: string) => Promise<{ release(): Promise<void> } | null>;

/**
 * Key files in one directory. The next content is written to `NAME.new`, synced and renamed over `NAME`, by who has the
 * lock on that file: so what a process leaves of it that dies meanwhile is in nobody's way.
 */
export class DiskKeyFiles implements KeyFiles {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #lockFile: LockFile;

  /** `patienceMs`: how long to wait for another process that is updating the same file. */
  constructor(directory: string, clock: Clock, patienceMs: number, lockFile: LockFile) {
    this.#directory = directory;
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    this.#lockFile = lockFile;
  }

  async read(name: string): Promise<string | null> {
    return unlessMissing(readFile(join(this.#directory, name), 'utf8').catch((error: unknown) => named(error, name)));
  }

  async stamp(name: string): Promise<string | null> {
    const stats = await unlessMissing(stat(join(this.#directory, name), { bigint: true }));
    return stats && [stats.ino, stats.size, stats.mtimeNs].join('/');
  }

  async update(name: string, change: (current: string | null) => string): Promise<string> {
    await makeDirectory(this.#directory);
    const named = join(this.#directory, name);
    // Through a link: to put a file into the link's place would leave the one that others read as it was.
    const path = (await unlessMissing(realpath(named))) ?? named;
    const next = `${path}.new`;
    const lock = await this.#claim(next);
    let content: string;
    try {
      content = change(await this.read(name));
      await write(next, content, await ownerFor(path));
      await rename(next, path);
    } catch (error) {
      await unlink(next);
      throw error;
    } finally {
      await lock.release();
    }
    await syncDirectory(dirname(path));
    return content;
  }

  async #claim(path: string): Promise<{ release(): Promise<void> }> {
    const deadline = this.#clock.monotonicMs() + this.#patienceMs;
    for (;;) {
      const lock = await this.#lockFile(path);
      if (lock !== null) return lock;
      if (this.#clock.monotonicMs() >= deadline) {
        throw new Error(
          `${path} is in the way: another process is writing it, and has been for ${this.#patienceMs} ms`,
        );
      }
      await pause(this.#clock, RETRY_MS);
    }
  }
}

/** A rename is durable once its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The owner of the file, or of its directory if the file is missing. Null unless root, since only root can chown. */
async function ownerFor(path: string): Promise<Owner | null> {
  if (process.geteuid?.() !== ROOT) return null;
  return (await unlessMissing(stat(path))) ?? stat(dirname(path));
}

async function giveTo({ uid, gid }: Owner, handle: FileHandle): Promise<void> {
  const now = await handle.stat();
  // Not every volume lets root do it: where there is nothing to do it is not asked.
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid);
}

/** All of it is on the disk when this resolves. */
async function write(path: string, content: string, owner: Owner | null): Promise<void> {
  const handle = await open(path, 'w', OWNER_ONLY);
  try {
    // The service of another user could not read what root has written: a key that root revoked would stay in force.
    if (owner !== null) await giveTo(owner, handle);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Of what fails after the file was opened the system does not say which file: so where a directory stands in its place,
 * which is what a container gets whose mounted file is missing.
 */
function named(error: unknown, name: string): never {
  if (error instanceof Error && !('path' in error)) error.message = `${name}: ${error.message}`;
  throw error;
}

async function unlessMissing<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/**
 * An API key as its owner holds it: `qb_`, then 32 random bytes and their CRC-32 in base64url (36 bytes are 48
 * characters, without padding). The prefix lets scanners find keys that leaked, the checksum tells a mistyped key from
 * a revoked one without a look into the store.
 */
const PREFIX = 'qb_';
const SECRET_BYTES = 32;
const CHECKSUM_BYTES = 4;
const PATTERN = /^qb_[A-Za-z0-9_-]{48}$/;

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

/** The few small files that the key store lives in, by name. Other processes may read and update them too. */
export interface KeyFiles {
  /** The content, or null when there is no such file. */
  read(name: string): Promise<string | null>;
  /** Changes whenever the content does; null when there is no such file. Cheap enough to ask every second. */
  stamp(name: string): Promise<string | null>;
  /**
   * Replaces the content by what `change` makes of it, and resolves to that once it is on disk. All or nothing, also in
   * a power cut, and no update by another process is lost. Only the owner may read the file.
   */
  update(name: string, change: (current: string | null) => string): Promise<string>;
}
