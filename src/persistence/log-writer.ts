import type { CancelTimer, Clock } from '../engine/ports.js';
import { COMMIT_BYTES, putCommit } from './commit.js';
import type { Disk, DiskFile, OpenMode } from './disk.js';
import { FILE_FORMAT, putSegmentHeader, type LogPoint } from './file-header.js';
import { FRAME_HEAD_BYTES, FrameType, beginFrame, endFrame } from './frame.js';
import { GrowingBuffer } from './growing-buffer.js';
import type { Logger } from './logger.js';
import { putNote, type Note } from './notes.js';
import { PersistenceError } from './persistence-error.js';
import { segmentName } from './segment.js';
import { SpareSegment } from './spare-segment.js';
import type { LogSurvey } from './survey.js';
import type { SyncMode } from './sync-mode.js';

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
  /** Every record up to `index` may be told. Called once a group that has records, in order. */
  readonly onCommit: (group: CommittedGroup) => void;
  /** Once, after the first failure: nothing is written or told any more. The process has to end. */
  readonly onFatal: (error: Error) => void;
}

/** One write and, with `sync: always`, one sync. */
export interface CommittedGroup {
  /** Its last record, and how many it has. */
  readonly index: number;
  readonly records: number;
  readonly bytes: number;
  /** From the moment it left the queue. */
  readonly tookMs: number;
}

interface WrittenGroup extends CommittedGroup {
  /** Up to its end, since the start. */
  readonly frames: number;
}

interface Waiter {
  /** Frames that have to be durable. */
  readonly frames: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Group commit: whatever was put into the queue while the last group was written and synced is the next group. One of
 * them is in flight at a time, on libuv's threads, and with `sync: always` in one call: were the sync a second one, it
 * could begin only once this thread is done with the records it has just then. docs/log-format.md, "How the log is
 * written".
 */
export class LogWriter {
  readonly #epoch: Buffer;
  readonly #options: LogWriterOptions;
  readonly #spare: SpareSegment;
  /** What the next group consists of. Its memory changes hands with each group, the object does not. */
  readonly queue: GrowingBuffer;
  readonly #writing: GrowingBuffer;
  readonly #header = new GrowingBuffer(256);
  /** Null before the first segment of a new log. */
  #file: DiskFile | null = null;
  #segment: number;
  #format: number;
  /** Where the next group goes. */
  #offset: number;
  /** How far the log is written. */
  #written: LogPoint;
  /** Last group that is durable. */
  #durable: LogPoint;
  /** Up to the end of the queue; `records` of the queue alone, `frames` since the start. */
  #queued: { readonly index: number; readonly seq: number; readonly records: number; readonly frames: number };
  #writtenFrames = 0;
  #durableFrames = 0;
  #waiters: Waiter[] = [];
  #running: Promise<void> | null = null;
  /** The group that was written last, until it is told. */
  #untold: WrittenGroup | null = null;
  #isSealed: boolean;
  #sealDue = false;
  #syncDue = false;
  #cancelSeal: CancelTimer | null = null;
  #cancelSync: CancelTimer | null = null;
  #failure: PersistenceError | null = null;

