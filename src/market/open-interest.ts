import type { Clock } from '../engine/ports.js';
import type { Hex, Pool } from '../engine/quote.js';
import { LruMap } from '../system/lru-map.js';

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

interface KnownSupply {
  readonly size: bigint | null;
  readonly atMs: number;
}

/**
 * How many contracts of each pool are held, as the chain says. The feed cannot know: exercises and trades with the pool
 * itself are in no event that is followed.
 *
 * The chain is asked on a budget, as for valuations: each pool at most once in `openInterestMaxAgeMs`, all that are due
 * in one batch, and at most one batch at a time.
 */
export class OpenInterest {
  readonly #options: OpenInterestOptions;
  readonly #known: LruMap<Hex, KnownSupply>;
  #reading: Promise<void> | null = null;

  constructor(options: OpenInterestOptions) {
    this.#options = options;
    this.#known = new LruMap(options.limits.openInterestPools);
  }

  /** Resolves once the numbers are as new as they have to be; gives those of these pools, null where not known. */
  async prepare(pools: Iterable<Pool>): Promise<(pool: Pool) => bigint | null> {
    const { clock, limits } = this.#options;
    const wanted = new Set<Hex>();
    for (const { poolAddress } of pools) if (wanted.size < limits.openInterestPools) wanted.add(poolAddress);
    while (this.#reading !== null) await this.#reading;
    const oldestMs = clock.monotonicMs() - limits.openInterestMaxAgeMs;
    const due = [...wanted].filter((poolAddress) => (this.#known.get(poolAddress)?.atMs ?? -Infinity) < oldestMs);
    if (due.length > 0) {
      this.#reading = this.#read(due).finally(() => (this.#reading = null));
      await this.#reading;
    }
    return ({ poolAddress }) => this.#known.get(poolAddress)?.size ?? null;
  }

  async #read(poolAddresses: readonly Hex[]): Promise<void> {
    const sizes = await this.#options.readSupplies(poolAddresses);
    const atMs = this.#options.clock.monotonicMs();
    for (const [i, poolAddress] of poolAddresses.entries()) {
      this.#known.set(poolAddress, { size: sizes[i] ?? null, atMs });
    }
  }
}
