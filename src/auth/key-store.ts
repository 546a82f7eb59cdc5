import { createHmac } from 'node:crypto';
import type { Clock, Random } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { LruMap } from '../system/lru-map.js';
import { repeat } from '../system/timers.js';
import { createApiKey, isWellFormedKey } from './api-key.js';
import {
  formatLedger,
  formatProofs,
  type KeyFiles,
  type KeyRecord,
  parseLedger,
  parseProofs,
  type Proofs,
  type SignedOutSession,
  type Scope,
  type HeldTier,
  type KeyTier,
} from './key-file.js';
import {
  type AddedSelfKey,
  formatSelfKeys,
  isDayLater,
  isLongUnused,
  parseSelfKeys,
  type SelfKeyLimits,
  type SelfKeyRecord,
  type SelfKeyUse,
  withSelfKey,
  withUses,
} from './self-keys.js';
import { formatSession, isSessionToken, readSession, SealedBytes, sessionIdOf } from './session-token.js';

/** The file that the keys are kept in. */
export const LEDGER = 'keys.json';
/** Proven addresses are in a file of their own: who may write it makes no keys. */
export const PROOFS = 'proofs.json';
/** Keys of the tier self, for the same reason. */
export const SELF_KEYS = 'self-keys.json';
export const SECRET = 'keys.secret';
const SECRET_BYTES = 32;
const ID_BYTES = 8;
const MAX_LABEL = 100;

/** The holder of a key. */
export interface KeyHolder {
  readonly id: string;
  readonly tier: HeldTier;
  /** Absent: none. */
  readonly scopes?: readonly Scope[];
  /** Addresses that it has proven by a sign-in, in lower case. Absent: none. */
  readonly proven?: readonly Hex[];
  /** Of a session: when it ends, in Unix milliseconds. Absent: it does not. */
  readonly expiresAtMs?: number;
}

/**
 * A key whose tier or scopes changed, or that lost an address: `tier` is its present one, or null once it is revoked.
 * `onlySessions`: sessions of it have ended, and the key itself is as it was.
 */
export interface KeyChange {
  readonly id: string;
  readonly onlySessions?: true;
  readonly tier: HeldTier | null;
}

/** A key without its hash. */
export interface KeyInfo extends Omit<KeyRecord, 'hash' | 'tier'> {
  readonly tier: HeldTier;
  /** Absent: none. */
  readonly proven?: readonly Hex[];
}

export interface KeyStoreOptions {
  readonly files: KeyFiles;
  readonly clock: Clock;
  readonly random: Random;
  /** Verified keys remembered by their raw value. */
  readonly cacheSize: number;
  /** The operator goes on without a list of keys that is missing; absent: no. */
  readonly acceptMissing?: boolean;
  /** Days without a use after which keys of the tier self expire; absent: they do not. */
  readonly selfKeyUnusedDays?: number;
}

/** A key that is not in the store yet. */
export interface NewKey {
  readonly id: string;
  readonly key: string;
  readonly hash: string;
}

/**
 * Why a key store does not open on these files; none: it does. Changes nothing, and rejects where a file cannot be read.
 * `acceptMissing`: as that of `KeyStoreOptions`.
 */
