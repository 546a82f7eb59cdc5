import { type KV, Kvm } from '@nats-io/kv';
import type { CancelTimer, Clock } from '../engine/ports.js';
import type { OpenLogOptions } from '../persistence/recovery/open-log.js';
import { pause } from '../system/timers.js';
import { type ClusterConnection, ClusterError, isWrongLastSequence, replicasOf } from './connection.js';
import type { EngineLog, LedLog } from './engine-log.js';

/** Where the lease is kept: one value with a time to live, changed by compare-and-set. */
export interface LeaseStore {
  /** The revision, or null while there is a holder. Rejects when the outcome is unknown. */
  create(holder: string): Promise<number | null>;
  /** The next revision, or null when it is another's by now. Rejects when the outcome is unknown. */
  renew(holder: string, revision: number): Promise<number | null>;
  release(revision: number): Promise<void>;
  /** Takes it from a holder that has not renewed `revision`; null when that is not the last one. */
  seize(holder: string, revision: number): Promise<number | null>;
  /** Of the last renewal; null: there is no holder. */
  revision(): Promise<number | null>;
}

export interface LeaseOptions {
  readonly member: string;
  readonly ttlMs: number;
  readonly renewMs: number;
  readonly clock: Clock;
  /** Once: it is another's, or was not renewed in time. */
  readonly onLost: (why: string) => void;
}

/** A holder stops so long before its lease ends. */
const MARGIN_MS = 1_000;

/** So long after the holder has stopped another member takes the lease, if the servers have not ended it before. */
const SEIZE_MARGIN_MS = 250;

/**
 * The right to lead, for as long as it is renewed. The lease decides who appends next and how soon; that nothing of a
 * deposed leader gets into the log is up to the stream, which rejects what does not follow on its last message.
 */
export class Lease {
  readonly #store: LeaseStore;
  readonly #options: LeaseOptions;
  #revision: number | null = null;
  /** Monotonic moment at which the last successful renewal was sent. */
  #renewedMs = -Infinity;
  #cancel: CancelTimer = () => undefined;
  #isOver = false;

  constructor(store: LeaseStore, options: LeaseOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** By this process's own monotonic clock: also right after it was frozen, before any timer has run. */
  get isHeld(): boolean {
    const { clock, ttlMs } = this.#options;
    return this.#revision !== null && !this.#isOver && clock.monotonicMs() < this.#renewedMs + ttlMs - MARGIN_MS;
  }

  /**
   * True when this member holds the lease from now on. `lapsed`: the revision of a holder that has stopped. Rejects when
   * the store gives no answer.
   */
  async take(lapsed: number | null = null): Promise<boolean> {
    const { clock, member } = this.#options;
    const sentMs = clock.monotonicMs();
    this.#revision = await (lapsed === null ? this.#store.create(member) : this.#store.seize(member, lapsed));
    if (this.#revision === null) return false;
    this.#renewedMs = sentMs;
    this.#renewSoon();
    return true;
  }

  /** Another member may take it at once. */
  async release(): Promise<void> {
    const revision = this.#revision;
    this.#end();
    if (revision !== null) await this.#store.release(revision).catch(() => undefined);
  }

  #renewSoon(): void {
    this.#cancel = this.#options.clock.after(this.#options.renewMs, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const revision = this.#revision;
    if (revision === null || this.#isOver) return;
    if (!this.isHeld) return this.#lose('it was not renewed in time');
    const sentMs = this.#options.clock.monotonicMs();
    // A call may take longer than the lease has left: its end is noticed then, not after the call.
    const cancelEnd = this.#options.clock.after(this.#leftMs(), () => this.#loseUnlessHeld());
    let renewed: number | null | undefined;
    try {
      renewed = await this.#store.renew(this.#options.member, revision);
    } catch {
      // Sent again below, for as long as it is held. An answer that was lost shows as another's revision, which ends it.
    }
    cancelEnd();
    this.#answered(renewed, sentMs);
  }

  /** `renewed`: undefined when there was no answer. */
  #answered(renewed: number | null | undefined, sentMs: number): void {
    if (this.#isOver) return;
    if (renewed === null) return this.#lose('another member holds it');
    if (renewed !== undefined) {
      this.#revision = renewed;
      this.#renewedMs = sentMs;
    }
    if (this.isHeld) this.#renewSoon();
    else this.#lose('it was not renewed in time');
  }

  #leftMs(): number {
    const { clock, ttlMs } = this.#options;
    return Math.max(0, this.#renewedMs + ttlMs - MARGIN_MS - clock.monotonicMs());
  }

  #loseUnlessHeld(): void {
    if (!this.#isOver && !this.isHeld) this.#lose('it was not renewed in time');
  }

  #lose(why: string): void {
    this.#end();
    this.#options.onLost(why);
  }

  #end(): void {
    this.#isOver = true;
    this.#revision = null;
    this.#cancel();
  }
}

