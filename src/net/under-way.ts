/** Counts what a server that stops waits for: answers not yet written, sockets not yet closed. */
export class UnderWay {
  #count = 0;
  #whenNone: (() => void) | null = null;

  began(): void {
    this.#count++;
  }

  ended(): void {
    this.#count--;
    if (this.#count === 0) this.#whenNone?.();
  }

  /** Resolves when nothing is under way, after `patienceMs` at the latest. */
  none(patienceMs: number): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = setTimeout(resolve, patienceMs);
      this.#whenNone = () => {
        clearTimeout(deadline);
        resolve();
      };
    });
  }
}
