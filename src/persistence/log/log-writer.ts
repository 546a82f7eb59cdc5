import type { Clock } from '../../engine/ports.js';
import { afterMicrotasks } from '../../system/timers.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { type Disk, type Logger, openModeFor, PersistenceError, type SyncMode } from '../disk/disk.js';
import { FRAME_HEAD_BYTES, type Marker } from '../format/frame.js';
import { COMMIT_BYTES, type LogPoint, putCommit } from '../format/header.js';
import { CommitQueue, CommitTimers, DurabilityWaiters } from './group-commit.js';
import type { LogEnd } from './log-scanner.js';
import { SegmentWriter } from './segment-writer.js';

interface WrittenGroup extends CommittedGroup {
  /** Frames since the start, its own included. */
  readonly frames: number;
}

/**
 * Group commit: whatever was put into the queue while the last group was written and synced is the next group. One of
 * them is in flight at a time, on libuv's threads, and with `sync: always` in one call: were the sync a second one, it
 * could begin only once this thread is done with the records it has just then. docs/reference/log-format.md, "How the log is
 * written".
 */
export class LogWriter {
  readonly #epoch: Buffer;
  readonly #options: LogWriterOptions;
  readonly #segment: SegmentWriter;
  readonly #due: CommitTimers;
  readonly #waiters = new DurabilityWaiters();
  readonly #queue: CommitQueue;
  /** The group that is on its way to the disk. */
  readonly #writing: GrowingBuffer;
  /** How far the log is written. */
  #written: LogPoint;
  /** Last group that is durable. */
  #durable: LogPoint;
  #writtenFrames = 0;
  #running: Promise<void> | null = null;
  /** The group that was written last, until it is reported to its waiters and to `onCommit`. */
  #unreported: WrittenGroup | null = null;
  #isSealed: boolean;
  #failure: PersistenceError | null = null;

  /** Goes on behind what the scan found, once its torn tail is cut and the rest is settled. */
  static async open(disk: Disk, scan: LogEnd, options: LogWriterOptions): Promise<LogWriter> {
    const writer = new LogWriter(disk, scan, options);
    await writer.#segment.open(scan.emptySegments);
    writer.#armSeal();
    return writer;
  }

