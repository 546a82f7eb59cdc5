import type { Engine } from '../engine/engine.js';
import type { Clock, JournalRecord } from '../engine/ports.js';
import type { EventHistory, PastEventsPage, TimedEvent } from '../feed/event-history.js';
import { RecordReader } from '../persistence/codec/record-codec.js';
import { frameEnd, FRAME_HEAD_BYTES, frameType, FrameType } from '../persistence/format/frame.js';
import { Deadline } from '../system/timers.js';
import type { Logger } from '../persistence/disk/disk.js';
import { createEngine } from '../persistence/recovery/replay.js';
import type { ClusterLimits } from './engine-log.js';
import { firstPoint, readGenesis } from './engine-log.js';
import { type CheckedGroup, LogFollower, type StreamPoint, StreamReader } from './log-follower.js';
import type { LogStream } from './log-stream.js';
import { ReplicaEngine } from './replica-engine.js';
import type { SnapshotSource } from './snapshot-store.js';

export interface GatewayReplicaOptions {
  readonly stream: LogStream;
  /** Null: the replica begins with the first record. */
  readonly snapshots: SnapshotSource | null;
  readonly clock: Clock;
  readonly limits: ClusterLimits;
  readonly logger: Logger;
  /** Another leader has begun its term. */
  readonly onTerm: (term: number) => void;
  /** Once: this replica does not follow the log any more. */
  readonly onFault: (error: Error) => void;
}

type RecordsListener = (records: readonly JournalRecord[]) => void;

interface Waiter {
  readonly isShown: () => boolean;
  readonly resolve: () => void;
  readonly shown: Promise<void>;
}

/** Groups between two places that are remembered of the stream. */
const GROUPS_PER_PLACE = 64;

/** A gateway's copy of the book: it holds what is committed, and nothing else. */
export class GatewayReplica {
  readonly engine: Engine;
  readonly epoch: string;
  readonly #follower: LogFollower;
  readonly #replica: ReplicaEngine;
  readonly #listeners: RecordsListener[] = [];
  readonly #options: GatewayReplicaOptions;
  readonly #epochBytes: Buffer;
  /** Rising; the first is the beginning of the log. */
  readonly #places: StreamPoint[];
  readonly #waiters = new Set<Waiter>();
  /** Of `showsEvent`, under way. */
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
    const { stream, clock, limits, onTerm } = options;
    this.engine = engine;
    this.epoch = epoch.toString('hex');
    this.#epochBytes = epoch;
    this.#options = options;
    this.#replica = new ReplicaEngine(engine);
    const first = firstPoint(epoch);
    this.#places = at.seq === first.seq ? [first] : [first, at];
    this.#follower = new LogFollower(stream, {
      epoch,
      after: at,
      clock,
      limits,
      onGroup: (group) => this.#apply(group),
      onTerm: ({ term }) => onTerm(term),
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

  /** Events of the log, read from the stream, for readers who missed more than is kept in memory. */
  history(): EventHistory {
    return {
      since: 0,
      read: (afterSeq, limit, throughIndex) => this.#readEvents(afterSeq, limit, throughIndex),
      readSince: (sinceMs, throughIndex) => this.#readSince(sinceMs, throughIndex),
    };
  }

  #apply(group: CheckedGroup): void {
    const records = this.#replica.apply(group);
    const { message, after } = group;
    if (after.group % GROUPS_PER_PLACE === 0) {
      this.#places.push({ seq: message.seq, term: message.term, point: after });
    }
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

  async #readEvents(afterSeq: number, limit: number, throughIndex: number): Promise<PastEventsPage> {
    const start = this.#places.findLast(({ point }) => point.seq <= afterSeq) ?? this.#places[0];
    const read: TimedEvent[] = [];
    if (start === undefined) return read;
    for await (const events of this.#eventsFrom(start, throughIndex)) {
      read.push(...events.filter(({ event }) => event.seq > afterSeq));
      if (read.length >= limit) break;
    }
    return read.slice(0, limit);
  }

  async *#readSince(sinceMs: number, throughIndex: number): AsyncGenerator<readonly TimedEvent[]> {
    const [beginning] = this.#places;
    if (beginning === undefined) return;
    for await (const events of this.#eventsFrom(beginning, throughIndex)) {
      yield events.filter(({ tsMs }) => tsMs >= sinceMs);
    }
  }

  /** Events that this replica applied, group by group; each group is checked again as it was the first time. */
  async *#eventsFrom(start: StreamPoint, throughIndex: number): AsyncGenerator<readonly TimedEvent[]> {
    const { stream, limits } = this.#options;
    const reader = new StreamReader(this.#epochBytes, start);
    const records = new RecordReader();
    while (reader.at.point.index < throughIndex) {
      const { seq } = reader.at;
      for (const message of await stream.read(seq + 1, limits.clusterReadMessages)) {
        if (message.seq !== reader.at.seq + 1) break;
        const taken = reader.take(message);
        if (taken.type === 'BROKEN') break;
        if (taken.type === 'GROUP') yield eventsOf(taken.group, records);
      }
      if (reader.at.seq > seq) continue;
      const message = await stream.get(seq + 1);
      const taken = message === null ? null : reader.take(message);
      if (taken === null || taken.type === 'BROKEN')
        throw new Error(`message ${seq + 1} of the log stream cannot be read`);
      if (taken.type === 'GROUP') yield eventsOf(taken.group, records);
    }
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

function eventsOf({ message: { bytes }, framesAt }: CheckedGroup, reader: RecordReader): TimedEvent[] {
  const timed: TimedEvent[] = [];
  for (let at = framesAt; at < bytes.length;) {
    const end = frameEnd(bytes, at);
    if (frameType(bytes, at) === FrameType.record) {
      const { stamp, events } = reader.read(bytes.subarray(at + FRAME_HEAD_BYTES, end));
      for (const event of events) timed.push({ event, tsMs: stamp.tsMs });
    }
    at = end;
  }
  return timed;
}
