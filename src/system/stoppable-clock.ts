import type { CancelTimer, Clock } from '../engine/ports.js';

/**
 * The clock of requests that wait for something which goes on without them, such as a transaction. When the service
 * stops it ends all waits, so that these requests are answered with what is known instead of a closed connection.
 */
export class StoppableClock implements Clock {
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

  /** Ends every wait now; later ones end in the next turn of the event loop. */
  endWaits(): void {
    this.#isUp = true;
    for (const wait of [...this.#waits]) wait();
  }
}