  private constructor(disk: Disk, scan: LogEnd, options: LogWriterOptions) {
    this.#epoch = scan.epoch;
    this.#options = options;
    this.#queue = new CommitQueue(scan.last, options.bufferBytes);
    this.#writing = new GrowingBuffer(options.bufferBytes);
    this.#written = scan.last;
    this.#durable = scan.last;
    this.#isSealed = scan.isSealed;
    this.#due = new CommitTimers(options.clock, () => this.#kick());
    this.#segment = new SegmentWriter(disk, scan, {
      ...options,
      openMode: openModeFor(options.sync),
      onFatal: (error) => this.#fail(error),
    });
  }

  /** How far the log is durable. */
  get durable(): LogPoint {
    return this.#durable;
  }

  /** Records and bytes that wait for the next group. */
  get waiting(): { readonly records: number; readonly bytes: number } {
    return this.#queue.waiting;
  }

  /**
   * Of the segment that is written to: an older program's until that is full. Records and markers that are put in
   * now come into this one or the next.
   */
  get format(): number {
    return this.#segment.format;
  }

  /** Where `put` of `addRecord` writes to: the same object always. */
  get buffer(): GrowingBuffer {
    return this.#queue.buffer;
  }

  /** Puts a record into the queue. `put` writes its payload to `buffer`; `seq`: the last event up to here. */
  addRecord(index: number, seq: number, put: () => void): void {
    if (this.#failure !== null) throw this.#failure;
    this.#queue.addRecord(index, seq, put);
    this.#kick();
  }

  addMarker(marker: Marker): void {
    if (this.#failure !== null) throw this.#failure;
    this.#queue.addMarker(marker);
    this.#kick();
  }

  /** Resolves when all that was put in so far is durable, whatever the sync mode; rejects when the log fails before. */
  flush(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const flushed = this.#waiters.until(this.#queue.frames);
    if (!this.#waiters.isEmpty) this.#kick();
    return flushed;
  }

  /** Makes everything durable, seals it and lets go of the files. */
  async close(): Promise<void> {
    await this.flush();
    if (!this.#isSealed) this.#due.sealNow();
    this.#due.syncNow();
    this.#kick();
    await this.#running;
    if (this.#failure !== null) throw this.#failure;
    this.#due.cancelTimers();
    await this.#segment.close();
  }

  /**
   * The loop begins when all promises that are settled by then have been heard of, so that what one turn of the event
   * loop appends is one group.
   */
  #kick(): void {
    this.#running ??= afterMicrotasks().then(() => this.#run());
  }

  async #run(): Promise<void> {
    try {
      while (this.#failure === null) {
        if (!this.#queue.isEmpty || this.#due.isSealDue) await this.#commitGroup();
        else if (this.#unreported !== null) this.#reportLast();
        else if (!this.#isSyncDue) break;
        // Not only once nothing waits any more: under load that may never come.
        if (this.#isSyncDue) {
          this.#reportLast();
          await this.#syncWritten();
        }
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#running = null;
    this.#armSeal();
  }

  /** Written groups need a sync call of their own, which with `sync: always` nothing waits for. */
  get #isSyncDue(): boolean {
    if (this.#due.isSyncDue) return true;
    return this.#options.sync.type !== 'always' && this.#waiters.isAnyWithin(this.#writtenFrames);
  }

  async #commitGroup(): Promise<void> {
    const { clock, slowCommitMs, sync } = this.#options;
    const group = this.#writing;
    const { index, seq, records, frames } = this.#queue.takeInto(group);
    this.#due.groupBegun();
    const isEmpty = group.length === 0;
    const startMs = clock.monotonicMs();
    const cancelWarning = clock.after(slowCommitMs, () => this.#warnSlow(index, startMs));

    const head = await this.#place(group.length + FRAME_HEAD_BYTES + COMMIT_BYTES);
    const point = { index, seq, group: this.#written.group + 1 };
    const commit = { ...point, durable: this.#durable.group, records };
    const chain = putCommit(group, this.#epoch, this.#written.chain, head, commit);
    const bytes = head === null ? group.view() : Buffer.concat([head, group.view()]);
    this.#options.onWriting?.({ before: this.#written, after: { ...point, chain }, bytes });
    const writing = this.#segment.write(bytes);
    try {
      // Only now: this thread needs time to tell, which the disk does not have to wait for.
      this.#reportLast();
    } finally {
      await writing;
    }
    group.clear(this.#options.bufferBytes);
    this.#written = { ...point, chain };
    this.#writtenFrames = frames;
    this.#isSealed = isEmpty;

    if (sync.type === 'always') this.#durable = this.#written;
    else if (sync.type === 'interval') this.#due.syncAfter(sync.intervalMs);
    cancelWarning();
    this.#unreported = { index, records, frames, bytes: bytes.length };
  }

  /** Reports the group that was written last to its waiters and to `onCommit`. */
  #reportLast(): void {
    const group = this.#unreported;
    if (group === null) return;
    this.#unreported = null;
    // The next segment may have failed meanwhile: then nothing more is reported.
    if (this.#failure !== null) throw this.#failure;
    if (this.#options.sync.type === 'always') this.#waiters.settle(group.frames);
    if (group.records > 0) this.#options.onCommit(group);
  }

  /** Where a group of so many bytes goes: null, or the HEADER that a new segment begins with. */
  async #place(bytes: number): Promise<Buffer | null> {
    const next = this.#segment.nextFor(bytes);
    if (next === null) return null;
    if (this.#segment.isBegun) {
      this.#reportLast();
      await this.#syncWritten();
    }
    return this.#segment.moveTo(next, this.#written);
  }

  async #syncWritten(): Promise<void> {
    const written = this.#written;
    const frames = this.#writtenFrames;
    this.#due.syncBegun();
    if (written.group > this.#durable.group) await this.#segment.sync();
    if (this.#failure !== null) throw this.#failure;
    this.#durable = written;
    this.#waiters.settle(frames);
  }

  /**
   * An empty group says that the one before is durable: from then on a bad bit in that one is not taken for a torn
   * tail.
   */
  #armSeal(): void {
    const isDurable = this.#durable.group === this.#written.group;
    if (this.#isSealed || !isDurable || this.#failure !== null) return;
    this.#due.sealAfter(this.#options.sealDelayMs);
  }

  #warnSlow(index: number, startMs: number): void {
    const waitedMs = Math.round(this.#options.clock.monotonicMs() - startMs);
    this.#options.logger.warn({ index, waitedMs, waiting: this.waiting }, 'slow commit');
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    // The message has no details: loggers and the command line print the cause behind it.
    this.#failure = new PersistenceError('FAILED', 'the log has stopped', { cause: error });
    this.#due.cancelTimers();
    this.#segment.abandon();
    this.#waiters.fail(this.#failure);
    this.#options.onFatal(this.#failure);
  }
}

export interface LogWriterOptions {
  readonly sync: SyncMode;
  readonly segmentBytes: number;
  /** A group's memory that is kept for the next one. */
  readonly bufferBytes: number;
  /** How long nothing may come before the last group is sealed by an empty one. */
  readonly sealDelayMs: number;
  /** A commit that takes longer is warned of. */
  readonly slowCommitMs: number;
  /** How soon a next segment is tried again that there was no room for. */
  readonly spareRetryMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether so many bytes can be taken from the disk without touching its reserve. */
  readonly hasRoom: (bytes: number) => boolean;
  /**
   * Called with each group, seals too, when its write begins. Its bytes are valid until the call returns. An
   * error that it throws ends the log.
   */
  readonly onWriting?: (group: WrittenBytes) => void;
  /** Every record up to `index` may be acknowledged and published. Called once a group that has records, in order. */
  readonly onCommit: (group: CommittedGroup) => void;
  /** Once, after the first failure: nothing is written or acknowledged any more. The process has to end. */
  readonly onFatal: (error: Error) => void;
}

/** A group as it goes to the segment: with the HEADER where it begins one. */
export interface WrittenBytes {
  readonly before: LogPoint;
  readonly after: LogPoint;
  readonly bytes: Buffer;
}

/** One write and, with `sync: always`, one sync. */
export interface CommittedGroup {
  /** Its last record, and how many it has. */
  readonly index: number;
  readonly records: number;
  readonly bytes: number;
}