export async function keyFileProblems(files: Pick<KeyFiles, 'read'>, acceptMissing = false): Promise<Error[]> {
  const problems: Error[] = [];
  const attempt = <T>(parse: () => T): T | null => {
    try {
      return parse();
    } catch (error) {
      problems.push(error as Error);
      return null;
    }
  };
  // In this order: another process that makes both writes the list first.
  const secret = await files.read(SECRET);
  const ledger = await files.read(LEDGER);
  if (secret !== null && !/^[0-9a-f]{64}\s*$/.test(secret)) {
    problems.push(new Error(`${SECRET} is damaged: restore it`));
  }
  if (secret !== null && ledger === null && !acceptMissing) {
    const remedy = `restore it, or start the service without its keys: --accept-missing ${LEDGER}`;
    problems.push(new Error(`${LEDGER} is missing beside ${SECRET}: ${remedy}`));
  }
  const keys = attempt(() => parseLedger(ledger, LEDGER)) ?? [];
  if (secret === null && keys.length > 0) {
    const remedy = 'restore it, or remove both';
    problems.push(new Error(`${SECRET} is missing, without it no key of ${LEDGER} can be verified: ${remedy}`));
  }
  const [proofs, selfKeys] = [await files.read(PROOFS), await files.read(SELF_KEYS)];
  attempt(() => parseProofs(proofs, PROOFS));
  attempt(() => parseSelfKeys(selfKeys, SELF_KEYS));
  return problems;
}

/**
 * The API keys that were given out. Only keyed hashes are kept (HMAC-SHA-256 under a secret in a file of its own), so
 * neither file alone lets anyone guess or forge a key; a lookup compares nothing byte by byte, so its time says
 * nothing.
 */
export class KeyStore {
  readonly #options: KeyStoreOptions;
  readonly #secret: Buffer;
  readonly #sessions: SealedBytes;
  readonly #listeners = new Set<(change: KeyChange) => void>();
  /** Keys in force, by hash. */
  #holders = new Map<string, KeyHolder>();
  #byId = new Map<string, KeyHolder>();
  readonly #verified: LruMap<string, KeyHolder>;
  #keys: readonly KeyRecord[] = [];
  /** Keys of the tier self, by id. */
  #selfKeys = new Map<string, SelfKeyRecord>();
  /** When each of those was used last in this process, in Unix milliseconds. */
  readonly #selfUses = new Map<string, number>();
  /** Sessions that ended early, by id. */
  #signedOut = new Map<string, SignedOutSession>();
  #stamp: string | null = null;
  #cancelWatch: () => void = () => undefined;
  /** Settles when the read or update under way has; they take turns, so an older content never replaces a newer. */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Creates an empty list and the secret if both are missing. Rejects if one of them is, or if they cannot be read or
   * have another format.
   */
  static async open(options: KeyStoreOptions): Promise<KeyStore> {
    const { files, random } = options;
    const [problem] = await keyFileProblems(files, options.acceptMissing);
    if (problem !== undefined) throw problem;
    // First the list: a secret without one has lost it.
    if ((await files.read(LEDGER)) === null) await files.update(LEDGER, (current) => current ?? formatLedger([]));
    let secret = await files.read(SECRET);
    secret ??= await files.update(
      SECRET,
      (current) => current ?? Buffer.from(random.bytes(SECRET_BYTES)).toString('hex'),
    );
    const store = new KeyStore(options, Buffer.from(secret.trim(), 'hex'));
    await store.#load();
    return store;
  }

  private constructor(options: KeyStoreOptions, secret: Buffer) {
    this.#options = options;
    this.#secret = secret;
    this.#sessions = this.sealed('session');
    this.#verified = new LruMap(options.cacheSize);
  }

