import type { CancelTimer, Clock } from '../engine/ports.js';

/**
 * Bounds how many slices of expensive work are done between two turns of the event loop, for all clients together. A
 * request that arrives meanwhile is answered after at most that many.
 */
export class TurnBudget {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #slicesPerTurn: number;
  /** Those that waited longest first. */
  readonly #waiting = new Set<() => void>();
  #left: number;
  #isTurnDue = false;

  constructor(clock: Pick<Clock, 'after'>, slicesPerTurn: number) {
    this.#clock = clock;
    this.#slicesPerTurn = slicesPerTurn;
    this.#left = slicesPerTurn;
  }

  get hasRoom(): boolean {
    return this.#left > 0;
  }

  /** Counts a slice that is done in this turn. */
  made(): void {
    this.#left--;
    this.#awaitTurn();
  }

  /** Calls `task` when there is room again, after those that waited before it. */
  wait(task: () => void): CancelTimer {
    this.#waiting.add(task);
    this.#awaitTurn();
    return () => void this.#waiting.delete(task);
  }

  #awaitTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    this.#clock.after(0, () => {
      this.#isTurnDue = false;
      this.#left = this.#slicesPerTurn;
      for (const task of this.#waiting) {
        if (!this.hasRoom) break;
        this.#waiting.delete(task);
        task();
      }
      if (this.#waiting.size > 0) this.#awaitTurn();
    });
  }
}
