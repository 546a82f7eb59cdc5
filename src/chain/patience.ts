import type { CancelTimer, Clock } from '../engine/ports.js';

/** How long one asker waits, from when it is made, for what goes on without it. */
export class Patience {
  readonly #untilMs: number;

  constructor(
    private readonly clock: Clock,
    ms: number,
  ) {
    this.#untilMs = clock.monotonicMs() + ms;
  }

  /** What comes of it, unless that takes too long. */
  async wait<T>(end: Promise<T>): Promise<T | 'TOO_LONG'> {
    let cancel: CancelTimer = () => undefined;
    const tooLong = new Promise<'TOO_LONG'>((resolve) => {
      const leftMs = Math.max(0, this.#untilMs - this.clock.monotonicMs());
      cancel = this.clock.after(leftMs, () => resolve('TOO_LONG'));
    });
    return Promise.race([end, tooLong]).finally(cancel);
  }
}
