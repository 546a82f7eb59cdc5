import type { Engine } from '../../engine/engine.js';
import type { Clock } from '../../engine/ports.js';
import {
  type Disk,
  isDiskFull,
  isOutOfDescriptors,
  type Logger,
  PersistenceError,
  removeIfExists,
  TEMPORARY,
} from '../disk/disk.js';
import { snapshotName } from '../format/file-names.js';
import type { SnapshotMarker } from '../format/frame.js';
import type { LogPoint } from '../format/header.js';
import type { LogJournal } from '../log/journal.js';
import { removeSuperseded, type RetentionOptions } from './retention.js';
import type { SnapshotRequest } from './snapshot-process.js';

export interface SnapshotterOptions extends RetentionOptions {
  readonly epoch: Buffer;
  readonly reorgDepth: number;
  /** Record of the last snapshot; 0: none. */
  readonly lastIndex: number;
  /** A snapshot is made after so many records. */
  readonly snapshotEveryRecords: number;
  /** How long after one that found no room, or no file descriptor, the next is tried. */
  readonly snapshotRetryMs: number;
  /** Resolves when that group, which is durable here, is kept by others as well; absent: nothing else keeps it. */
  readonly untilReplicated?: (group: number) => Promise<void>;
  readonly clock: Clock;
  /**
   * In the names of snapshots that are not finished. Another one than in any life of a process on this directory
   * before, since what makes them may outlive its process for a moment.
   */
  readonly draftTag: string;
  /**
   * Leaves it in the request's draft, made away from this thread. Rejects with an error that has the system's `code`
   * and `errno` where I/O failed, and a PersistenceFault as its `code` where the log is not what it should be.
   */
  readonly make: (request: SnapshotRequest) => Promise<SnapshotMarker>;
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
}

/** Has snapshots made as the log grows, tells the log of them, and drops what they make superfluous. One at a time. */
export class Snapshotter {
  readonly #disk: Disk;
  readonly #journal: LogJournal;
  readonly #options: SnapshotterOptions;
  #lastIndex: number;
  /** Monotonic: no automatic snapshot begins before that. */
  #notBeforeMs = 0;
  /** Reason why the last snapshot was postponed: logged once, until one is made. */
  #waitsFor: 'disk space' | 'file descriptor' | null = null;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(disk: Disk, journal: LogJournal, options: SnapshotterOptions) {
    this.#disk = disk;
    this.#journal = journal;
    this.#options = options;
    this.#lastIndex = options.lastIndex;
    journal.onCommit((index) => this.#consider(index));
  }

