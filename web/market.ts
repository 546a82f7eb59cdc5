import type { FollowedTickers, Pool, PoolKey, Rest } from 'quotebook/client';
import { drawn } from './amounts.js';
import { premiumOf, premiumToken, priceDigits } from './option.js';

interface Best {
  readonly price: bigint;
  /** Fillable at this price. */
  readonly size: bigint;
}

/** A pool's best prices with what the server estimates of its option. */
export type ValuedTicker = Awaited<ReturnType<Rest['valuedTickers']>>['tickers'][number];

/** The pools that are listed, by their symbols, with their best bids and asks. */
export class Market {
  /** Null: nothing is followed yet. */
  tickers: FollowedTickers | null = null;
  #pools: readonly Pool[] = [];
  readonly #byAddress = new Map<string, Pool>();
  readonly #last = new Map<string, bigint>();
  readonly #valued = new Map<string, ValuedTicker>();
  /** US dollars by the symbol of the token. */
  readonly #usdRates = new Map<string, number>();

  get pools(): readonly Pool[] {
    return this.#pools;
  }

  /** Takes the list of pools as it is now. */
  list(pools: readonly Pool[]): void {
    this.#pools = pools;
    this.#byAddress.clear();
    for (const pool of pools) this.#byAddress.set(pool.poolAddress, pool);
  }

  /** Takes the server's estimates as they are now. */
  value(tickers: readonly ValuedTicker[]): void {
    this.#valued.clear();
    for (const ticker of tickers) {
      this.#valued.set(ticker.poolAddress, ticker);
      const { mark, usdValue } = ticker.valuation;
      const pool = this.pool(ticker.poolAddress);
      if (mark === null || usdValue === null || pool === undefined || BigInt(mark) === 0n) continue;
      this.#usdRates.set(premiumToken(pool), usdValue / drawn(premiumOf(pool, BigInt(mark), 'bid')));
    }
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

  /** The price of the last fill, as on the wire; null: none is known. */
  last({ poolAddress }: Pool): bigint | null {
    return this.#last.get(poolAddress) ?? null;
  }

  /** A fill at this price. */
  trade(poolAddress: string, price: bigint): void {
    this.#last.set(poolAddress, price);
  }

  /** 1e-18 quote tokens for a base token; null: not known. */
  spot(pool: Pool): bigint | null {
    const spot = this.estimate(pool)?.spot ?? null;
    return spot === null ? null : BigInt(spot);
  }

  estimate({ poolAddress }: Pool): ValuedTicker['valuation'] | null {
    return this.#valued.get(poolAddress)?.valuation ?? null;
  }

  /** The estimate of the server, as on the wire, or null. */
  mark(pool: Pool): bigint | null {
    const mark = this.estimate(pool)?.mark ?? null;
    return mark === null ? null : BigInt(mark);
  }

  /** A premium in 1e-18 tokens per contract as US dollars; empty: no price of the token is known. */
  usdText(pool: Pool, premium: bigint): string {
    const rate = this.#usdRates.get(premiumToken(pool));
    return rate === undefined ? '' : dollars(drawn(premium) * rate);
  }

  poolKey({ poolAddress }: Pool): PoolKey | undefined {
    return this.tickers?.of(poolAddress)?.poolKey;
  }

  /** Symbol of a token that some pool is of; else its address. */
  symbolOf(token: string): string {
    const wanted = token.toLowerCase();
    for (const pool of this.#pools) {
      const key = this.poolKey(pool);
      if (key?.base.toLowerCase() === wanted) return pool.base;
      if (key?.quote.toLowerCase() === wanted) return pool.quote;
    }
    return token;
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

/** With cents below 1,000 dollars, and with enough digits below one. */
export function dollars(amount: number): string {
  const digits = amount === 0 || Math.abs(amount) >= 1000 ? 0 : Math.abs(amount) >= 1 ? 2 : 4;
  return `$${amount.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? '\u202f' : '')}`;
}

/** Addresses in any letter case are the same key. */
function keyText({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): string {
  return [base, quote, oracleAdapter, strike, maturity, isCallPool].join().toLowerCase();
}