  /** The holder of this key, or of this session's key. Synchronous; a single map lookup for a known key. */
  verify(rawKey: string | undefined): KeyHolder | 'MISSING' | 'NOT_FOUND' {
    if (rawKey === undefined || rawKey === '') return 'MISSING';
    const known = this.#verified.get(rawKey);
    const holder = known ?? (isSessionToken(rawKey) ? this.#sessionHolder(rawKey) : this.#keyHolder(rawKey));
    if (holder === undefined || this.#hasEnded(holder)) return 'NOT_FOUND';
    if (known === undefined) this.#verified.set(rawKey, holder);
    if (holder.tier === 'self') this.#selfUses.set(holder.id, this.#options.clock.wallMs());
    return holder;
  }

  #keyHolder(rawKey: string): KeyHolder | undefined {
    return isWellFormedKey(rawKey) ? this.#holders.get(this.#hash(rawKey)) : undefined;
  }

  /** A session has all that its key has, and the address that it was signed in with. */
  #sessionHolder(token: string): KeyHolder | undefined {
    const session = readSession(token, this.#sessions);
    const key = session === null ? undefined : this.#byId.get(session.keyId);
    if (session === null || key === undefined || this.#signedOut.has(sessionIdOf(token))) return undefined;
    const { proven = [] } = key;
    const { address, expiresAtMs } = session;
    return { ...key, proven: proven.includes(address) ? proven : [...proven, address], expiresAtMs };
  }

  #hasEnded({ id, tier, expiresAtMs }: KeyHolder): boolean {
    if (expiresAtMs === undefined && tier !== 'self') return false;
    const { clock, selfKeyUnusedDays } = this.#options;
    const nowMs = clock.wallMs();
    if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return true;
    if (tier !== 'self' || selfKeyUnusedDays === undefined) return false;
    const usedAtMs = Math.max(this.#selfKeys.get(id)?.usedAtMs ?? 0, this.#selfUses.get(id) ?? 0);
    return isLongUnused(usedAtMs, nowMs, selfKeyUnusedDays);
  }

  /** A token that stands for the key and that address until then, at every process that has these keys. */
  startSession(keyId: string, address: Hex, expiresAtMs: number): string {
    return formatSession({ keyId, address, expiresAtMs }, this.#sessions);
  }

  /** The session of a token; null: it is no token of these keys. */
  sessionOf(token: string): SignedOutSession | null {
    const session = readSession(token, this.#sessions);
    return session && { id: sessionIdOf(token), keyId: session.keyId, expiresAtMs: session.expiresAtMs };
  }

  /**
   * Ends a session of a key before it expires. `most`: such sessions that are kept, of all keys and of one. Few keys must
   * not keep the others from it: of all that are kept the oldest of the key with most gives way, and holds again.
   */
  async signOut(
    session: SignedOutSession,
    most: { readonly signedOut: number; readonly signedOutPerKey: number },
  ): Promise<'SIGNED_OUT' | 'TOO_MANY'> {
    let result: 'SIGNED_OUT' | 'TOO_MANY' = 'SIGNED_OUT';
    await this.#updateProofs((current) => {
      const nowMs = this.#options.clock.wallMs();
      const kept = current.signedOut.filter(({ id, expiresAtMs }) => expiresAtMs > nowMs && id !== session.id);
      const counts = new Map<string, number>();
      for (const { keyId } of kept) counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
      const ofKey = counts.get(session.keyId) ?? 0;
      const ofFullest = Math.max(...counts.values());
      const isFull = kept.length >= most.signedOut;
      result = ofKey >= most.signedOutPerKey || (isFull && ofKey >= ofFullest) ? 'TOO_MANY' : 'SIGNED_OUT';
      if (result === 'TOO_MANY') return current;
      const evicted = isFull ? kept.findIndex(({ keyId }) => counts.get(keyId) === ofFullest) : -1;
      return { ...current, signedOut: [...kept.filter((_, i) => i !== evicted), session] };
    });
    return result;
  }

  /** Bytes that only processes with these keys can make, of one purpose. */
  sealed(purpose: string): SealedBytes {
    return new SealedBytes(createHmac('sha256', this.#secret).update(`sealed ${purpose}`).digest());
  }

  /** Writes down that the key's holder has proven that address, of at most `most`. */
  async prove(keyId: string, address: Hex, most: number): Promise<'PROVEN' | 'TOO_MANY' | 'NOT_FOUND'> {
    await this.refresh();
    const holder = this.#byId.get(keyId);
    if (holder === undefined) return 'NOT_FOUND';
    if (holder.proven?.includes(address) === true) return 'PROVEN';
    let result: 'PROVEN' | 'TOO_MANY' = 'PROVEN';
    await this.#updateProofs((current) => {
      const { proofs } = current;
      const addresses = proofs.find((proof) => proof.keyId === keyId)?.addresses ?? [];
      if (addresses.includes(address)) return current;
      result = addresses.length < most ? 'PROVEN' : 'TOO_MANY';
      if (result === 'TOO_MANY') return current;
      // Of revoked keys nothing is kept.
      const others = proofs.filter((proof) => proof.keyId !== keyId && this.#byId.has(proof.keyId));
      return { ...current, proofs: [...others, { keyId, addresses: [...addresses, address] }] };
    });
    return result;
  }

  /**
   * Takes its proven addresses from a key. Returns how many there were. A key of the tier self keeps the one that it was
   * created for.
   */
  async unprove(keyId: string): Promise<number> {
    let count = 0;
    await this.#updateProofs(({ proofs, signedOut }) => {
      count = proofs.find((proof) => proof.keyId === keyId)?.addresses.length ?? 0;
      return { proofs: proofs.filter((proof) => proof.keyId !== keyId), signedOut };
    });
    return count;
  }

  /** A key and its hash, of no tier yet. */
  newKey(): NewKey {
    const { random } = this.#options;
    const key = createApiKey(random);
    return { id: Buffer.from(random.bytes(ID_BYTES)).toString('hex'), key, hash: this.#hash(key) };
  }

  /** Stands for a network, and for no other one; 16 hex digits, as of the id of a key. */
  networkId(network: string): string {
    return this.#hash(`network ${network}`).slice(0, 2 * ID_BYTES);
  }

  /** Adds a key of the tier self: the only one of its address. */
  async addSelfKey(
    added: Pick<SelfKeyRecord, 'id' | 'hash' | 'address' | 'network'>,
    limits: SelfKeyLimits,
  ): Promise<AddedSelfKey> {
    const usedAtMs = this.#options.clock.wallMs();
    const record = { ...added, createdAt: new Date(usedAtMs).toISOString(), usedAtMs };
    let result: AddedSelfKey = 'ADDED';
    await this.#updateSelfKeys((current) => {
      const admitted = withSelfKey(withUses(current, this.#unwrittenUses()), record, limits);
      result = admitted.result;
      return admitted.keys;
    });
    return result;
  }

  /** Uses of keys of the tier self, in this process, that are a day after the last one which is written down. */
  unwrittenUses(): SelfKeyUse[] {
    return this.#unwrittenUses().filter(({ id, usedAtMs }) =>
      isDayLater(usedAtMs, this.#selfKeys.get(id)?.usedAtMs ?? 0),
    );
  }

  #unwrittenUses(): SelfKeyUse[] {
    return Array.from(this.#selfUses, ([id, usedAtMs]) => ({ id, usedAtMs }));
  }

  /** Writes down when those keys were used. */
  async noteUses(uses: readonly SelfKeyUse[]): Promise<void> {
    await this.#updateSelfKeys((current) => withUses(current, uses));
  }

  /** Looks at once whether another process changed the keys. */
  async refresh(): Promise<void> {
    await this.#inTurn(async () => {
      if ((await this.#readStamp()) !== this.#stamp) await this.#load();
    });
  }

  /** Which of these ids are of no key that is in the list and not revoked, by what the files say at this moment. */
  async missing(ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    await this.refresh();
    return new Set([...ids].filter((id) => !this.#byId.has(id)));
  }

  /** The key is returned this once and never again. Throws when the label is not 1 to 100 printable characters. */
  async create(
    tier: KeyTier,
    label: string,
    scopes: readonly Scope[] = [],
  ): Promise<{ readonly id: string; readonly key: string }> {
    if (!/^[^\p{C}]+$/u.test(label) || label.length > MAX_LABEL) {
      throw new Error(`a label is 1 to ${MAX_LABEL} printable characters`);
    }
    const { id, key, hash } = this.newKey();
    const createdAt = new Date(this.#options.clock.wallMs()).toISOString();
    const ofScopes = scopes.length === 0 ? {} : { scopes: [...scopes] };
    await this.#updateLedger((keys) => [...keys, { id, hash, tier, ...ofScopes, label, createdAt }]);
    return { id, key };
  }

  /** Oldest first, revoked ones too; then those of the tier self, whose label is their address. */
  list(): KeyInfo[] {
    const created = this.#keys.map(({ id, tier, scopes, label, createdAt, revokedAt }) => {
      const proven = this.#byId.get(id)?.proven;
      const given = { ...(scopes !== undefined && { scopes }), ...(proven !== undefined && { proven }) };
      return { id, tier, ...given, label, createdAt, ...(revokedAt !== undefined && { revokedAt }) };
    });
    const ofHolders = Array.from(this.#selfKeys.values(), ({ id, address, createdAt }): KeyInfo => {
      return { id, tier: 'self', proven: this.#byId.get(id)?.proven ?? [address], label: address, createdAt };
    });
    return [...created, ...ofHolders];
  }

  async revoke(id: string): Promise<'REVOKED' | 'ALREADY_REVOKED' | 'NOT_FOUND'> {
    if (this.#selfKeys.has(id)) {
      // Nothing is kept of it: its address may create another one.
      await this.#updateSelfKeys((keys) => keys.filter((key) => key.id !== id));
      return 'REVOKED';
    }
    let result: 'REVOKED' | 'ALREADY_REVOKED' | 'NOT_FOUND' = 'NOT_FOUND';
    const revokedAt = new Date(this.#options.clock.wallMs()).toISOString();
    await this.#updateLedger((keys) =>
      keys.map((key) => {
        if (key.id !== id) return key;
        result = key.revokedAt === undefined ? 'REVOKED' : 'ALREADY_REVOKED';
        return { ...key, revokedAt: key.revokedAt ?? revokedAt };
      }),
    );
    return result;
  }

  /** Puts a key under the quotas of another tier. SELF: it is a key of the tier self, which stays in it. */
  async changeTier(id: string, tier: KeyTier): Promise<'CHANGED' | 'UNCHANGED' | 'REVOKED' | 'SELF' | 'NOT_FOUND'> {
    if (this.#selfKeys.has(id)) return 'SELF';
    let result: 'CHANGED' | 'UNCHANGED' | 'REVOKED' | 'NOT_FOUND' = 'NOT_FOUND';
    await this.#updateLedger((keys) =>
      keys.map((key) => {
        if (key.id !== id) return key;
        result = key.revokedAt !== undefined ? 'REVOKED' : key.tier === tier ? 'UNCHANGED' : 'CHANGED';
        return result === 'CHANGED' ? { ...key, tier } : key;
      }),
    );
    return result;
  }

  /** Tells of keys that were revoked or changed their tier, here or by another process. Returns how to stop it. */
  onChange(listener: (change: KeyChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Looks every `periodMs` whether another process changed the keys. While the file is gone or cannot be read the keys
   * known last stay in force, and `onFault` hears of it each time.
   */
  watch(periodMs: number, onFault: (error: unknown) => void): void {
    this.close();
    this.#cancelWatch = repeat(this.#options.clock, periodMs, () => this.refresh(), onFault);
  }

  /** Ends the watch. */
  close(): void {
    this.#cancelWatch();
  }

  #updateLedger(change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): Promise<void> {
    return this.#update(LEDGER, (current) => formatLedger(change(parseLedger(current, LEDGER))));
  }

  #updateProofs(change: (proofs: Proofs) => Proofs): Promise<void> {
    return this.#update(PROOFS, (current) => formatProofs(change(parseProofs(current, PROOFS))));
  }

  #updateSelfKeys(change: (keys: readonly SelfKeyRecord[]) => readonly SelfKeyRecord[]): Promise<void> {
    return this.#update(SELF_KEYS, (current) => formatSelfKeys(change(parseSelfKeys(current, SELF_KEYS))));
  }

  #update(name: string, change: (current: string | null) => string): Promise<void> {
    return this.#inTurn(async () => {
      await this.#options.files.update(name, change);
      await this.#load();
    });
  }

  async #readStamp(): Promise<string> {
    const stamps = [LEDGER, PROOFS, SELF_KEYS].map((name) => this.#options.files.stamp(name));
    return (await Promise.all(stamps)).join(' ');
  }

  async #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(task);
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  /** The stamp is taken first: a change between the two is then seen at the next look. */
  async #load(): Promise<void> {
    const { files } = this.#options;
    const stamp = await this.#readStamp();
    const text = await files.read(LEDGER);
    // An editor may remove the file before it writes the new one: that must not revoke any key.
    if (text === null && this.#stamp !== null) throw new Error(`${LEDGER} is gone`);
    const proofs = parseProofs(await files.read(PROOFS), PROOFS);
    this.#adopt(parseLedger(text, LEDGER), proofs, parseSelfKeys(await files.read(SELF_KEYS), SELF_KEYS));
    this.#stamp = stamp;
  }

  #adopt(keys: readonly KeyRecord[], { proofs, signedOut }: Proofs, selfKeys: readonly SelfKeyRecord[]): void {
    const before = this.#holders;
    const endedBefore = this.#signedOut;
    this.#signedOut = new Map(signedOut.map((session) => [session.id, session]));
    // Two lists that were put together may have a key twice: as it was before it was revoked, too.
    const revoked = new Set(keys.filter(({ revokedAt }) => revokedAt !== undefined).map(({ hash }) => hash));
    const inForce = keys.filter(({ hash }) => !revoked.has(hash));
    this.#keys = keys;
    const provenBy = new Map(proofs.map(({ keyId, addresses }) => [keyId, addresses]));
    const holders = inForce.map(({ hash, id, tier, scopes }): [string, KeyHolder] => {
      const proven = provenBy.get(id);
      return [hash, { id, tier, ...(scopes !== undefined && { scopes }), ...(proven !== undefined && { proven }) }];
    });
    this.#selfKeys = new Map(selfKeys.map((key) => [key.id, key]));
    for (const id of this.#selfUses.keys()) if (!this.#selfKeys.has(id)) this.#selfUses.delete(id);
    for (const { id, hash, address } of selfKeys) {
      holders.push([hash, { id, tier: 'self', proven: [...new Set([address, ...(provenBy.get(id) ?? [])])] }]);
    }
    this.#holders = new Map(holders);
    this.#byId = new Map(holders.map(([, holder]) => [holder.id, holder]));
    const changes: KeyChange[] = [];
    let hasGained = false;
    for (const [hash, { id, tier, scopes = [], proven = [] }] of before) {
      const now = this.#holders.get(hash);
      const isSame = now?.tier === tier && String(now.scopes ?? []) === String(scopes);
      const hasLost = proven.some((address) => now?.proven?.includes(address) !== true);
      if (!isSame || hasLost) changes.push({ id, tier: now?.tier ?? null });
      else if ((now.proven?.length ?? 0) > proven.length) hasGained = true;
    }
    const ended = signedOut.filter(({ id }) => !endedBefore.has(id));
    for (const id of new Set(ended.map(({ keyId }) => keyId))) {
      changes.push({ id, tier: this.#byId.get(id)?.tier ?? null, onlySessions: true });
    }
    // Nothing that the key may do has ended: its quotas and sockets stay as they are.
    if (hasGained) this.#verified.clear();
    if (changes.length === 0) return;
    this.#verified.clear();
    for (const listener of this.#listeners) for (const change of changes) listener(change);
  }

  #hash(rawKey: string): string {
    return createHmac('sha256', this.#secret).update(rawKey).digest('hex');
  }
}