/**
 * Tells that a holder has stopped: it did not renew its lease for as long as it may lead without. The servers end the
 * lease later: only when its whole time to live has passed. This member's own clock is enough, because the holder sent
 * the renewal before it was seen here, and a renewal that comes after all makes the revision another one.
 */
class HolderWatch {
  readonly #options: Pick<LeaseOptions, 'clock' | 'ttlMs'>;
  #revision: number | null = null;
  #seenMs = 0;

  constructor(options: Pick<LeaseOptions, 'clock' | 'ttlMs'>) {
    this.#options = options;
  }

  hasStopped(revision: number): boolean {
    const { clock, ttlMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#seenMs = nowMs;
    }
    return nowMs >= this.#seenMs + ttlMs - MARGIN_MS + SEIZE_MARGIN_MS;
  }
}

const KEY = 'leader';

/** The lease in a bucket of NATS KV whose values live for `ttlMs`. */
export async function openLeaseStore({ nats, names, options }: ClusterConnection, ttlMs: number): Promise<LeaseStore> {
  const bucket: KV = await new Kvm(nats).create(names.leaseBucket, {
    ttl: ttlMs,
    history: 1,
    replicas: replicasOf(options),
  });
  return {
    async create(holder) {
      try {
        return await bucket.create(KEY, holder);
      } catch (error) {
        if (isWrongLastSequence(error)) return null;
        throw error;
      }
    },
    async renew(holder, revision) {
      try {
        return await bucket.update(KEY, holder, revision);
      } catch (error) {
        if (!isWrongLastSequence(error)) throw error;
        // The answer to an earlier renewal may have been lost.
        const entry = await bucket.get(KEY);
        return entry?.string() === holder ? await bucket.update(KEY, holder, entry.revision) : null;
      }
    },
    async release(revision) {
      await bucket.delete(KEY, { previousSeq: revision });
    },
    async seize(holder, revision) {
      try {
        return await bucket.update(KEY, holder, revision);
      } catch (error) {
        if (isWrongLastSequence(error)) return null;
        throw error;
      }
    },
    async revision() {
      const entry = await bucket.get(KEY);
      return entry?.operation === 'PUT' ? entry.revision : null;
    },
  };
}

export interface ElectionOptions extends Omit<LeaseOptions, 'onLost'> {
  readonly store: LeaseStore;
  /** Pause between two attempts to take the lease. */
  readonly pollMs: number;
  readonly log: Pick<EngineLog, 'lead'>;
  readonly openOptions: OpenLogOptions;
  /** Once, after this member has led: it does not any more, and the process has to end. */
  readonly onFault: (error: Error) => void;
  readonly isStopped: () => boolean;
}

export interface Leadership extends LedLog {
  readonly lease: Lease;
}

/** Waits as a standby until this member leads; null: it was stopped before. Rejects when its log cannot go on. */
export async function waitToLead(options: ElectionOptions): Promise<Leadership | null> {
  const { store, pollMs, log, openOptions, clock, onFault, isStopped } = options;
  const watch = new HolderWatch(options);
  /** True when `lease` was taken. */
  const tryToTake = async (lease: Lease): Promise<boolean> => {
    const revision = await store.revision();
    return (revision === null || watch.hasStopped(revision)) && lease.take(revision);
  };
  while (!isStopped()) {
    const lost = (why: string): void => onFault(new ClusterError('DEPOSED', `the lease is lost: ${why}`));
    const lease = new Lease(store, { ...options, onLost: lost });
    // No answer: the next attempt tells.
    const isTaken = await tryToTake(lease).catch(() => false);
    if (isTaken) {
      const led = await log.lead(openOptions, () => lease.isHeld, onFault);
      if (led !== null) return { ...led, lease };
    }
    await lease.release();
    if (!isStopped()) await pause(clock, pollMs);
  }
  return null;
}
