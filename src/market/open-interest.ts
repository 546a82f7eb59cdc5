import type { Clock, JournalRecord } from '../engine/ports.js';
import type { Hex, Pool } from '../engine/quote.js';
import { repeat } from '../system/timers.js';
import { FreshValues } from './fresh-values.js';

/** Long contracts of pools in 1e-18, in their order, of one block; null: the chain did not answer. */
export type ReadSupplies = (poolAddresses: readonly Hex[]) => Promise<readonly (bigint | null)[]>;

export interface OpenInterestOptions {
  readonly readSupplies: ReadSupplies;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly limits: {
    /** Pools that are known, and that are asked for at once. */
    readonly openInterestPools: number;
    /** A number is asked for again when it is older. */
    readonly openInterestMaxAgeMs: number;
  };
}

/**
 * How many contracts of each pool are held, as the chain says. No event tells: exercises and trades with the pool itself
 * are in none that is followed. The chain is asked on a budget: see FreshValues.
 */
export class OpenInterest {
  readonly #sizes: FreshValues<Hex, bigint>;

  constructor({ readSupplies, clock, limits }: OpenInterestOptions) {
    const { openInterestPools: most, openInterestMaxAgeMs: maxAgeMs } = limits;
    this.#sizes = new FreshValues({ nameOf: (pool) => pool, read: readSupplies, clock, most, maxAgeMs });
  }

  /** Resolves once the numbers are as new as they have to be; gives those of these pools, null where not known. */
  async prepare(pools: Iterable<Pool>): Promise<(pool: Pool) => bigint | null> {
    await this.#sizes.refresh(Array.from(pools, ({ poolAddress }) => poolAddress));
    return ({ poolAddress }) => this.#sizes.get(poolAddress);
  }

  /** Something has changed it: it is asked for again when it is needed, whatever its age. */
  changed(poolAddress: Hex): void {
    this.#sizes.outdate(poolAddress);
  }
}

export interface FollowedInterestOptions {
  readonly interest: OpenInterest;
  readonly feed: {
    /** Pools whose tickers are followed. */
    followedTickerPools(): Iterable<Pool>;
    showOpenInterest(sizes: ReadonlyMap<Hex, bigint>): void;
  };
  readonly clock: Pick<Clock, 'after'>;
  readonly limits: {
    /** Between two looks whether a number is due. */
    readonly openInterestLookMs: number;
  };
  readonly onFault: (error: unknown) => void;
}

/**
 * Shows open interest in the tickers that are followed: it is read when a reader comes, after a trade, and when it is too
 * old. While nobody follows, the chain is not asked.
 */
export class FollowedInterest {
  readonly #options: FollowedInterestOptions;
  #cancel: () => void = () => undefined;
  #isStopped = false;
  /** Some is shown. */
  #isShown = false;

  constructor(options: FollowedInterestOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, limits, onFault } = this.#options;
    this.#cancel = repeat(clock, limits.openInterestLookMs, () => this.#look(), onFault);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Takes the records of one commit. */
  onRecords(records: readonly JournalRecord[]): void {
    for (const { events } of records) {
      for (const event of events) {
        if (event.type === 'TRADE_RECORDED') this.#options.interest.changed(event.trade.pool.poolAddress);
      }
    }
  }

  async #look(): Promise<void> {
    const { interest, feed } = this.#options;
    const pools = [...feed.followedTickerPools()];
    if (pools.length === 0 && !this.#isShown) return;
    const held = await interest.prepare(pools);
    if (this.#isStopped) return;
    const sizes = new Map<Hex, bigint>();
    for (const pool of pools) {
      const size = held(pool);
      if (size !== null) sizes.set(pool.poolAddress, size);
    }
    this.#isShown = sizes.size > 0;
    feed.showOpenInterest(sizes);
  }
}
