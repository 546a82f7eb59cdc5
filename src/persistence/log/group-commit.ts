import type { CancelTimer, Clock } from '../../engine/ports.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { beginFrame, endFrame, FrameType, type Marker, putMarker } from '../format/frame.js';
import type { LogPoint } from '../format/header.js';

/** One group, without its bytes. */
export interface QueuedGroup {
  /** Its last record, and the last event up to there; those of the group before where it has none. */
  readonly index: number;
  readonly seq: number;
  readonly records: number;
  /** Frames since the log was opened, its own included. */
  readonly frames: number;
}

/** Records and markers, framed, that the next group will consist of. */
export class CommitQueue {
  /** Its memory changes hands with each group, the object does not. */
  readonly buffer: GrowingBuffer;
  #index: number;
  #seq: number;
  #records = 0;
  #frames = 0;

  constructor({ index, seq }: Pick<LogPoint, 'index' | 'seq'>, bufferBytes: number) {
    this.buffer = new GrowingBuffer(bufferBytes);
    this.#index = index;
    this.#seq = seq;
  }

  get isEmpty(): boolean {
    return this.buffer.length === 0;
  }

  /** Records and bytes that wait for the next group. */
  get waiting(): { readonly records: number; readonly bytes: number } {
    return { records: this.#records, bytes: this.buffer.length };
  }

  /** All that was ever put in. */
  get frames(): number {
    return this.#frames;
  }

  /**
   * `put` writes the record's payload to `buffer`; `seq`: the last event up to here. When `put` throws, nothing of the
   * record stays.
   */
  addRecord(index: number, seq: number, put: () => void): void {
    const start = beginFrame(this.buffer);
    try {
      put();
    } catch (error) {
      this.buffer.length = start;
      throw error;
    }
    endFrame(this.buffer, start, FrameType.record);
    this.#index = index;
    this.#seq = seq;
    this.#records += 1;
    this.#frames += 1;
  }

  addMarker(marker: Marker): void {
    putMarker(this.buffer, marker);
    this.#frames += 1;
  }

  /** Empties it: its bytes go into `group`, whose memory takes their place. */
  takeInto(group: GrowingBuffer): QueuedGroup {
    const taken = { index: this.#index, seq: this.#seq, records: this.#records, frames: this.#frames };
    this.#records = 0;
    this.buffer.exchange(group);
    return taken;
  }
}

interface Waiter {
  readonly frames: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Promises that wait until a number of frames is durable, counted since the log was opened. */
export class DurabilityWaiters {
  #durableFrames = 0;
  #waiters: Waiter[] = [];

  get isEmpty(): boolean {
    return this.#waiters.length === 0;
  }

  isDurable(frames: number): boolean {
    return frames <= this.#durableFrames;
  }

  /** Whether somebody waits for so many frames or fewer. */
  isAnyWithin(frames: number): boolean {
    return this.#waiters.some((waiter) => waiter.frames <= frames);
  }

  /** Resolves when so many frames are durable; rejects when the log fails before. */
  until(frames: number): Promise<void> {
    if (this.isDurable(frames)) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ frames, resolve, reject }));
  }

  /** So many frames are durable. */
  settle(frames: number): void {
    this.#durableFrames = frames;
    if (this.isEmpty) return;
    const waiting = this.#waiters;
    this.#waiters = waiting.filter((waiter) => waiter.frames > frames);
    for (const waiter of waiting) if (waiter.frames <= frames) waiter.resolve();
  }

  fail(error: Error): void {
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiting) waiter.reject(error);
  }
}

/**
 * Timers of a log's work that no call starts: sealing the last group after a quiet while and, with `sync: interval`,
 * syncing the written groups.
 */
export class CommitTimers {
  #isSealDue = false;
  #isSyncDue = false;
  #cancelSeal: CancelTimer | null = null;
  #cancelSync: CancelTimer | null = null;

  /** `onDue`: a time has run out. */
  constructor(
    private readonly clock: Clock,
    private readonly onDue: () => void,
  ) {}

  get isSealDue(): boolean {
    return this.#isSealDue;
  }

  get isSyncDue(): boolean {
    return this.#isSyncDue;
  }

  /** Each call begins the time anew. */
  sealAfter(delayMs: number): void {
    this.#cancelSeal?.();
    this.#cancelSeal = this.clock.after(delayMs, () => {
      this.sealNow();
      this.onDue();
    });
  }

  /** A time that runs already is left as it is. */
  syncAfter(delayMs: number): void {
    this.#cancelSync ??= this.clock.after(delayMs, () => {
      this.#cancelSync = null;
      this.syncNow();
      this.onDue();
    });
  }

  sealNow(): void {
    this.#isSealDue = true;
  }

  syncNow(): void {
    this.#isSyncDue = true;
  }

  /** A group is on its way: an empty one is the seal, and after any other the log is not quiet. */
  groupBegun(): void {
    this.#cancelSeal?.();
    this.#isSealDue = false;
  }

  syncBegun(): void {
    this.#cancelSync?.();
    this.#cancelSync = null;
    this.#isSyncDue = false;
  }

  cancelTimers(): void {
    this.#cancelSeal?.();
    this.#cancelSync?.();
  }
}