  /** One of everything that is in the log by now; joins the one that is being made, if any. Never rejects. */
  async take(): Promise<void> {
    this.#running ??= this.#take().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  /** Begins none any more, and waits for the one that is being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  #consider(index: number): void {
    const { snapshotEveryRecords, clock } = this.#options;
    if (index - this.#lastIndex < snapshotEveryRecords || this.#running !== null || this.#isClosed) return;
    if (clock.monotonicMs() < this.#notBeforeMs || this.#journal.refusal() === 'STORAGE_FULL') return;
    void this.take();
  }

  async #take(): Promise<void> {
    const { logger } = this.#options;
    const before = this.#lastIndex;
    try {
      // Snapshots are of durable records alone, whatever the sync mode.
      await this.#journal.flush();
      const point = this.#journal.durable;
      if (point.index === before) return;
      if (!(await this.#isReplicated(point))) return;
      this.#lastIndex = point.index;
      const marker = await this.#make(point);
      this.#journal.addMarker(marker);
      await this.#journal.flush();
      this.#waitsFor = null;
      const dropped = await removeSuperseded(this.#disk, this.#options);
      logger.info({ index: marker.index, bytes: marker.bytes, dropped }, 'snapshot written');
    } catch (error) {
      if (isPassing(error)) this.#tryLater(before);
      this.#fail(error as Error);
    }
  }

  /** False: it never will be, since this process has to end. */
  async #isReplicated({ group }: LogPoint): Promise<boolean> {
    const { untilReplicated } = this.#options;
    if (untilReplicated === undefined) return true;
    return untilReplicated(group).then(
      () => true,
      () => false,
    );
  }

  /** It stays due. Not at once: to make one takes reading the log since the last, whether there is room for it or not. */
  #tryLater(lastIndex: number): void {
    const { clock, snapshotRetryMs } = this.#options;
    this.#lastIndex = lastIndex;
    this.#notBeforeMs = clock.monotonicMs() + snapshotRetryMs;
  }

  /** Only who holds the lock gives a snapshot the name that a start looks for. */
  async #make(point: LogPoint): Promise<SnapshotMarker> {
    const { epoch, reorgDepth, make, draftTag } = this.#options;
    const name = snapshotName(point.index);
    const draft = `${name}.${draftTag}${TEMPORARY}`;
    try {
      const marker = await make({ epoch, reorgDepth, point, draft, keepFreeBytes: this.#journal.lowWaterBytes });
      await this.#disk.rename(draft, name);
      await this.#disk.syncDirectory();
      return marker;
    } catch (error) {
      // After failed I/O this process ends, and the next start removes it.
      if (!isFailedCall(error)) await removeIfExists(this.#disk, draft);
      throw error;
    }
  }

  /**
   * Want of room passes; failed I/O ends the process; anything else leaves the log as the only base, which people have
   * to know.
   */
  #fail(error: Error): void {
    const { logger, onFatal } = this.#options;
    const isNews = this.#waitsFor !== (this.#waitsFor = missingFor(error));
    if (this.#waitsFor !== null) {
      if (isNews) logger.warn({ err: error, waitsFor: this.#waitsFor }, 'snapshot postponed');
    } else if (error instanceof PersistenceError && error.code === 'FAILED') return;
    else if (isFailedCall(error)) onFatal(error);
    else {
      logger.error({ err: error }, 'snapshot failed');
    }
  }
}

/**
 * The system could not do what it was asked for, and not for want of room or descriptors. Only its errors have a number:
 * what the maker found wrong in the log comes with a `code` as well.
 */
function isFailedCall(error: unknown): boolean {
  const { errno } = error as NodeJS.ErrnoException;
  return typeof errno === 'number' && !isPassing(error);
}

/** There may be room, and descriptors, by and by. */
function isPassing(error: unknown): boolean {
  return missingFor(error) !== null;
}

function missingFor(error: unknown): 'disk space' | 'file descriptor' | null {
  if (isDiskFull(error)) return 'disk space';
  return isOutOfDescriptors(error) ? 'file descriptor' : null;
}

/** The first format whose segments may have state sums. */
const SUM_FORMAT = 2;

export interface StateSumOptions {
  /** Records between two sums; Infinity: none is written while the process runs. */
  readonly stateHashEveryRecords: number;
  /** Changed orders that are added to the sum in one turn of the event loop, at most. */
  readonly stateSumOrders: number;
}

/**
 * Tells the log every so often what the running engine's state sums up to, so that every replay is held against it.
 * Where more orders changed than one turn has time for, each commit adds some more of them, and the sum is of the
 * record at which it is whole.
 */
export function recordStateSums(
  engine: Engine,
  journal: LogJournal,
  { stateHashEveryRecords, stateSumOrders }: StateSumOptions,
): void {
  let lastIndex = engine.index;
  journal.onCommit(() => {
    // An older program's segment, until it is full: that program is to refuse the next one by its version, and not to
    // find damage in this one.
    if (engine.index - lastIndex < stateHashEveryRecords || journal.format < SUM_FORMAT) return;
    if (!engine.prepareSum(stateSumOrders)) return;
    lastIndex = engine.index;
    // Every record up to `engine.index` is in the queue or beyond, so the marker comes right behind it.
    journal.addMarker({ type: 'STATE_SUM', index: engine.index, stateHash: engine.stateSum() });
  });
}
