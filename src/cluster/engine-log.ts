import type { Engine } from '../engine/engine.js';
import type { Clock, Random } from '../engine/ports.js';
import type { Disk, Logger } from '../persistence/disk/disk.js';
import { firstChain, type LogPoint } from '../persistence/format/header.js';
import type { Identity, Manifest } from '../persistence/format/manifest.js';
import { readManifest } from '../persistence/format/manifest.js';
import { segmentStarts } from '../persistence/log/segment-reader.js';
import type { OpenLog, OpenLogOptions } from '../persistence/recovery/open-log.js';
import type { StartScan } from '../persistence/recovery/recovery.js';
import { ReplicaLog } from '../persistence/recovery/replica-log.js';
import { pause } from '../system/timers.js';
import { ClusterError, isUnanswered } from './connection.js';
import { appendTerm, GroupPublisher } from './group-publisher.js';
import { type CheckedGroup, LogFollower, type StreamPoint, StreamReader, takeThrough } from './log-follower.js';
import { type LogStream, newTerm, type TermContent } from './log-stream.js';
import { ReplicaEngine } from './replica-engine.js';
import { ReplicatedJournal } from './replicated-journal.js';
import type { SnapshotSource, StoredSnapshot } from './snapshot-store.js';

/** Bounds of what is read, sent and kept; the numbers come from the configuration's limits. */
export interface ClusterLimits {
  readonly clusterWindow: number;
  readonly clusterQueueBytes: number;
  readonly clusterReadMessages: number;
  readonly clusterAheadMessages: number;
  readonly clusterGapMs: number;
  readonly clusterRetryMs: number;
  readonly clusterAttempts: number;
  readonly clusterMinSeqMs: number;
  readonly clusterMinSeqWaits: number;
}

export interface EngineLogOptions {
  readonly stream: LogStream;
  /** Up to the newest of these the member's own log need not be compared; absent: all of it is. */
  readonly snapshots?: Pick<SnapshotSource, 'list'>;
  readonly disk: Disk;
  readonly member: string;
  readonly identity: Identity;
  /** For a log that this member begins. */
  readonly reorgDepth: number;
  readonly epochBytes: number;
  readonly random: Random;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: ClusterLimits;
  readonly startScan?: StartScan;
  /** Last groups of the member's own log that are compared with the stream. */
  readonly comparedGroups?: number;
  /** Once: the process has to end. */
  readonly onFault: (error: Error) => void;
}

/** A leader's open log. */
export interface LedLog {
  readonly log: OpenLog;
  readonly journal: ReplicatedJournal;
  readonly publisher: GroupPublisher;
  readonly term: number;
  /** The phases that follow are the caller's. */
  readonly times: TakeoverTimes;
  /** How long those took that led here, as fields of a log line. */
  readonly took: Readonly<Record<'catchUpMs' | 'termMs' | 'logMs', number>>;
}

/** Steps of a new leader, one after another, before it takes writes. */
type TakeoverPhase = 'catchUp' | 'term' | 'log' | 'state' | 'chains';

/** How long each phase of a takeover took: the first place to look when writes were refused for long. */
class TakeoverTimes {
  readonly #clock: Clock;
  readonly #startMs: number;
  #sinceMs: number;

  /** The first phase begins now. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#sinceMs = this.#startMs;
  }

  /** The next phase begins. Returns the ended one's duration, in whole milliseconds, as a field of a log line. */
  end<Phase extends TakeoverPhase>(phase: Phase): Record<`${Phase}Ms`, number> {
    const nowMs = this.#clock.monotonicMs();
    const ms = Math.round(nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
    return { [`${phase}Ms`]: ms } as Record<`${Phase}Ms`, number>;
  }

  /** Since the first phase began. */
  get totalMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startMs);
  }
}

/** An engine's own copy of the replicated log: follows it as a standby, then goes on with it as the leader. */
export class EngineLog {
  readonly #options: EngineLogOptions;
  readonly #replica: ReplicaLog;
  readonly #engine: ReplicaEngine;
  readonly #follower: LogFollower;
  #term: TermContent;

  /** Rejects with ClusterError or PersistenceError where the directory cannot follow the stream. */
  static async open(options: EngineLogOptions): Promise<EngineLog> {
    const { disk, logger, onFault, startScan, stream } = options;
    const genesis = await openGenesis(options, stream);
    const epoch = Buffer.from(genesis.epoch, 'hex');
    const { reorgDepth } = genesis;
    const { identity } = options;
    // Clients see the epoch of the log, not of the leader.
    const manifest: Manifest = {
      epoch,
      feedEpoch: epoch,
      reorgDepth,
      identity,
      sync: 'always',
      closedGroup: null,
      files: [],
    };
    const differing = Object.keys(options.identity).filter((name) => genesis.identity[name] !== options.identity[name]);
    if (differing.length > 0) {
      throw new ClusterError('FOREIGN', `the cluster is of other chains or contracts: ${differing.join(', ')} differ`);
    }
    const replica = await ReplicaLog.open(disk, {
      manifest,
      logger,
      onFatal: onFault,
      ...(startScan !== undefined && { startScan }),
    });
    try {
      const after = await joinAt(options, replica, manifest.epoch);
      return new EngineLog(options, manifest, genesis, replica, after);
    } catch (error) {
      await replica.close();
      throw error;
    }
  }

