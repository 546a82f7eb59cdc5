import type { FollowedTickers, Pool } from 'quotebook/client';

export interface Best {
  readonly price: bigint;
  /** Fillable at this price. */
  readonly size: bigint;
}

/** The pools that are listed, by their symbols, with their best bids and asks. */
export class Market {
  /** Null: nothing is followed yet. */
  tickers: FollowedTickers | null = null;
  #pools: readonly Pool[] = [];
  readonly #byAddress = new Map<string, Pool>();

  get pools(): readonly Pool[] {
    return this.#pools;
  }

  /** Takes the list of pools as it is now. */
  list(pools: readonly Pool[]): void {
    this.#pools = pools;
    this.#byAddress.clear();
    for (const pool of pools) this.#byAddress.set(pool.poolAddress, pool);
  }

  pool(poolAddress: string): Pool | undefined {
    return this.#byAddress.get(poolAddress);
  }

  best({ poolAddress }: Pool, side: 'bid' | 'ask'): Best | null {
    const best = this.tickers?.of(poolAddress)?.[side];
    return best ? { price: BigInt(best.price), size: BigInt(best.size) } : null;
  }

  /** 1e-18 contracts. */
  filledIn24Hours({ poolAddress }: Pool): bigint {
    return BigInt(this.tickers?.of(poolAddress)?.filledSize24h ?? 0);
  }
}
