import type { CancelTimer, Clock } from '../../src/engine/ports.js';

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #wallStartMs: number;
  readonly #tasks = new Set<{ readonly dueMs: number; readonly task: () => void }>();

  constructor(wallStartMs = Date.UTC(2024, 0, 1)) {
    this.#wallStartMs = wallStartMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#wallStartMs + this.#nowMs;
  }

  after(delayMs: number, task: () => void): CancelTimer {
    const entry = { dueMs: this.#nowMs + delayMs, task };
    this.#tasks.add(entry);
    return () => this.#tasks.delete(entry);
  }

  /** Timers that have not run yet. */
  get pending(): number {
    return this.#tasks.size;
  }

  /** Moves time on and runs what falls due, in order, each task at its own time. */
  advance(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      const [next] = [...this.#tasks].filter(({ dueMs }) => dueMs <= end).sort((a, b) => a.dueMs - b.dueMs);
      if (next === undefined) break;
      this.#tasks.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.task();
    }
    this.#nowMs = end;
  }
}
