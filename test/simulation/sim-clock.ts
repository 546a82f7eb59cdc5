import type { CancelTimer, Clock } from '../../src/engine/ports.js';

interface Task {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

const HOUR_MS = 3_600_000;
const WALL_STEPS_MS = [0, HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS];

/**
 * Time that moves only from one task to the next. Everything that waits for it, timers and the simulated disk alike,
 * runs in one order that the seed decides alone.
 */
export class SimClock implements Clock {
  #nowMs = 0;
  #order = 0;
  readonly #tasks: Task[] = [];

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** A clock of the wall that somebody sets all the time: nothing may depend on it. */
  wallMs(): number {
    const step = WALL_STEPS_MS[Math.floor(this.#nowMs / 100) % WALL_STEPS_MS.length] ?? 0;
    return Date.UTC(2024, 0, 1) + this.#nowMs + step;
  }

  after(delayMs: number, run: () => void): CancelTimer {
    this.#order += 1;
    const task = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order, run };
    const behind = this.#tasks.findIndex((other) => other.dueMs > task.dueMs);
    this.#tasks.splice(behind === -1 ? this.#tasks.length : behind, 0, task);
    return () => {
      const at = this.#tasks.indexOf(task);
      if (at !== -1) this.#tasks.splice(at, 1);
    };
  }

  /** Forgets what was to be done: the process that wanted it is dead. */
  clear(): void {
    this.#tasks.length = 0;
  }

  /** Runs the next task and what follows from it. False if no task is left. */
  async step(): Promise<boolean> {
    await settled();
    return this.#runNext();
  }

  /** Once all is settled. */
  async #runNext(): Promise<boolean> {
    const task = this.#tasks.shift();
    if (task === undefined) return false;
    this.#nowMs = task.dueMs;
    task.run();
    await settled();
    return true;
  }

  /** Runs tasks for `ms` of its own time. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settled();
    while ((this.#tasks[0]?.dueMs ?? Infinity) <= endMs) await this.#runNext();
    this.#nowMs = endMs;
  }

  /** Runs tasks until `promise` is settled; rejects with it, or when nothing is left that could settle it. */
  async until<Value>(promise: Promise<Value>): Promise<Value> {
    const state = { isOver: false };
    const over = promise.finally(() => {
      state.isOver = true;
    });
    over.catch(() => undefined);
    await settled();
    while (!state.isOver) if (!(await this.#runNext())) throw new Error('it waits for something that will never come');
    return over;
  }
}

/** All that promises had to do is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
