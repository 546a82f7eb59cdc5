import type { CancelTimer, Clock } from '../engine/ports.js';

/**
 * Bounds how much is done between two turns of the event loop, for all clients together: requests that are answered,
 * slices of an expensive answer. Work beyond it waits for a later turn, in order. The count restarts with a turn only
 * after half of the budget is used: a callback for every turn would cost more than counting.
 */
export class TurnBudget {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #perTurn: number;
  /** Those that waited longest first. */
  readonly #waiting = new Set<() => void>();
  #left: number;
  #isTurnDue = false;

  constructor(clock: Pick<Clock, 'after'>, perTurn: number) {
    this.#clock = clock;
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  get hasRoom(): boolean {
    return this.#left > 0;
  }

  /** Counts one that is done in this turn. */
  spend(): void {
    this.#left -= 1;
    if (this.#left < this.#perTurn / 2) this.#awaitTurn();
  }

  /** Calls `task`, which spends what it uses, when there is room in a later turn, after those that waited before it. */
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
      this.#left = this.#perTurn;
      for (const task of this.#waiting) {
        if (!this.hasRoom) break;
        this.#waiting.delete(task);
        task();
      }
      if (this.#waiting.size > 0) this.#awaitTurn();
    });
  }
}
