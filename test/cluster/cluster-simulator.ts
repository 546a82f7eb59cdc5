import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { EngineLog } from '../../src/cluster/engine-log.js';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import { type Leadership, waitToLead } from '../../src/cluster/leadership.js';
import { StreamReader } from '../../src/cluster/log-follower.js';
import type { StreamMessage } from '../../src/cluster/log-stream.js';
import type { CancelTimer, Clock, JournalRecord } from '../../src/engine/ports.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import type { PastEventsPage, TimedEvent } from '../../src/feed/event-history.js';
import { RecordReader } from '../../src/persistence/codec/record-codec.js';
import { FrameType, readFrame } from '../../src/persistence/format/frame.js';
import { firstChain } from '../../src/persistence/format/header.js';
import { START } from '../engine/samples.js';
import { SimDisk } from '../persistence/sim-disk.js';
import { canonicalText } from '../simulation/canonical-text.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { SimClock } from '../simulation/sim-clock.js';
import { optionsFor, silent } from '../simulation/simulated-log.js';
import { Workload } from '../simulation/workload.js';
import { NO_TROUBLES, SimConnection, SimLease, SimStream } from './sim-stream.js';

export const CLUSTER_LIMITS = {
  clusterWindow: 8,
  clusterQueueBytes: 1 << 20,
  clusterReadMessages: 16,
  clusterAheadMessages: 32,
  clusterGapMs: 20,
  clusterRetryMs: 50,
  clusterAttempts: 200,
  clusterMinSeqMs: 5_000,
  clusterMinSeqWaits: 100,
} as const;

const TTL_MS = 3_000;
const RENEW_MS = 1_000;
const POLL_MS = 250;
const RESTART_MS = 300;
const MEMBERS = 2;
/** Of a gateway, from the stream, and how many events it asks for. */
const PAST_READS = 1;
const PAGE_EVENTS = 20;

/** Time as one process sees it: it ends with the process, and stands still while that is frozen. */
class ProcessClock implements Clock {
  #isDead = false;
  #isFrozen = false;
  readonly #held: (() => void)[] = [];

  constructor(private readonly clock: SimClock) {}

  monotonicMs(): number {
    return this.clock.monotonicMs();
  }

  wallMs(): number {
    return this.clock.wallMs();
  }