  /** Goes on behind what the survey found, once its torn tail is cut and the rest is settled. */
  static async open(disk: Disk, survey: LogSurvey, options: LogWriterOptions): Promise<LogWriter> {
    const writer = new LogWriter(disk, survey, options);
    const last = survey.segments.at(-1);
    if (last !== undefined) writer.#file = await disk.open(segmentName(last.number), openModeFor(options.sync));
    await writer.#spare.adopt(survey.emptySegments);
    if (writer.#file === null) await writer.#spare.ready();
    else writer.#spare.prepare();
    writer.#armSeal();
    return writer;
  }

  private constructor(disk: Disk, survey: LogSurvey, options: LogWriterOptions) {
    this.#epoch = survey.epoch;
    this.#options = options;
    this.queue = new GrowingBuffer(options.bufferBytes);
    this.#writing = new GrowingBuffer(options.bufferBytes);
    const last = survey.segments.at(-1);
    this.#segment = last?.number ?? 0;
    this.#format = last?.format ?? FILE_FORMAT;
    this.#offset = last?.end ?? 0;
    this.#written = survey.last;
    this.#durable = survey.last;
    this.#isSealed = survey.isSealed;
    this.#queued = { index: survey.last.index, seq: survey.last.seq, records: 0, frames: 0 };
    this.#spare = new SpareSegment(disk, this.#segment + 1, {
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
    return { records: this.#queued.records, bytes: this.queue.length };
  }

  get segment(): number {
    return this.#segment;
  }

  /**
   * Of the segment that is written to: an older program's until that is full. What is put in now comes into this one or
   * the next.
   */
  get format(): number {
    return this.#format;
  }

  /** Puts a record into the queue. `put` writes its payload to `queue`; `seq`: the last event up to here. */
  addRecord(index: number, seq: number, put: () => void): void {
    if (this.#failure !== null) throw this.#failure;
    const start = beginFrame(this.queue);
    try {
      put();
    } catch (error) {
      this.queue.length = start;
      throw error;
    }
    endFrame(this.queue, start, FrameType.record);
    const { records, frames } = this.#queued;
    this.#queued = { index, seq, records: records + 1, frames: frames + 1 };
    this.#kick();
  }

  addNote(note: Note): void {
    if (this.#failure !== null) throw this.#failure;
    putNote(this.queue, note);
    this.#queued = { ...this.#queued, frames: this.#queued.frames + 1 };
    this.#kick();
  }

  /** Resolves when all that was put in so far is durable, whatever the sync mode; rejects when the log fails before. */
  flush(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const { frames } = this.#queued;
    if (frames === this.#durableFrames) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ frames, resolve, reject });
      this.#kick();
    });
  }

  /** Makes everything durable, seals it and lets go of the files. */
  async close(): Promise<void> {
    await this.flush();
    this.#sealDue = !this.#isSealed;
    this.#syncDue = true;
    this.#kick();
    await this.#running;
    if (this.#failure !== null) throw this.#failure;
    this.#cancelTimers();
    await this.#spare.close();
    await this.#file?.close();
  }

  /**
   * The loop begins when all promises that are settled by then have been heard of, so that what one turn of the event
   * loop appends is one group.
   */
  #kick(): void {
    this.#running ??= endOfPromises().then(() => this.#run());
  }

  async #run(): Promise<void> {
    try {
      while (this.#failure === null) {
        if (this.queue.length > 0 || this.#sealDue) await this.#commitGroup();
        else if (this.#untold !== null) this.#tellLast();
        else if (this.#syncDue || this.#waiters.length > 0) await this.#syncWritten();
        else break;
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#running = null;
    this.#armSeal();
  }

  async #commitGroup(): Promise<void> {
    const { clock, slowCommitMs, sync } = this.#options;
    const group = this.#writing;
    const { index, seq, records, frames } = this.#queued;
    this.#queued = { index, seq, records: 0, frames };
    this.queue.exchange(group);
    this.#cancelSeal?.();
    this.#sealDue = false;
    const isEmpty = group.length === 0;
    const startMs = clock.monotonicMs();
    const cancelWarning = clock.after(slowCommitMs, () => this.#warnSlow(index, startMs));

    const head = await this.#place(group.length + FRAME_HEAD_BYTES + COMMIT_BYTES);
    const point = { index, seq, group: this.#written.group + 1 };
    const commit = { ...point, durable: this.#durable.group, records };
    const chain = putCommit(group, this.#epoch, this.#written.chain, head, commit);
    const bytes = head === null ? group.view() : Buffer.concat([head, group.view()]);
    const writing = this.#openFile().write(bytes, this.#offset);
    try {
      // Only now: this thread needs time to tell, which the disk does not have to wait for.
      this.#tellLast();
    } finally {
      await writing;
    }
    this.#offset += bytes.length;
    group.clear(this.#options.bufferBytes);
    this.#written = { ...point, chain };
    this.#writtenFrames = frames;
    this.#isSealed = isEmpty;

    if (sync.type === 'always') this.#durable = this.#written;
    else if (sync.type === 'interval') this.#armSync(sync.intervalMs);
    cancelWarning();
    this.#untold = { index, records, frames, bytes: bytes.length, tookMs: clock.monotonicMs() - startMs };
  }

  /** Whoever waits for the group that was written last hears of it. */
  #tellLast(): void {
    const group = this.#untold;
    if (group === null) return;
    this.#untold = null;
    // The next segment may have failed meanwhile: then nothing more is told.
    if (this.#failure !== null) throw this.#failure;
    if (this.#options.sync.type === 'always') this.#settle(group.frames);
    if (group.records > 0) this.#options.onCommit(group);
  }

  /** Where a group of so many bytes goes: null, or the HEADER that a new segment begins with. */
  async #place(bytes: number): Promise<Buffer | null> {
    const isFull = this.#offset + bytes > this.#options.segmentBytes;
    if (this.#file !== null && !isFull) return null;
    const next = this.#spare.take();
    // Not ready yet: the segment that is there grows.
    if (next === null) return null;
    if (this.#file !== null) {
      this.#tellLast();
      await this.#syncWritten();
      await this.#file.close();
    }
    this.#file = next;
    this.#segment += 1;
    this.#format = FILE_FORMAT;
    this.#offset = 0;
    this.#header.clear(0);
    putSegmentHeader(this.#header, { ...this.#written, epoch: this.#epoch, number: this.#segment });
    return this.#header.view();
  }

  #openFile(): DiskFile {
    if (this.#file === null) throw new Error('a new log has its first segment ready before anything is written');
    return this.#file;
  }

  async #syncWritten(): Promise<void> {
    const written = this.#written;
    const frames = this.#writtenFrames;
    this.#syncDue = false;
    this.#cancelSync?.();
    this.#cancelSync = null;
    if (written.group > this.#durable.group) await this.#openFile().sync();
    if (this.#failure !== null) throw this.#failure;
    this.#durable = written;
    this.#settle(frames);
  }

  /** So many frames of this run are durable. */
  #settle(frames: number): void {
    this.#durableFrames = frames;
    const waiting = this.#waiters;
    this.#waiters = waiting.filter((waiter) => waiter.frames > frames);
    for (const waiter of waiting) if (waiter.frames <= frames) waiter.resolve();
  }

  #armSync(intervalMs: number): void {
    this.#cancelSync ??= this.#options.clock.after(intervalMs, () => {
      this.#cancelSync = null;
      this.#syncDue = true;
      this.#kick();
    });
  }

  /**
   * An empty group says that the one before is durable: from then on a bad bit in that one is not taken for a torn
   * tail.
   */
  #armSeal(): void {
    const isDurable = this.#durable.group === this.#written.group;
    if (this.#isSealed || !isDurable || this.#failure !== null) return;
    this.#cancelSeal?.();
    this.#cancelSeal = this.#options.clock.after(this.#options.sealDelayMs, () => {
      this.#sealDue = true;
      this.#kick();
    });
  }

  #warnSlow(index: number, startMs: number): void {
    const waitedMs = Math.round(this.#options.clock.monotonicMs() - startMs);
    this.#options.logger.warn(
      { index, waitedMs, waiting: this.waiting },
      'the disk is slow to take a group of records',
    );
  }

  #fail(error: unknown): void {
    if (this.#failure !== null) return;
    const message = error instanceof Error ? error.message : String(error);
    this.#failure = new PersistenceError('FAILED', `the log has stopped: ${message}`, { cause: error });
    this.#cancelTimers();
    this.#spare.abandon();
    for (const waiter of this.#waiters) waiter.reject(this.#failure);
    this.#waiters = [];
    this.#options.onFatal(this.#failure);
  }

  #cancelTimers(): void {
    this.#cancelSeal?.();
    this.#cancelSync?.();
  }
}

function openModeFor(sync: SyncMode): OpenMode {
  return sync.type === 'always' ? 'durable' : 'write';
}

/**
 * Resolves when nobody who waited for a settled promise, one after the other, is left: in the same turn of the event
 * loop.
 */
function endOfPromises(): Promise<void> {
  return new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));
}
