export type StopListening = () => void;

/** One event and its listeners, called in the order in which they were added. */
export class Emitter<T> {
  readonly #listeners = new Set<(event: T) => void>();

  add(listener: (event: T) => void): StopListening {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A listener that throws does not stop the others: its error is rethrown in a microtask, as uncaught. */
  emit(event: T): void {
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
