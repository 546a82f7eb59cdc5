import type { Command, Stamp } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import type { EngineEvent } from '../../src/engine/event.js';
import type { Clock } from '../../src/engine/ports.js';
import { EngineTime, Sequencer, type SequencerOptions, type SubmitResult } from '../../src/engine/sequencer.js';
import type { Disk } from '../../src/persistence/disk/disk.js';
import { type OpenLog, openLog, type OpenLogOptions } from '../../src/persistence/recovery/open-log.js';
import { makeSnapshot } from '../../src/persistence/snapshot/snapshot-process.js';
import { REORG_DEPTH, START } from '../engine/samples.js';
import type { SeededRandom } from './seeded-random.js';

/** A line of the text log, kept. */
export interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly details: object;
  readonly message: string;
}

export const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Small enough for a test to fill segments, queues and snapshots. */
export const SMALL = {
  segmentBytes: 8 << 10,
  bufferBytes: 4 << 10,
  sealDelayMs: 50,
  slowCommitMs: 1000,
  spareRetryMs: 1000,
  queueRecords: 200,
  queueBytes: 64 << 10,
  lowWaterBytes: 0,
  lowWaterMaxBytes: 256 << 20,
  lowWaterShare: 0.05,
  checkMs: 100,
  stateHashEveryRecords: 30,
  stateSumOrders: 7,
  snapshotEveryRecords: 100,
  snapshotRetryMs: 500,
  snapshotsKept: 2,
  retainLogBytes: 64 << 10,
} as const;

/** What the engine was given, in order. */
export interface Given {
  readonly command: Command;
  readonly stamp: Stamp;
}

/** Remembers everything that it applied. */
class RememberingSequencer extends Sequencer {
  readonly given: Given[] = [];
  readonly #engine: Engine;

  constructor(options: SequencerOptions) {
    super(options);
    this.#engine = options.engine;
  }

  override submit(command: Command): SubmitResult {
    const submitted = super.submit(command);
    const { index, tsMs } = this.#engine;
    if (submitted.refusal === null) this.given.push({ command, stamp: { index, tsMs } });
    return submitted;
  }
}

/** One life of a process that writes a log, in most tests on a simulated disk. */
export class LogProcess {
  readonly log: OpenLog;
  readonly sequencer: RememberingSequencer;
  readonly time: EngineTime;
  /** Last record that listeners got: a client may know of everything up to it. */
  told: number;
  /** The events that listeners got. */
  readonly toldEvents: EngineEvent[] = [];
  readonly #process: ProcessState;

  private constructor(log: OpenLog, clock: Clock, state: ProcessState) {
    this.log = log;
    this.#process = state;
    this.time = new EngineTime(clock, Math.max(log.engine.tsMs, START * 1000));
    this.time.observe(Math.floor(this.time.nowMs() / 1000));
    this.told = log.engine.index;
    const { engine, journal } = log;
    this.sequencer = new RememberingSequencer({
      engine,
      journal,
      time: this.time,
      expiredAtOnce: Infinity,
      onFault: (error) => state.fatal.push(error),
    });
    this.sequencer.onEvents((records) => {
      for (const { stamp, events } of records) {
        this.told = stamp.index;
        this.toldEvents.push(...events);
      }
    });
  }

  /** Rejects as `openLog` does. */
  static async start(
    disk: { boot(): Disk },
    clock: Clock,
    random: SeededRandom,
    options: Partial<OpenLogOptions> = {},
  ): Promise<LogProcess> {
    const state: ProcessState = { fatal: [], lines: [] };
    const session = disk.boot();
    const log = await openLog(session, optionsFor(session, clock, random, state, options));
    return new LogProcess(log, clock, state);
  }

  submit(command: Command): SubmitResult {
    return this.sequencer.submit(command);
  }

  /** Everything that this life has applied, of every submitter. */
  get given(): readonly Given[] {
    return this.sequencer.given;
  }

  /** Errors that would have ended the process. */
  get fatal(): readonly unknown[] {
    return this.#process.fatal;
  }

  get lines(): readonly Line[] {
    return this.#process.lines;
  }
}

interface ProcessState {
  readonly fatal: unknown[];
  readonly lines: Line[];
}

/** A process's options of `openLog`; snapshots are made in the same thread, in the simulator's time. */
export function optionsFor(
  disk: Disk,
  clock: Clock,
  random: SeededRandom,
  { fatal, lines }: ProcessState,
  changes: Partial<OpenLogOptions> = {},
): OpenLogOptions {
  const at = (level: Line['level']) => (details: object, message: string) =>
    void lines.push({ level, details, message });
  const logger = { info: at('info'), warn: at('warn'), error: at('error') };
  return {
    ...SMALL,
    sync: { type: 'always' },
    identity: { chainId: 421613 },
    reorgDepth: REORG_DEPTH,
    clock,
    random,
    logger,
    draftTag: 'simulated',
    make: (request) => makeSnapshot(disk, request, logger),
    onFatal: (error) => fatal.push(error),
    ...changes,
  };
}
