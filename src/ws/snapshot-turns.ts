import type { CancelTimer, Clock } from '../engine/ports.js';

/** So many pages of snapshots are made between two turns of the event loop, whoever they are for. */
export class SnapshotTurns {
  readonly #clock: Clock;
  readonly #pagesPerTurn: number;
  readonly #waiting = new Set<() => void>();
  #left: number;
  #isTurnDue = false;

  constructor(clock: Clock, pagesPerTurn: number) {
    this.#clock = clock;
    this.#pagesPerTurn = pagesPerTurn;
    this.#left = pagesPerTurn;
  }

  get hasRoom(): boolean {
    return this.#left > 0;
  }

  made(): void {
    this.#left--;
    this.#awaitTurn();
  }

  /** Calls `task` when there is room again, those who asked before it first. */
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
      this.#left = this.#pagesPerTurn;
      for (const task of this.#waiting) {
        if (!this.hasRoom) break;
        this.#waiting.delete(task);
        task();
      }
      if (this.#waiting.size > 0) this.#awaitTurn();
    });
  }
}
