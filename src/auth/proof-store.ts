import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { CountedByKey } from '../system/counted-by-key.js';
import type { SignedOutSession } from './key-file.js';
import type { KeyStore } from './key-store.js';
import type { AddedSelfKey, SelfKeyLimits, SelfKeyRecord, SelfKeyUse } from './self-keys.js';

/** A nonce that a sign-in names, and by whom. */
export interface NonceUse {
  readonly id: string;
  readonly keyId: string;
  readonly address: Hex;
  /** Unix milliseconds. */
  readonly issuedAtMs: number;
  /** The session that begins with it; absent: the key keeps the proof. */
  readonly session?: Pick<SignedOutSession, 'id' | 'expiresAtMs'>;
}

export type SpendResult = 'SPENT' | 'REJECTED' | 'UNAVAILABLE' | { readonly retryAfterMs: number };

/** Where nonces are spent and keys get their proven addresses: one place for all processes that issue nonces. */
export interface ProofStore {
  spend(use: NonceUse): Promise<SpendResult>;
  prove(keyId: string, address: Hex): Promise<'PROVEN' | 'TOO_MANY' | 'NOT_FOUND' | 'UNAVAILABLE'>;
  /** Ends a session for all processes with these keys. */
  signOut(session: SignedOutSession): Promise<'SIGNED_OUT' | 'TOO_MANY' | 'UNAVAILABLE'>;
  /** Adds a key of the tier self: the only one of its address. */
  addSelfKey(added: Pick<SelfKeyRecord, 'id' | 'hash' | 'address' | 'network'>): Promise<AddedSelfKey | 'UNAVAILABLE'>;
  /** Writes down when keys of the tier self were used. */
  noteUses(uses: readonly SelfKeyUse[]): Promise<'NOTED' | 'UNAVAILABLE'>;
}

type Keys = Pick<KeyStore, 'prove' | 'signOut' | 'addSelfKey' | 'noteUses'>;

export interface ProofStoreLimits extends SelfKeyLimits {
  /** Addresses that one key may have proven. */
  readonly provenPerKey: number;
  readonly nonceMs: number;
  /**
   * Sign-ins within the life of a nonce: of all keys, of one key, and of one address. Beyond those of all keys the oldest
   * of the key with most gives way.
   */
  readonly signIns: number;
  readonly signInsPerKey: number;
  readonly signInsPerAddress: number;
  /**
   * Sessions that have neither expired nor been signed out: of all keys, and of one key. Beyond those of all keys the
   * oldest of the key with most is no longer counted.
   */
  readonly sessions: number;
  readonly sessionsPerKey: number;
  /** Sessions that were signed out and have not expired: of all keys, and of one key. */
  readonly signedOut: number;
  readonly signedOutPerKey: number;
}

interface SpentUse extends NonceUse {
  /** Monotonic milliseconds. */
  readonly untilMs: number;
}

/**
 * Spent nonces in memory, each for as long as it would hold. Those issued before the process began are rejected: an
 * earlier process may have seen them spent. Live sessions are counted in memory, too: those that an earlier process
 * began are not.
 */
export class LocalProofStore implements ProofStore {
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #limits: ProofStoreLimits;
  /** Unix milliseconds. */
  readonly #startedAtMs: number;
  /**
   * By id, in the order of their expiry: a nonce counts for a whole life from the moment when it is spent. `untilMs` is
   * monotonic, so that a step of the wall clock does not change how long it counts.
   */
  readonly #spent = new Map<string, SpentUse>();
  /** Of those: the ids of each key, and of each address. */
  readonly #ofKey: CountedByKey<string>;
  readonly #ofAddress: CountedByKey<string>;
  /** By key: the latest of its spent ones that gave way. The key's nonces up to its issue are rejected, so none counts twice. */
  readonly #evicted = new Map<string, SpentUse>();
  /** Spent ones that counted for long enough, and hold by a wall clock that was set back: at most `signIns` of them. */
  readonly #outlived = new Map<string, NonceUse>();
  /** Ids of sessions that began here. */
  readonly #sessions: CountedByKey<string>;

