import type { Clock } from '../engine/ports.js';

/** Of what a node shows: it is believed when it has been shown for long enough. */
export class Doubt {
  #sinceMs: number | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly patienceMs: number,
  ) {}

  /** It is shown now. True: it has been for `patienceMs`. */
  isOver(): boolean {
    const now = this.clock.monotonicMs();
    this.#sinceMs ??= now;
    return now - this.#sinceMs >= this.patienceMs;
  }

  /** It is not shown any more. */
  end(): void {
    this.#sinceMs = null;
  }
}
