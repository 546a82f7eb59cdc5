import type { CancelTimer, Clock } from '../engine/ports.js';

/**
 * The clock of those who wait for what goes on without them, such as their transaction. Once the service stops their
 * time is up, however long they would have waited: what is known by then is an answer, and a closed connection is none.
 */
export class AskersClock implements Clock {
  readonly #waits = new Set<() => void>();
  #isUp = false;

  constructor(private readonly clock: Clock) {}

  monotonicMs(): number {
    return this.clock.monotonicMs();
  }

  wallMs(): number {
    return this.clock.wallMs();
  }

  after(delayMs: number, task: () => void): CancelTimer {
    let cancelTimer: CancelTimer = () => undefined;
    const cancel = (): void => {
      this.#waits.delete(wait);
      cancelTimer();
    };
    const wait = (): void => {
      cancel();
      task();
    };
    cancelTimer = this.clock.after(this.#isUp ? 0 : delayMs, wait);
    this.#waits.add(wait);
    return cancel;
  }

  /** Every wait ends now, and each that begins from now on at once. */
  timeIsUp(): void {
    this.#isUp = true;
    for (const wait of [...this.#waits]) wait();
  }
}