  after(delayMs: number, task: () => void): CancelTimer {
    let isCancelled = false;
    const run = (): void => {
      if (isCancelled || this.#isDead) return;
      if (this.#isFrozen) this.#held.push(run);
      else task();
    };
    const cancel = this.clock.after(delayMs, run);
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const run of this.#held.splice(0)) this.after(0, run);
  }

  kill(): void {
    this.#isDead = true;
  }
}

/** Promises that a client may have been given, by record. */
type Promises = Map<number, string>;

/** One life of an engine's process. */
class Life {
  readonly clock: ProcessClock;
  readonly connection: SimConnection;
  log: EngineLog | null = null;
  leadership: Leadership | null = null;
  sequencer: Sequencer | null = null;
  time: EngineTime | null = null;
  fault: Error | null = null;

  constructor(
    readonly name: string,
    private readonly world: ClusterWorld,
    private readonly disk: SimDisk,
  ) {
    this.clock = new ProcessClock(world.clock);
    this.connection = new SimConnection(world.stream, world.clock, this.clock, world.random);
  }

  async run(): Promise<void> {
    const { world, clock, connection } = this;
    const session = this.disk.boot();
    const state = { fatal: [], lines: [] };
    const onFault = (error: unknown): void => {
      this.fault ??= error as Error;
    };
    const openOptions = optionsFor(session, clock, world.random, state, { onFatal: onFault });
    try {
      this.log = await EngineLog.open({
        stream: connection,
        disk: session,
        member: this.name,
        identity: openOptions.identity,
        reorgDepth: openOptions.reorgDepth,
        epochBytes: 8,
        random: world.random,
        clock,
        logger: openOptions.logger,
        limits: CLUSTER_LIMITS,
        onFault,
      });
      // As the leader's news do: nothing else says that the last message was missed.
      this.#hear();
      this.leadership = await waitToLead({
        store: world.lease.connect(() => connection, clock),
        member: this.name,
        ttlMs: TTL_MS,
        renewMs: RENEW_MS,
        pollMs: POLL_MS,
        clock,
        log: this.log,
        openOptions,
        onFault,
        isStopped: () => this.fault !== null,
      });
      if (this.leadership === null) return;
      const { journal, log } = this.leadership;
      const { engine } = log;
      this.time = new EngineTime(clock, Math.max(engine.tsMs, START * 1000));
      this.time.observe(Math.floor(this.time.nowMs() / 1000));
      const sequencer = new Sequencer({ engine, journal, time: this.time, expiredAtOnce: Infinity, onFault });
      sequencer.onEvents((records) => {
        for (const record of records) world.promise(record.stamp.index, said(record));
      });
      this.sequencer = sequencer;
      world.terms += 1;
    } catch (error) {
      onFault(error);
    }
  }

  #hear(): void {
    if (this.leadership === null && !this.connection.isCut) this.log?.heardOf(this.world.stream.messages.length);
    this.clock.after(RENEW_MS, () => this.#hear());
  }

  get engineNow() {
    return this.leadership?.log.engine ?? this.log?.engine;
  }
}

/** What a record says; the orders in its events change later. */
function said({ stamp, command, events }: JournalRecord): string {
  const told = events.map(({ type, seq }) => [type, seq]);
  return canonicalText([stamp, command, told]);
}

/** What the stream holds for its readers. */
interface StreamContent {
  readonly records: Promises;
  readonly events: readonly EventStamp[];
}

interface EventStamp {
  readonly seq: number;
  readonly tsMs: number;
}

function contentOf(messages: readonly StreamMessage[]): StreamContent {
  const [first] = messages;
  const recordReader = new RecordReader();
  const records: Promises = new Map();
  const events: EventStamp[] = [];
  if (first?.type !== 'TERM') throw new Error('the stream does not begin with a TERM');
  const epoch = Buffer.from(first.content.epoch, 'hex');
  const beginning = { seq: 0, term: 0, point: { index: 0, seq: 0, group: 0, chain: firstChain(epoch) } };
  const reader = new StreamReader(epoch, beginning);
  for (const message of messages) {
    const taken = reader.take(message);
    if (taken.type === 'BROKEN') throw new Error(`message ${message.seq} is broken`);
    if (taken.type !== 'GROUP') continue;
    const { bytes } = taken.group.message;
    for (let at = 0; at < bytes.length;) {
      const frame = readFrame(bytes, at);
      if (typeof frame === 'string') throw new Error(frame);
      if (frame.type === FrameType.record) {
        const record = recordReader.read(frame.payload);
        const { index, tsMs } = record.stamp;
        records.set(index, said(record));
        for (const { seq } of record.events) events.push({ seq, tsMs });
      }
      at = frame.end;
    }
  }
  return { records, events };
}

function stampsOf(past: PastEventsPage): EventStamp[] {
  if (past === null || past === 'BUSY') throw new Error('the stream has the whole past');
  return past.map(({ event: { seq }, tsMs }) => ({ seq, tsMs }));
}

/** Two engines and a gateway around one stream, in simulated time. */
class ClusterWorld {
  readonly clock = new SimClock();
  readonly random: SeededRandom;
  readonly stream: SimStream;
  readonly lease: SimLease;
  readonly promised: Promises = new Map();
  readonly #workload: Workload;
  readonly #disks: SimDisk[] = [];
  readonly #lives: (Life | null)[] = [];
  #gateway: GatewayReplica | null = null;
  #isGatewayOpening = false;
  #fault: Error | null = null;
  readonly #gatewayConnection: SimConnection;
  terms = 0;
  crashes = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.stream = new SimStream(this.clock, this.random);
    this.lease = new SimLease(this.clock, TTL_MS);
    this.#workload = new Workload(this.random);
    this.#gatewayConnection = new SimConnection(this.stream, this.clock, this.clock, this.random);
    for (let i = 0; i < MEMBERS; i += 1) {
      this.#disks.push(new SimDisk({ clock: this.clock, random: this.random, delayMs: () => this.random.below(3) }));
      this.#lives.push(null);
    }
  }

  promise(index: number, content: string): void {
    const before = this.promised.get(index);
    if (before !== undefined && before !== content) throw new Error(`record ${index} was promised with two contents`);
    this.promised.set(index, content);
  }

  /** Begins once there is a log, and follows it to the end of the run, over all that goes wrong. */
  async #openGateway(): Promise<void> {
    const onFault = (error: Error): void => this.#fail(error);
    const stream = this.#gatewayConnection;
    const options = { stream, snapshots: null, clock: this.clock, logger: silent, limits: CLUSTER_LIMITS };
    this.#gateway = await GatewayReplica.open({ ...options, onFault });
    const hear = (): void => {
      if (!stream.isCut) this.#gateway?.heardOf(this.stream.messages.length);
      this.clock.after(RENEW_MS, hear);
    };
    hear();
  }