  private constructor(
    options: EngineLogOptions,
    { epoch }: Manifest,
    genesis: TermContent,
    replica: ReplicaLog,
    after: StreamPoint,
  ) {
    const { limits, clock, onFault } = options;
    this.#options = options;
    this.#replica = replica;
    this.#term = genesis;
    this.#engine = new ReplicaEngine(replica.engine);
    this.#follower = new LogFollower(options.stream, {
      epoch,
      after,
      clock,
      limits,
      onGroup: (group) => this.#apply(group),
      onTerm: ({ content }) => (this.#term = content),
      whenRoom: () => (replica.waitingBytes < limits.clusterQueueBytes ? null : replica.flush()),
      onFault,
    });
    this.#follower.start();
  }

  get engine(): Engine {
    return this.#engine.engine;
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

  /**
   * Resolves when this member has what the stream held when it was called. Waits while the servers elect a leader of the
   * stream: the one before may have gone together with the engine that led.
   */
  async catchUp(): Promise<void> {
    await this.#follower.reach(await this.#lastSequence());
  }

  async #lastSequence(): Promise<number> {
    const { stream, clock, limits } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await stream.lastSequence();
      } catch (error) {
        if (!isUnanswered(error) || attempt === limits.clusterAttempts) throw error;
      }
      await pause(clock, limits.clusterRetryMs);
    }
  }

  /**
   * Begins a term: appends a TERM behind everything that the stream holds, after which no earlier leader can append
   * anything, and goes on with the log. To be called while the lease is held. Null: another engine was faster.
   */
  async lead(
    openOptions: OpenLogOptions,
    isLeader: () => boolean,
    onFault: (error: Error) => void,
  ): Promise<LedLog | null> {
    const { stream, member, random, clock, limits } = this.#options;
    const times = new TakeoverTimes(clock);
    await this.catchUp();
    const caughtUp = times.end('catchUp');
    const { seq, point } = this.#follower.at;
    const content = newTerm(member, random, this.#term);
    const { clusterRetryMs, clusterAttempts, clusterWindow, clusterQueueBytes } = limits;
    const term = await appendTerm(stream, clock, clusterRetryMs, clusterAttempts, content, point, seq);
    if (term === null) return null;
    await this.#follower.reach(term);
    this.#follower.stop();
    const begun = times.end('term');
    const publisher: GroupPublisher = new GroupPublisher(stream, {
      term,
      lastSeq: term,
      lastGroup: point.group,
      window: clusterWindow,
      retryMs: clusterRetryMs,
      clock,
      onAcknowledged: (index) => journal.acknowledged(index),
      onFault,
    });
    const log = await this.#replica.lead({
      ...openOptions,
      onWriting: ({ before, after, bytes }) => publisher.append({ before, after, bytes: Buffer.from(bytes) }),
      // A group that no quorum has may have to be cut off again: nothing is to be dropped on its account.
      untilReplicated: (group) => publisher.acknowledged(group),
    });
    const journal: ReplicatedJournal = new ReplicatedJournal(log.journal, publisher, {
      queueBytes: clusterQueueBytes,
      isLeader,
      onDeposed: () =>
        onFault(new ClusterError('DEPOSED', 'the lease was not renewed in time: another engine may lead')),
    });
    return { log, journal, publisher, term, times, took: { ...caughtUp, ...begun, ...times.end('log') } };
  }

  /** Closes a standby's log. A leader closes the one that `lead` returned. */
  async close(): Promise<void> {
    this.#follower.stop();
    await this.#replica.close();
  }

  #apply(group: CheckedGroup): void {
    this.#engine.apply(group);
    const { message, after, framesAt } = group;
    this.#replica.append({ bytes: message.bytes, after, beginsSegment: framesAt > 0 });
  }
}

