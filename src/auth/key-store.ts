import { createHmac } from 'node:crypto';
import type { CancelTimer, Clock, Random } from '../engine/ports.js';
import { LruMap } from '../system/lru-map.js';
import {
  createApiKey,
  formatLedger,
  isWellFormedKey,
  type KeyFiles,
  type KeyRecord,
  parseLedger,
  type Scope,
  type KeyTier,
} from './key-file.js';

/** The file that the keys are kept in. */
export const LEDGER = 'keys.json';
export const SECRET = 'keys.secret';
const SECRET_BYTES = 32;
const ID_BYTES = 8;
const MAX_LABEL = 100;

/** The holder of a key. */
export interface KeyHolder {
  readonly id: string;
  readonly tier: KeyTier;
  /** Absent: none. */
  readonly scopes?: readonly Scope[];
}

/** A key whose tier or scopes changed: `tier` is its present one, or null once it is revoked. */
export interface KeyChange {
  readonly id: string;
  readonly tier: KeyTier | null;
}

/** A key without its hash. */
export type KeyInfo = Omit<KeyRecord, 'hash'>;

export interface KeyStoreOptions {
  readonly files: KeyFiles;
  readonly clock: Clock;
  readonly random: Random;
  /** Verified keys remembered by their raw value. */
  readonly cacheSize: number;
  /** The operator goes on without a list of keys that is missing; absent: no. */
  readonly acceptMissing?: boolean;
}

/**
 * The API keys that were given out. Only keyed hashes are kept (HMAC-SHA-256 under a secret in a file of its own), so
 * neither file alone lets anyone guess or forge a key; a lookup compares nothing byte by byte, so its time says
 * nothing.
 */
export class KeyStore {
  readonly #options: KeyStoreOptions;
  readonly #secret: Buffer;
  readonly #listeners = new Set<(change: KeyChange) => void>();
  /** Keys in force, by hash. */
  #holders = new Map<string, KeyHolder>();
  readonly #verified: LruMap<string, KeyHolder>;
  #keys: readonly KeyRecord[] = [];
  #stamp: string | null = null;
  #cancelWatch: CancelTimer = () => undefined;
  /** Settles when the read or update under way has; they take turns, so an older content never replaces a newer. */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Creates an empty list and the secret if both are missing. Rejects if one of them is, or if they cannot be read or
   * have another format.
   */
  static async open(options: KeyStoreOptions): Promise<KeyStore> {
    const { files, random } = options;
    let secret = await files.read(SECRET);
    if (secret === null) {
      if (parseLedger(await files.read(LEDGER), LEDGER).length > 0) {
        throw new Error(
          `${SECRET} is missing, without it no key of ${LEDGER} can be verified: restore it, or remove both`,
        );
      }
      // First the list: a secret without one has lost it.
      await files.update(LEDGER, (current) => current ?? formatLedger([]));
      secret = await files.update(
        SECRET,
        (current) => current ?? Buffer.from(random.bytes(SECRET_BYTES)).toString('hex'),
      );
    }
    if ((await files.read(LEDGER)) === null) {
      if (options.acceptMissing !== true) {
        throw new Error(
          `${LEDGER} is missing beside ${SECRET}: restore it, or start the service without its keys: --accept-missing ${LEDGER}`,
        );
      }
      await files.update(LEDGER, (current) => current ?? formatLedger([]));
    }
    if (!/^[0-9a-f]{64}\s*$/.test(secret)) throw new Error(`${SECRET} is damaged: restore it`);
    const store = new KeyStore(options, Buffer.from(secret.trim(), 'hex'));
    await store.#load();
    return store;
  }

  private constructor(options: KeyStoreOptions, secret: Buffer) {
    this.#options = options;
    this.#secret = secret;
    this.#verified = new LruMap(options.cacheSize);
  }

  /** The holder of this key. Synchronous; a single map lookup for a known key. */
  verify(rawKey: string | undefined): KeyHolder | 'MISSING' | 'NOT_FOUND' {
    if (rawKey === undefined || rawKey === '') return 'MISSING';
    const known = this.#verified.get(rawKey);
    if (known !== undefined) return known;
    if (!isWellFormedKey(rawKey)) return 'NOT_FOUND';
    const holder = this.#holders.get(this.#hash(rawKey));
    if (holder === undefined) return 'NOT_FOUND';
    this.#verified.set(rawKey, holder);
    return holder;
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
    const { random, clock } = this.#options;
    const key = createApiKey(random);
    const id = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
    const createdAt = new Date(clock.wallMs()).toISOString();
    const ofScopes = scopes.length === 0 ? {} : { scopes: [...scopes] };
    await this.#update((keys) => [...keys, { id, hash: this.#hash(key), tier, ...ofScopes, label, createdAt }]);
    return { id, key };
  }

