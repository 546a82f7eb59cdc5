import type { CancelTimer, Clock } from '../engine/ports.js';

/**
 * What a log has to do though nobody asks for it, and when: seal its last group once nothing has come for a while, and
 * with `sync: interval` force to the disk what was written.
 */
export class DueWork {
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