/** The first TERM of the stream; begins the log where the stream is empty. */
async function openGenesis(options: EngineLogOptions, stream: LogStream): Promise<TermContent> {
  const { disk, member, random, reorgDepth, identity, clock, limits } = options;
  const found = await readManifest(disk);
  if ((await stream.lastSequence()) === 0) {
    if (found !== null && (await segmentStarts(disk)).length > 0) {
      throw new ClusterError(
        'FOREIGN',
        `${disk.label} holds a log and the log stream is empty: start with an empty data directory, or with the log's own stream`,
      );
    }
    const epoch = found?.epoch ?? Buffer.from(random.bytes(options.epochBytes));
    const log = { epoch: epoch.toString('hex'), reorgDepth: found?.reorgDepth ?? reorgDepth, identity };
    const content = newTerm(member, random, log);
    const { point, seq } = firstPoint(epoch);
    await appendTerm(stream, clock, limits.clusterRetryMs, limits.clusterAttempts, content, point, seq);
  }
  return readGenesis(stream);
}

/** The log as the first message of its stream describes it. */
export async function readGenesis(stream: LogStream): Promise<TermContent> {
  const first = await stream.get(1);
  if (first?.type === 'TERM') return first.content;
  throw new ClusterError('DAMAGED', 'the log stream does not begin with a TERM');
}

/** Where the member's log ends in the stream; what it has beyond the stream is cut off. */
async function joinAt(
  { stream, snapshots, logger, limits, comparedGroups = COMPARED_GROUPS }: EngineLogOptions,
  replica: ReplicaLog,
  epoch: Buffer,
): Promise<StreamPoint> {
  const begin = await sharedPoint((await snapshots?.list(epoch)) ?? [], replica, epoch);
  const oldest = Math.max(begin.point.group, replica.last.group - comparedGroups);
  const { points, start, last } = await readPoints(stream, epoch, limits.clusterReadMessages, oldest, begin);
  // Null: the member's log has dropped that group. It drops none that the cluster does not have.
  const isSame = async (group: number): Promise<boolean | null> => {
    const own = await replica.pointAt(group);
    return own === null ? null : points.get(group)?.point.chain.equals(own.chain) === true;
  };
  // The chain vouches for all before it: the groups are the same up to one, and none is behind that.
  let common = oldest;
  let high = Math.min(replica.last.group, last.group) + 1;
  if (high > common + 1 && (await isSame(high - 1)) === true) common = high - 1;
  while (high - common > 1) {
    const middle = Math.floor((common + high) / 2);
    if ((await isSame(middle)) === false) high = middle;
    else common = middle;
  }
  // No place in the stream vouches for the groups up to there: cutting after it might take groups that a quorum has.
  if (common > begin.point.group && (await isSame(common)) !== true) {
    const groups = replica.last.group - common;
    throw new ClusterError('FOREIGN', `the last ${groups} groups of this log are not the cluster's: move it away`);
  }
  if (common < replica.last.group) {
    const details = { groups: replica.last.group - common, after: common };
    logger.warn(details, 'uncommitted groups cut off');
    await replica.cutAfter(common);
  }
  return { ...(points.get(common) ?? start), point: replica.last };
}

/** The place of the newest snapshot whose last group the member's own log has as well; else the stream's first. */
async function sharedPoint(
  snapshots: readonly StoredSnapshot[],
  replica: ReplicaLog,
  epoch: Buffer,
): Promise<StreamPoint> {
  for (const { at } of snapshots) {
    if (at.point.group > replica.last.group) continue;
    const own = await replica.pointAt(at.point.group);
    if (own?.chain.equals(at.point.chain) === true) return at;
  }
  return firstPoint(epoch);
}

/** Before the first message of a log's stream, and the log's first group. */
export function firstPoint(epoch: Buffer): StreamPoint {
  return { seq: 0, term: 0, point: { index: 0, seq: 0, group: 0, chain: firstChain(epoch) } };
}

/** Groups that a process may have had beyond the cluster, and many more. */
const COMPARED_GROUPS = 4096;

interface StreamPoints {
  /** Where the groups are in the stream, from the oldest that was asked for on. */
  readonly points: ReadonlyMap<number, StreamPoint>;
  /** Before the first group behind the place where the reading began. */
  readonly start: StreamPoint;
  /** How far the log has come at the end. */
  readonly last: LogPoint;
}

export async function readPoints(
  stream: LogStream,
  epoch: Buffer,
  readMessages: number,
  oldest: number,
  begin = firstPoint(epoch),
): Promise<StreamPoints> {
  const lastSeq = await stream.lastSequence();
  const points = new Map<number, StreamPoint>();
  const reader = new StreamReader(epoch, begin);
  let start = begin;
  for await (const { type } of takeThrough(lastSeq, reader, stream, readMessages)) {
    if (type === 'VOID') continue;
    const { group } = reader.at.point;
    if (group === begin.point.group) start = reader.at;
    else if (group >= oldest && !points.has(group)) points.set(group, reader.at);
  }
  return { points, start, last: reader.at.point };
}
