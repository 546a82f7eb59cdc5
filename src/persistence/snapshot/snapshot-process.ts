import { type ChildProcess, fork } from 'node:child_process';
import { on } from 'node:events';
import { type Disk, type Logger, PersistenceError } from '../disk/disk.js';
import { snapshotIndexes } from '../format/file-names.js';
import type { SnapshotMarker } from '../format/frame.js';
import type { LogPoint } from '../format/header.js';
import { readRecords, segmentStarts } from '../log/segment-reader.js';
import { Replayer } from '../recovery/replay.js';
import { findBase } from '../recovery/snapshot-base.js';
import { writeSnapshot } from './snapshot-file.js';

/** Data that the worker starts with. */
export interface SnapshotWork {
  readonly directory: string;
  readonly request: SnapshotRequest;
}

/** How it ended. */
export type SnapshotOutcome =
  | { readonly type: 'DONE'; readonly marker: SnapshotMarker }
  | {
      readonly type: 'FAILED';
      readonly message: string;
      readonly code: string | undefined;
      readonly errno: number | undefined;
    };

/** Messages of the worker: lines for the text log, and last its outcome. */
export type SnapshotMessage =
  { readonly type: 'WARN'; readonly details: object; readonly message: string } | SnapshotOutcome;

const CHILD = new URL('./snapshot-child.js', import.meta.url);

/** Has snapshots of the log in `directory` made by a process of its own, which ends when this one does. */
export class SnapshotProcess {
  #child: ChildProcess | null = null;

  /** `timeoutMs`: how long one snapshot may take. */
  constructor(
    private readonly directory: string,
    private readonly timeoutMs: number,
    private readonly logger: Logger,
  ) {}

  /** Of the process; undefined while none runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the process, where none runs, and leaves it idle. Otherwise the next snapshot does, and the larger this
   * process is by then, the longer is its thread held by that: 4 ms and more.
   */
  start(): void {
    this.#child ??= this.#open();
  }

  /** Makes one, and is not to be asked for a second meanwhile. Rejects as `SnapshotterOptions.make` may. */
  async make(request: SnapshotRequest): Promise<SnapshotMarker> {
    const outcome = await this.#outcomeOf({ directory: this.directory, request });
    if (outcome.type === 'DONE') return outcome.marker;
    const { message, code, errno } = outcome;
    throw Object.assign(new Error(message), { code, errno });
  }

  /** Ends the process at once, and with it a snapshot that is being made. */
  end(): void {
    this.#child?.kill('SIGKILL');
    this.#child = null;
  }

  /** Rejects when the process gives none, with an error that has no `code`: no I/O of the log failed. */
  async #outcomeOf(work: SnapshotWork): Promise<SnapshotOutcome> {
    const patience = AbortSignal.timeout(this.timeoutMs);
    try {
      this.start();
      if (this.#child === null) throw new Error('it could not be started');
      return await this.#ask(this.#child, work, patience);
    } catch (cause) {
      this.end();
      const why = patience.aborted ? `it took more than ${this.timeoutMs} ms` : (cause as Error).message;
      throw new Error(`the process that makes snapshots failed: ${why}`, { cause });
    }
  }

  async #ask(child: ChildProcess, work: SnapshotWork, signal: AbortSignal): Promise<SnapshotOutcome> {
    const sayings = on(child, 'message', { signal, close: ['exit'] });
    // A stop waits for the snapshot, and perhaps nothing else keeps this process alive.
    setAwaited(child, true);
    try {
      // Where nobody hears it any more, the process is about to be known as ended.
      child.send(work, () => undefined);
      for await (const [saying] of sayings as AsyncIterable<[SnapshotMessage]>) {
        if (saying.type !== 'WARN') return saying;
        this.logger.warn(saying.details, saying.message);
      }
    } finally {
      setAwaited(child, false);
    }
    throw new Error(`it ended with ${child.signalCode ?? `code ${child.exitCode ?? 'unknown'}`}`);
  }

  #open(): ChildProcess {
    // Variables of this process alone stay here: an inspector's port, a profile's file, the wallet's key.
    const given = Object.entries(process.env).filter(([name]) => !/^(NODE|QUOTEBOOK)_/.test(name));
    const child = fork(CHILD, {
      env: Object.fromEntries(given),
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
    setAwaited(child, false);
    const forget = (): void => {
      if (this.#child === child) this.#child = null;
    };
    child.on('exit', forget);
    // It could not be started: the system has no room for another process.
    child.on('error', forget);
    return child;
  }
}

/** Whether this process waits for its child: for a message of it, and for its end. */
function setAwaited(child: ChildProcess, isAwaited: boolean): void {
  if (isAwaited) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}

/** Input of a snapshot: plain data, so that it can go to another process. */
export interface SnapshotRequest {
  readonly epoch: Uint8Array;
  readonly reorgDepth: number;
  /** The end of a durable group; the snapshot is of its last record. */
  readonly point: LogPoint;
  /** The file to write it to. */
  readonly draft: string;
  /** Bytes that stay free on the volume: a snapshot can wait, records that are under way can't. */
  readonly keepFreeBytes: number;
}

/**
 * Replays the log up to `point` from the newest snapshot before it, and writes the state to `draft`, a new file: it
 * changes nothing else, and may run on for a moment when the process that writes the log is gone. That process gives
 * the file its name, and puts the marker that this resolves to into the log. Throws PersistenceError: NO_BASE, DIFFERS,
 * or DAMAGED, also where the log no longer has all records up to `point`.
 */
export async function makeSnapshot(disk: Disk, request: SnapshotRequest, logger: Logger): Promise<SnapshotMarker> {
  const epoch = Buffer.from(request.epoch);
  const point = { ...request.point, chain: Buffer.from(request.point.chain) };
  const segments = await segmentStarts(disk);
  // The scan at the start compared the snapshots with the log; those made since then came from it.
  const facts = {
    epoch,
    segments,
    last: point,
    snapshots: new Map<number, SnapshotMarker>(),
    chainAt: () => undefined,
  };
  const snapshots = snapshotIndexes(await disk.list());
  const { engine } = await findBase(disk, snapshots, facts, request.reorgDepth, logger);
  const replayer = new Replayer(engine);
  for await (const records of readRecords(disk, segments, engine.index, point.index)) {
    for (const record of records) replayer.apply(record);
  }
  if (engine.index !== point.index) {
    const lost = `the log ends with record ${engine.index}, and was durable up to record ${point.index}`;
    throw new PersistenceError('DAMAGED', lost);
  }
  const seal = await writeSnapshot(disk, request.draft, epoch, point, engine.exportState(), request.keepFreeBytes);
  return { type: 'SNAPSHOT', index: point.index, ...seal, stateHash: engine.stateHash() };
}
