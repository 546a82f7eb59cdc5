import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';

/** The pools that the index knows, as one who waits for a pool sees them. */
export interface KnownPools {
  knows(poolAddress: Hex): boolean;
  /** Null: all that is known is durable. */
  whenDurable(): Promise<void> | null;
}

/** Lets those who deployed a pool wait until the index has it, so that what they are told next lists it. */
export class PoolArrivals {
  readonly #waiting = new Map<Hex, Set<() => void>>();

  constructor(
    private readonly pools: KnownPools,
    private readonly clock: Clock,
    private readonly patienceMs: number,
  ) {}

  /** The deployment's event is in the log. */
  arrived(poolAddress: Hex): void {
    const waiters = this.#waiting.get(poolAddress);
    this.#waiting.delete(poolAddress);
    for (const resolve of waiters ?? []) resolve();
  }

  /** True once the pool is known; false when it has not come within the patience. */
  async whenKnown(poolAddress: Hex): Promise<boolean> {
    if (!this.pools.knows(poolAddress)) await this.#wait(poolAddress);
    if (!this.pools.knows(poolAddress)) return false;
    await this.pools.whenDurable();
    return true;
  }

  async #wait(poolAddress: Hex): Promise<void> {
    const waiters = this.#waiting.get(poolAddress) ?? new Set();
    this.#waiting.set(poolAddress, waiters);
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(this.patienceMs, () => done());
      const done = (): void => {
        cancel();
        waiters.delete(done);
        if (waiters.size === 0 && this.#waiting.get(poolAddress) === waiters) this.#waiting.delete(poolAddress);
        resolve();
      };
      waiters.add(done);
    });
  }
}
