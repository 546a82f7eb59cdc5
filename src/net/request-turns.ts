/**
 * At most so many requests are answered between two turns of the event loop, whoever sent them; all others wait for the
 * next turn, those that came first before the rest. The count begins anew with a turn once half of them have been
 * answered: to hear of each turn would cost more than to count.
 */
export class RequestTurns {
  readonly #perTurn: number;
  #left: number;
  #isTurnDue = false;
  readonly #waiting: (() => void)[] = [];

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** False: there is no room for another one in this turn. */
  take(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 1;
    if (this.#left < this.#perTurn / 2) this.#awaitTurn();
    return true;
  }

  /** Calls `task` in a later turn. */
  wait(task: () => void): void {
    this.#waiting.push(task);
    this.#awaitTurn();
  }

  #awaitTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(() => {
      this.#isTurnDue = false;
      const due = this.#waiting.splice(0, this.#perTurn);
      this.#left = this.#perTurn - due.length;
      for (const task of due) task();
      if (this.#waiting.length > 0) this.#awaitTurn();
    });
  }
}
