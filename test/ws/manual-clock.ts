import type { CancelTimer, Clock } from '../../src/engine/ports.js';

/** A clock that stands still until it is told to go on. */
export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<{ readonly dueMs: number; readonly task: () => void }>();

  /** Timers that have neither run nor been cancelled. */
  get waiting(): number {
    return this.#timers.size;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  after(delayMs: number, task: () => void): CancelTimer {
    const timer = { dueMs: this.#nowMs + delayMs, task };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= this.#nowMs).sort((a, b) => a.dueMs - b.dueMs);
    for (const timer of due) {
      this.#timers.delete(timer);
      timer.task();
    }
  }
}