  constructor(keys: Keys, clock: Clock, limits: ProofStoreLimits) {
    this.#keys = keys;
    this.#clock = clock;
    this.#limits = limits;
    this.#startedAtMs = clock.wallMs();
    this.#ofKey = new CountedByKey({ perKey: limits.signInsPerKey, inAll: limits.signIns });
    this.#ofAddress = new CountedByKey({ perKey: limits.signInsPerAddress, inAll: Infinity });
    this.#sessions = new CountedByKey({ perKey: limits.sessionsPerKey, inAll: limits.sessions });
  }

  spend(use: NonceUse): Promise<SpendResult> {
    return Promise.resolve(this.#spend(use));
  }

  prove(keyId: string, address: Hex): Promise<'PROVEN' | 'TOO_MANY' | 'NOT_FOUND'> {
    return this.#keys.prove(keyId, address, this.#limits.provenPerKey);
  }

  async signOut(session: SignedOutSession): Promise<'SIGNED_OUT' | 'TOO_MANY'> {
    const result = await this.#keys.signOut(session, this.#limits);
    if (result === 'SIGNED_OUT') this.#sessions.delete(session.id);
    return result;
  }

  addSelfKey(added: Parameters<ProofStore['addSelfKey']>[0]): Promise<AddedSelfKey> {
    return this.#keys.addSelfKey(added, this.#limits);
  }

  async noteUses(uses: readonly SelfKeyUse[]): Promise<'NOTED'> {
    await this.#keys.noteUses(uses);
    return 'NOTED';
  }

  #spend(use: NonceUse): SpendResult {
    const { nonceMs } = this.#limits;
    const nowMs = this.#clock.wallMs();
    const spentAtMs = this.#clock.monotonicMs();
    this.#forget(spentAtMs, nowMs);
    const isSpent = this.#spent.has(use.id) || this.#outlived.has(use.id);
    const evictedTo = this.#evicted.get(use.keyId)?.issuedAtMs ?? -Infinity;
    if (isSpent || use.issuedAtMs <= evictedTo || this.#isOfEarlierProcess(use, nowMs)) return 'REJECTED';
    const { keyId, address, session } = use;
    const hasRoom =
      this.#ofKey.hasRoom(keyId, spentAtMs) &&
      this.#ofAddress.hasRoom(address, spentAtMs) &&
      (session === undefined || this.#sessions.hasRoom(keyId, nowMs));
    if (!hasRoom) return { retryAfterMs: nonceMs };
    if (session !== undefined) this.#sessions.add(keyId, session.id, session.expiresAtMs);
    const untilMs = spentAtMs + nonceMs;
    this.#spent.set(use.id, { ...use, untilMs });
    this.#ofAddress.add(address, use.id, untilMs);
    const evicted = this.#ofKey.add(keyId, use.id, untilMs);
    if (evicted !== null) this.#evict(evicted);
    return 'SPENT';
  }

  #evict(id: string): void {
    const use = this.#spent.get(id);
    if (use === undefined) return;
    this.#spent.delete(id);
    this.#ofAddress.delete(id);
    const known = this.#evicted.get(use.keyId)?.issuedAtMs ?? -Infinity;
    this.#evicted.set(use.keyId, { ...use, issuedAtMs: Math.max(use.issuedAtMs, known) });
  }

  #isOfEarlierProcess({ issuedAtMs }: NonceUse, nowMs: number): boolean {
    if (issuedAtMs >= this.#startedAtMs) return false;
    // If the wall clock was set back since the start, new nonces are of before it, too.
    return nowMs >= this.#startedAtMs || issuedAtMs >= this.#startedAtMs - this.#limits.nonceMs;
  }

  #forget(monotonicMs: number, wallMs: number): void {
    const holds = ({ issuedAtMs }: NonceUse): boolean => wallMs < issuedAtMs + this.#limits.nonceMs;
    for (const [id, use] of this.#outlived) if (!holds(use)) this.#outlived.delete(id);
    for (const [keyId, use] of this.#evicted) {
      if (use.untilMs <= monotonicMs && !holds(use)) this.#evicted.delete(keyId);
    }
    for (const [id, use] of this.#spent) {
      if (use.untilMs > monotonicMs) return;
      this.#spent.delete(id);
      this.#ofKey.delete(id);
      this.#ofAddress.delete(id);
      if (holds(use) && this.#outlived.size < this.#limits.signIns) this.#outlived.set(id, use);
    }
  }
}
