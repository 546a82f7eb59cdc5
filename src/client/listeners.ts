export type StopListening = () => void;

/** Whoever wants to hear of something; each is told in the order of its coming. */
export class Listeners<T> {
  readonly #listeners = new Set<(event: T) => void>();

  add(listener: (event: T) => void): StopListening {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** One that throws does not keep the others from hearing: its error is reported as nobody's, in a turn of its own. */
  tell(event: T): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
