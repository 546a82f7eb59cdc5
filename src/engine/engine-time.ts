import type { Clock } from './ports.js';

/**
 * The timestamp of the newest settlement block plus the monotonic time since it was read, never going back. Contracts
 * judge deadlines by block timestamps, so this follows them, and no step of the machine's own clock touches it.
 */
export class EngineTime {
  readonly #clock: Clock;
  readonly #listeners: (() => void)[] = [];
  #blockMs = 0;
  /** Monotonic moment of the last reading; null until there was one: time stands still till then. */
  #readAtMs: number | null = null;
  #nowMs: number;

  /** `startMs`: where engine time stood when the log ended. */
  constructor(clock: Clock, startMs: number) {
    this.#clock = clock;
    this.#nowMs = startMs;
  }

  /** A settlement block was just read as the newest. `blockTimestamp`: Unix seconds. */
  observe(blockTimestamp: number): void {
    this.nowMs();
    this.#blockMs = blockTimestamp * 1000;
    this.#readAtMs = this.#clock.monotonicMs();
    for (const listener of this.#listeners) listener();
  }

  /** Called after each reading: time may have leapt. */
  onObserve(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Whole Unix milliseconds. */
  nowMs(): number {
    if (this.#readAtMs !== null) {
      const nowMs = this.#blockMs + Math.floor(this.#clock.monotonicMs() - this.#readAtMs);
      if (nowMs > this.#nowMs) this.#nowMs = nowMs;
    }
    return this.#nowMs;
  }
}
