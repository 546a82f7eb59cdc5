import Type, { type Static } from 'typebox';
import { compile } from '../wire/validation.js';
import { KeyRecord, parseKeyFile, ProofRecord } from './key-file.js';
import { DAY_MS } from '../system/timers.js';

/** A key that its holder created by a sign-in. */
export const SelfKeyRecord = Type.Object(
  {
    id: KeyRecord.properties.id,
    hash: KeyRecord.properties.hash,
    /** The address that was signed in with, in lower case. */
    address: ProofRecord.properties.addresses.items,
    /** Keyed hash of the network that it was created from: what it is cannot be read from it. */
    network: KeyRecord.properties.id,
    /** ISO 8601, for people to read. */
    createdAt: Type.String(),
    /** Unix milliseconds: the last use that was written down, up to a day and `selfKeyNoteMs` before the last one. */
    usedAtMs: Type.Integer(),
  },
  { additionalProperties: false },
);
export type SelfKeyRecord = Static<typeof SelfKeyRecord>;

const SelfKeyLedger = Type.Object(
  { version: Type.Literal(1), keys: Type.Array(SelfKeyRecord) },
  { additionalProperties: false, description: 'Content of the file that keys of the self tier are kept in.' },
);
const checkLedger = compile(SelfKeyLedger, 3);

/** Throws when the text is no list of such keys of this version. */
export function parseSelfKeys(text: string | null, fileName: string): readonly SelfKeyRecord[] {
  return text === null ? [] : parseKeyFile(text, fileName, 'keys', checkLedger).keys;
}

export function formatSelfKeys(keys: readonly SelfKeyRecord[]): string {
  return `${JSON.stringify({ version: 1, keys })}\n`;
}

export interface SelfKeyLimits {
  /** Keys of all addresses, at 300 bytes each. */
  readonly selfKeys: number;
  /** Of those: keys that were created from one network. */
  readonly selfKeysPerNetwork: number;
  /** Days without a use after which a key expires. */
  readonly selfKeyUnusedDays: number;
}

export function isLongUnused(usedAtMs: number, nowMs: number, days: number): boolean {
  return usedAtMs + days * DAY_MS <= nowMs;
}

/** `REPLACED`: the address had a key, which is gone. */
export type AddedSelfKey = 'ADDED' | 'REPLACED' | 'FULL' | 'NETWORK_FULL';

/** The list with that key in place of any other key of its address, and without keys that have expired. */
export function withSelfKey(
  current: readonly SelfKeyRecord[],
  added: SelfKeyRecord,
  { selfKeys, selfKeysPerNetwork, selfKeyUnusedDays }: SelfKeyLimits,
): { readonly keys: readonly SelfKeyRecord[]; readonly result: AddedSelfKey } {
  const inForce = current.filter(({ usedAtMs }) => !isLongUnused(usedAtMs, added.usedAtMs, selfKeyUnusedDays));
  const others = inForce.filter(({ address }) => address !== added.address);
  if (others.length >= selfKeys) return { keys: inForce, result: 'FULL' };
  const ofNetwork = others.filter(({ network }) => network === added.network).length;
  if (ofNetwork >= selfKeysPerNetwork) return { keys: inForce, result: 'NETWORK_FULL' };
  return { keys: [...others, added], result: others.length < inForce.length ? 'REPLACED' : 'ADDED' };
}

export interface SelfKeyUse {
  readonly id: string;
  /** Unix milliseconds. */
  readonly usedAtMs: number;
}

/** The list with those uses. */
export function withUses(current: readonly SelfKeyRecord[], uses: readonly SelfKeyUse[]): readonly SelfKeyRecord[] {
  const usedAt = new Map(uses.map(({ id, usedAtMs }) => [id, usedAtMs]));
  return current.map((key) => ({ ...key, usedAtMs: Math.max(key.usedAtMs, usedAt.get(key.id) ?? 0) }));
}

/** Whether a use is to be written down: the last one that was is a day old. */
export function isDayLater(usedAtMs: number, writtenMs: number): boolean {
  return usedAtMs >= writtenMs + DAY_MS;
}