  /** Some time with whatever goes wrong meanwhile. */
  async round(): Promise<void> {
    const victim = this.random.below(MEMBERS);
    const life = this.#lives[victim];
    switch (this.random.below(6)) {
      case 0:
        this.#crash(victim, this.random.chance(0.5) ? 'kill' : 'power');
        break;
      case 1:
        life?.clock.freeze();
        break;
      case 2:
        if (life) life.connection.isCut = true;
        break;
      case 3:
        this.#gatewayConnection.isCut = true;
        break;
      case 4:
        this.stream.troubles = {
          lostRequest: 0.05,
          lostAnswer: 0.1,
          duplicate: 0.1,
          lostDelivery: 0.2,
          flippedBit: 0.05,
        };
        break;
    }
    await this.#pass(this.random.between(200, 6_000), true);
    life?.clock.thaw();
    if (life) life.connection.isCut = false;
    this.#gatewayConnection.isCut = false;
    this.stream.troubles = NO_TROUBLES;
  }

  /** Everything heals; both engines come to the same state, which has all that was promised. */
  async settle(): Promise<{ readonly stateHash: string; readonly records: number }> {
    for (let tries = 0; tries < 100; tries += 1) {
      await this.#pass(1_000, false);
      if (this.#gateway === null) continue;
      const engines = [...this.#lives.flatMap((life) => life?.engineNow ?? []), this.#gateway.engine];
      const leads = this.#lives.some(
        (life) => life?.sequencer != null && life.leadership?.publisher.waiting.groups === 0,
      );
      const isLevel = engines.length === MEMBERS + 1 && new Set(engines.map(({ index }) => index)).size === 1;
      if (!leads || !isLevel) continue;
      const hashes = new Set(engines.map((engine) => engine.stateHash()));
      if (hashes.size !== 1) throw new Error('the engines and the gateway have come to different states');
      const [engine] = engines;
      if (engine === undefined) break;
      const { records, events } = contentOf(this.stream.messages);
      const lost = [...this.promised].filter(([index, promised]) => records.get(index) !== promised);
      if (lost.length > 0)
        throw new Error(`${lost.length} acknowledged records are lost, the first is ${lost[0]?.[0]}`);
      if (records.size !== engine.index) throw new Error('the stream has a gap');
      await this.#readPast(this.#gateway, events);
      return { stateHash: engine.stateHash(), records: engine.index };
    }
    throw new Error('no engine leads, or one does not catch up');
  }

  /** The gateway reads the past from some places, from replicas that have holes and flipped bits. */
  async #readPast(gateway: GatewayReplica, events: readonly EventStamp[]): Promise<void> {
    const { index } = gateway.engine;
    const history = gateway.history();
    this.stream.troubles = { ...NO_TROUBLES, lostDelivery: 0.2, flippedBit: 0.05 };
    for (let n = 0; n < PAST_READS; n += 1) {
      const from = this.random.below(events.length);
      const [{ seq: afterSeq, tsMs: sinceMs } = { seq: 0, tsMs: 0 }] = events.slice(from);
      const page = await this.#answered(() => history.read(afterSeq, PAGE_EVENTS, index));
      compareStamps(stampsOf(page), events.slice(from + 1, from + 1 + PAGE_EVENTS));
      const since = await this.#answered(async () => {
        const read: TimedEvent[] = [];
        for await (const part of history.readSince(sinceMs, index)) read.push(...part);
        return read;
      });
      compareStamps(
        stampsOf(since),
        events.filter(({ tsMs }) => tsMs >= sinceMs),
      );
    }
    this.stream.troubles = NO_TROUBLES;
  }

  /** Resolves as `ask` does, for which time passes; asks again where an answer is lost. */
  async #answered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const asked = { isOver: false };
      const answer = ask().finally(() => (asked.isOver = true));
      answer.catch(() => undefined);
      while (!asked.isOver) await this.clock.advance(5);
      try {
        return await answer;
      } catch (error) {
        if (!isPassing(error as Error)) throw error;
      }
    }
  }

  #fail(error: Error): void {
    this.#fault ??= error;
  }

  async #pass(ms: number, isLoaded: boolean): Promise<void> {
    const endMs = this.clock.monotonicMs() + ms;
    while (this.clock.monotonicMs() < endMs) {
      if (this.#fault !== null) throw this.#fault;
      this.#keepRunning();
      if (isLoaded) this.#submit();
      await this.clock.advance(this.random.between(5, 40));
    }
  }

  #submit(): void {
    for (const life of this.#lives) {
      const { sequencer, leadership, time } = life ?? {};
      if (!sequencer || !leadership || !time || life?.fault != null) continue;
      // Both believe that they lead, for a moment: that is what the fence is for.
      const process = { log: leadership.log, time, submit: (command: never) => sequencer.submit(command) };
      for (let n = this.random.below(4); n > 0; n -= 1) {
        if (life?.fault === null) this.#workload.submitNext(process as never);
      }
    }
  }

  #keepRunning(): void {
    if (this.#gateway === null && !this.#isGatewayOpening && this.stream.messages.length > 0) {
      this.#isGatewayOpening = true;
      // No answer in time: a supervisor starts it again.
      void this.#openGateway()
        .catch((error: unknown) => (isPassing(error as Error) ? undefined : this.#fail(error as Error)))
        .finally(() => (this.#isGatewayOpening = false));
    }
    for (const [place, life] of this.#lives.entries()) {
      if (life?.fault != null) this.#crash(place, 'kill');
      if (this.#lives[place] === null && this.random.chance(20 / RESTART_MS)) {
        const disk = this.#disks[place];
        if (disk === undefined) continue;
        const next = new Life(`engine-${place + 1}`, this, disk);
        this.#lives[place] = next;
        void next.run();
      }
    }
  }

  #crash(place: number, crash: 'kill' | 'power'): void {
    const life = this.#lives[place];
    if (life == null) return;
    const { fault } = life;
    if (fault !== null && (fault as { code?: unknown }).code !== 'DEPOSED' && !isPassing(fault)) throw fault;
    this.crashes += 1;
    life.clock.kill();
    this.#disks[place]?.crash(crash);
    this.#lives[place] = null;
  }
}

function compareStamps(found: readonly EventStamp[], expected: readonly EventStamp[]): void {
  if (canonicalText(found) === canonicalText(expected)) return;
  throw new Error(`the past read from the stream is not its content: it has ${canonicalText(found.slice(0, 3))}`);
}

/** No answer in time: the process ends, and comes back. */
function isPassing(error: Error): boolean {
  return (error as { code?: unknown }).code === 'UNREACHABLE' || /no answer in time|not there yet/.test(error.message);
}

interface Totals {
  readonly terms: number;
  readonly crashes: number;
  readonly records: number;
}

async function simulateCluster(seed: number, rounds: number): Promise<Totals> {
  const world = new ClusterWorld(seed);
  try {
    for (let round = 0; round < rounds; round += 1) await world.round();
    const { records } = await world.settle();
    return { terms: world.terms, crashes: world.crashes, records };
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
  }
}

interface Seeds {
  readonly first: number;
  readonly count: number;
  /** Every so many of them, beginning with `first`. */
  readonly step: number;
  readonly rounds: number;
}

async function simulateSeeds({ first, count, step, rounds }: Seeds): Promise<Totals> {
  const total = { terms: 0, crashes: 0, records: 0 };
  for (let seed = first; seed < first + count; seed += step) {
    const { terms, crashes, records } = await simulateCluster(seed, rounds);
    total.terms += terms;
    total.crashes += crashes;
    total.records += records;
  }
  return total;
}

/** Runs seeds in threads: beside tap's hooks on every promise one seed takes three times as long. */
export async function simulateInThreads(
  first: number,
  count: number,
  rounds: number,
  threads: number,
): Promise<Totals> {
  const totals = await Promise.all(
    Array.from({ length: threads }, (_, place): Promise<Totals> => {
      const seeds: Seeds = { first: first + place, count: count - place, step: threads, rounds };
      const worker = new Worker(new URL(import.meta.url), { workerData: seeds });
      return new Promise((resolve, reject) => {
        worker.once('message', resolve).once('error', reject);
        worker.once('exit', () => reject(new Error('a thread ended without a result')));
      });
    }),
  );
  const sum = (of: (each: Totals) => number): number => totals.reduce((so, each) => so + of(each), 0);
  return {
    terms: sum((each) => each.terms),
    crashes: sum((each) => each.crashes),
    records: sum((each) => each.records),
  };
}

if (!isMainThread) parentPort?.postMessage(await simulateSeeds(workerData as Seeds));
