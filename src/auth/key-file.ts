import Type, { type Static } from 'typebox';
import type { Hex } from '../engine/quote.js';
import { type Check, compile } from '../wire/validation.js';

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

/** Tiers of keys that an operator creates. */
export const TIERS = ['free', 'paid'] as const;
export const KeyTier = Type.Enum([...TIERS], { type: 'string' });
export type KeyTier = Static<typeof KeyTier>;
/** `self`: of keys that their holders created by a sign-in. */
export const HELD_TIERS = [...TIERS, 'self'] as const;
export type HeldTier = (typeof HELD_TIERS)[number];

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
