import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
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
  /** Sign-ins within the life of a nonce: of all keys, of one key, and of one address. */
  readonly signIns: number;
  readonly signInsPerKey: number;
  readonly signInsPerAddress: number;
  /** Sessions that have neither expired nor been signed out: of all keys, and of one key. */
  readonly sessions: number;
  readonly sessionsPerKey: number;
  /** Sessions that were signed out and have not expired: of all keys, and of one key. */
  readonly signedOut: number;
  readonly signedOutPerKey: number;
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
  readonly #spent = new Map<string, NonceUse & { readonly untilMs: number }>();
  /** Of those: how many each key and each address has spent. */
  readonly #counts = new Map<string, number>();
  /** Spent ones that counted for long enough, and hold by a wall clock that was set back: at most `signIns` of them. */
  readonly #outlived = new Map<string, NonceUse>();
  /** By id: sessions that began here, at most `sessions` of them. */
  readonly #sessions = new Map<string, { readonly keyId: string; readonly expiresAtMs: number }>();
  /** Their ids, by key. */
  readonly #sessionsOf = new Map<string, Set<string>>();

  constructor(keys: Keys, clock: Clock, limits: ProofStoreLimits) {
    this.#keys = keys;
    this.#clock = clock;
    this.#limits = limits;
    this.#startedAtMs = clock.wallMs();
  }

  spend(use: NonceUse): Promise<SpendResult> {
    return Promise.resolve(this.#spend(use));
  }

  prove(keyId: string, address: Hex): Promise<'PROVEN' | 'TOO_MANY' | 'NOT_FOUND'> {
    return this.#keys.prove(keyId, address, this.#limits.provenPerKey);
  }

  async signOut(session: SignedOutSession): Promise<'SIGNED_OUT' | 'TOO_MANY'> {
    const result = await this.#keys.signOut(session, this.#limits);
    if (result === 'SIGNED_OUT') this.#endSession(session.id);
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
    const { nonceMs, signIns, signInsPerKey, signInsPerAddress } = this.#limits;
    const nowMs = this.#clock.wallMs();
    const spentAtMs = this.#clock.monotonicMs();
    this.#forget(spentAtMs, nowMs);
    if (this.#isOfEarlierProcess(use, nowMs) || this.#spent.has(use.id) || this.#outlived.has(use.id)) {
      return 'REJECTED';
    }
    const isFull =
      this.#spent.size >= signIns ||
      (this.#counts.get(use.keyId) ?? 0) >= signInsPerKey ||
      (this.#counts.get(use.address) ?? 0) >= signInsPerAddress;
    if (isFull || (use.session !== undefined && !this.#hasRoom(use.keyId, nowMs))) return { retryAfterMs: nonceMs };
    if (use.session !== undefined) this.#begin(use.keyId, use.session);
    this.#spent.set(use.id, { ...use, untilMs: spentAtMs + nonceMs });
    this.#count(use, 1);
    return 'SPENT';
  }

  #isOfEarlierProcess({ issuedAtMs }: NonceUse, nowMs: number): boolean {
    if (issuedAtMs >= this.#startedAtMs) return false;
    // If the wall clock was set back since the start, new nonces are of before it, too.
    return nowMs >= this.#startedAtMs || issuedAtMs >= this.#startedAtMs - this.#limits.nonceMs;
  }

  /** Whether the key may have one session more. Looks for expired ones only when there seem to be too many. */
  #hasRoom(keyId: string, nowMs: number): boolean {
    const { sessions, sessionsPerKey } = this.#limits;
    const isFull = (): boolean =>
      this.#sessions.size >= sessions || (this.#sessionsOf.get(keyId)?.size ?? 0) >= sessionsPerKey;
    if (!isFull()) return true;
    const looked = this.#sessions.size >= sessions ? this.#sessions.keys() : (this.#sessionsOf.get(keyId) ?? []);
    for (const id of [...looked]) {
      const session = this.#sessions.get(id);
      if (session !== undefined && session.expiresAtMs <= nowMs) this.#endSession(id);
    }
    return !isFull();
  }

  #begin(keyId: string, { id, expiresAtMs }: NonNullable<NonceUse['session']>): void {
    this.#sessions.set(id, { keyId, expiresAtMs });
    this.#sessionsOf.set(keyId, (this.#sessionsOf.get(keyId) ?? new Set()).add(id));
  }

  #endSession(id: string): void {
    const keyId = this.#sessions.get(id)?.keyId;
    if (keyId === undefined) return;
    this.#sessions.delete(id);
    const ofKey = this.#sessionsOf.get(keyId);
    ofKey?.delete(id);
    if (ofKey?.size === 0) this.#sessionsOf.delete(keyId);
  }

  #forget(monotonicMs: number, wallMs: number): void {
    const holds = ({ issuedAtMs }: NonceUse): boolean => wallMs < issuedAtMs + this.#limits.nonceMs;
    for (const [id, use] of this.#outlived) if (!holds(use)) this.#outlived.delete(id);
    for (const [id, use] of this.#spent) {
      if (use.untilMs > monotonicMs) return;
      this.#spent.delete(id);
      this.#count(use, -1);
      if (holds(use) && this.#outlived.size < this.#limits.signIns) this.#outlived.set(id, use);
    }
  }

  #count({ keyId, address }: NonceUse, by: number): void {
    for (const owner of [keyId, address]) {
      const count = (this.#counts.get(owner) ?? 0) + by;
      if (count > 0) this.#counts.set(owner, count);
      else this.#counts.delete(owner);
    }
  }
}
