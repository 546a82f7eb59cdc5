import type { Engine } from '../engine/engine.js';
import type { Clock, JournalRecord } from '../engine/ports.js';
import type { EventHistory } from '../feed/event-history.js';
import { Deadline } from '../system/timers.js';
import type { Logger } from '../persistence/disk/disk.js';
import { createEngine } from '../persistence/recovery/replay.js';
import type { ClusterLimits } from './engine-log.js';
import { firstPoint, readGenesis } from './engine-log.js';
import { type CheckedGroup, LogFollower, type StreamPoint } from './log-follower.js';
import type { LogStream } from './log-stream.js';
import { ReplicaEngine } from './replica-engine.js';
import type { SnapshotSource } from './snapshot-store.js';
import { StreamHistory } from './stream-history.js';

export interface GatewayReplicaOptions {
  readonly stream: LogStream;
  /** Null: the replica begins with the first record. */
  readonly snapshots: SnapshotSource | null;
  readonly clock: Clock;
  readonly limits: ClusterLimits;
  readonly logger: Logger;
  /** Once: this replica does not follow the log any more. */
  readonly onFault: (error: Error) => void;
}

type RecordsListener = (records: readonly JournalRecord[]) => void;

interface Waiter {
  readonly isShown: () => boolean;
  readonly resolve: () => void;
  readonly shown: Promise<void>;
}

/** A gateway's copy of the book: it holds what is committed, and nothing else. */
export class GatewayReplica {
  readonly engine: Engine;
  readonly epoch: string;
  readonly #follower: LogFollower;
  readonly #replica: ReplicaEngine;
  readonly #listeners: RecordsListener[] = [];
  readonly #termListeners: (() => void)[] = [];
  readonly #options: GatewayReplicaOptions;
  readonly #epochBytes: Buffer;
  readonly #waiters = new Set<Waiter>();
  /** Calls of `showsEvent` that wait. */
  #eventWaits = 0;

  /** Resolves once it has all that the stream held when it was called. */
  static async open(options: GatewayReplicaOptions): Promise<GatewayReplica> {
    const { epoch, reorgDepth } = await readGenesis(options.stream);
    const { engine, at } = await beginning(Buffer.from(epoch, 'hex'), reorgDepth, options);
    const replica = new GatewayReplica(Buffer.from(epoch, 'hex'), engine, at, options);
    const failed = new Promise<never>((_, reject) => (replica.#onEarlyFault = reject));
    replica.#follower.start();
    await Promise.race([options.stream.lastSequence().then((seq) => replica.#follower.reach(seq)), failed]);
    replica.#onEarlyFault = null;
    return replica;
  }

  #onEarlyFault: ((error: Error) => void) | null = null;

  private constructor(epoch: Buffer, engine: Engine, at: StreamPoint, options: GatewayReplicaOptions) {
    const { stream, clock, limits } = options;
    this.engine = engine;
    this.epoch = epoch.toString('hex');
    this.#epochBytes = epoch;
    this.#options = options;
    this.#replica = new ReplicaEngine(engine);
    this.#follower = new LogFollower(stream, {
      epoch,
      after: at,
      clock,
      limits,
      onGroup: (group) => this.#apply(group),
      onTerm: () => {
        for (const listener of this.#termListeners) listener();
      },
      onFault: (error) => (this.#onEarlyFault ?? options.onFault)(error),
    });
  }

  get at(): StreamPoint {
    return this.#follower.at;
  }

  get lag(): number {
    return this.#follower.lag;
  }

  /** The stream has come so far. */
  heardOf(seq: number): void {
    this.#follower.heardOf(seq);
  }

  onRecords(listener: RecordsListener): void {
    this.#listeners.push(listener);
  }

  /** Another leader has begun its term. */
  onTerm(listener: () => void): void {
    this.#termListeners.push(listener);
  }

  /** Resolves when the replica shows that record. */
  shows(index: number): Promise<void> {
    return this.engine.index >= index ? Promise.resolve() : this.#wait(() => this.engine.index >= index).shown;
  }

  /**
   * Resolves to whether the replica shows that event within `clusterMinSeqMs`; at once to false when
   * `clusterMinSeqWaits` wait.
   */
  async showsEvent(seq: number): Promise<boolean> {
    const { clock, limits } = this.#options;
    if (this.engine.seq >= seq) return true;
    if (this.#eventWaits >= limits.clusterMinSeqWaits) return false;
    this.#eventWaits += 1;
    const waiter = this.#wait(() => this.engine.seq >= seq);
    const waited = await new Deadline(clock, limits.clusterMinSeqMs).wait(waiter.shown);
    this.#eventWaits -= 1;
    this.#waiters.delete(waiter);
    return waited !== 'TOO_LONG';
  }

  stop(): void {
    this.#follower.stop();
  }

  /** Events of the log, for readers who missed more than is kept in memory. */
  history(): EventHistory {
    const { stream, limits } = this.#options;
    return new StreamHistory({ stream, epoch: this.#epochBytes, limits, at: () => this.at });
  }

  #apply(group: CheckedGroup): void {
    const records = this.#replica.apply(group);
    if (records.length === 0) return;
    for (const listener of this.#listeners) listener(records);
    for (const waiter of this.#waiters) {
      if (!waiter.isShown()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  #wait(isShown: () => boolean): Waiter {
    let resolve = (): void => undefined;
    const shown = new Promise<void>((settle) => (resolve = settle));
    const waiter = { isShown, resolve, shown };
    this.#waiters.add(waiter);
    return waiter;
  }
}

/** An engine with the state of the newest snapshot that can be used, and the place in the stream where it goes on. */
async function beginning(
  epoch: Buffer,
  reorgDepth: number,
  { snapshots, logger }: GatewayReplicaOptions,
): Promise<{ readonly engine: Engine; readonly at: StreamPoint }> {
  const first = { engine: createEngine(reorgDepth), at: firstPoint(epoch) };
  if (snapshots === null) return first;
  for (const { name, at } of await snapshots.list(epoch)) {
    try {
      const { header, state } = await snapshots.read(name);
      if (!header.epoch.equals(epoch) || header.group !== at.point.group || !header.chain.equals(at.point.chain)) {
        throw new Error('it is of another point of the log than the store says');
      }
      const engine = createEngine(reorgDepth);
      engine.importState(state);
      return { engine, at };
    } catch (error) {
      logger.warn({ snapshot: name, reason: (error as Error).message }, 'snapshot unusable');
    }
  }
  return first;
}
