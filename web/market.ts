import type { FollowedTickers, Pool, PoolKey } from 'quotebook/client';
import { priceDigits } from './option.js';

interface Best {
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

  /** Of whichever pool has this key; undefined: none that has a ticker. */
  addressOf(poolKey: PoolKey): string | undefined {
    const wanted = keyText(poolKey);
    for (const ticker of this.tickers?.all() ?? []) if (keyText(ticker.poolKey) === wanted) return ticker.poolAddress;
    return undefined;
  }

  best({ poolAddress }: Pool, side: 'bid' | 'ask'): Best | null {
    const best = this.tickers?.of(poolAddress)?.[side];
    return best ? { price: BigInt(best.price), size: BigInt(best.size) } : null;
  }

  /** Decimals of the pool's prices. Where it has none just now, those of `price`. */
  digits(pool: Pool, price?: bigint): number {
    const [bid, ask] = [this.best(pool, 'bid')?.price, this.best(pool, 'ask')?.price];
    return priceDigits(pool, bid === undefined && ask === undefined ? [price] : [bid, ask]);
  }

  /** 1e-18 contracts. */
  filledIn24Hours({ poolAddress }: Pool): bigint {
    return BigInt(this.tickers?.of(poolAddress)?.filledSize24h ?? 0);
  }
}

/** Addresses in any letter case are the same key. */
function keyText({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): string {
  return [base, quote, oracleAdapter, strike, maturity, isCallPool].join().toLowerCase();
}