  /** Oldest first, revoked ones too. */
  list(): KeyInfo[] {
    return this.#keys.map(({ id, tier, scopes, label, createdAt, revokedAt }) => {
      const given = { ...(scopes !== undefined && { scopes }), label, createdAt };
      return { id, tier, ...given, ...(revokedAt !== undefined && { revokedAt }) };
    });
  }

  async revoke(id: string): Promise<'REVOKED' | 'ALREADY_REVOKED' | 'NOT_FOUND'> {
    let result: 'REVOKED' | 'ALREADY_REVOKED' | 'NOT_FOUND' = 'NOT_FOUND';
    const revokedAt = new Date(this.#options.clock.wallMs()).toISOString();
    await this.#update((keys) =>
      keys.map((key) => {
        if (key.id !== id) return key;
        result = key.revokedAt === undefined ? 'REVOKED' : 'ALREADY_REVOKED';
        return { ...key, revokedAt: key.revokedAt ?? revokedAt };
      }),
    );
    return result;
  }

  /** Puts a key under the quotas of another tier. */
  async changeTier(id: string, tier: KeyTier): Promise<'CHANGED' | 'UNCHANGED' | 'REVOKED' | 'NOT_FOUND'> {
    let result: 'CHANGED' | 'UNCHANGED' | 'REVOKED' | 'NOT_FOUND' = 'NOT_FOUND';
    await this.#update((keys) =>
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
    const look = async (): Promise<void> => {
      try {
        await this.#inTurn(async () => {
          if ((await this.#options.files.stamp(LEDGER)) !== this.#stamp) await this.#load();
        });
      } catch (error) {
        onFault(error);
      }
      if (!closed) again();
    };
    let closed = false;
    let cancel: CancelTimer = () => undefined;
    const again = (): void => {
      cancel = this.#options.clock.after(periodMs, () => void look());
    };
    this.close();
    this.#cancelWatch = () => {
      closed = true;
      cancel();
    };
    again();
  }

  /** Ends the watch. */
  close(): void {
    this.#cancelWatch();
  }

  async #update(change: (keys: readonly KeyRecord[]) => readonly KeyRecord[]): Promise<void> {
    await this.#inTurn(async () => {
      await this.#options.files.update(LEDGER, (current) => formatLedger(change(parseLedger(current, LEDGER))));
      await this.#load();
    });
  }

  async #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(task);
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  /** The stamp is taken first: a change between the two is then seen at the next look. */
  async #load(): Promise<void> {
    const { files } = this.#options;
    const stamp = await files.stamp(LEDGER);
    const text = await files.read(LEDGER);
    // An editor may remove the file before it writes the new one: that must not revoke any key.
    if (text === null && this.#stamp !== null) throw new Error(`${LEDGER} is gone`);
    this.#adopt(parseLedger(text, LEDGER));
    this.#stamp = stamp;
  }

  #adopt(keys: readonly KeyRecord[]): void {
    const before = this.#holders;
    // Two lists that were put together may have a key twice: as it was before it was revoked, too.
    const revoked = new Set(keys.filter(({ revokedAt }) => revokedAt !== undefined).map(({ hash }) => hash));
    const inForce = keys.filter(({ hash }) => !revoked.has(hash));
    this.#keys = keys;
    this.#holders = new Map(
      inForce.map(({ hash, id, tier, scopes }) => [hash, { id, tier, ...(scopes !== undefined && { scopes }) }]),
    );
    const changes: KeyChange[] = [];
    for (const [hash, { id, tier, scopes = [] }] of before) {
      const now = this.#holders.get(hash);
      const isSame = now?.tier === tier && String(now.scopes ?? []) === String(scopes);
      if (!isSame) changes.push({ id, tier: now?.tier ?? null });
    }
    if (changes.length === 0) return;
    this.#verified.clear();
    for (const listener of this.#listeners) for (const change of changes) listener(change);
  }

  #hash(rawKey: string): string {
    return createHmac('sha256', this.#secret).update(rawKey).digest('hex');
  }
}
