import type { FollowedTickers, Pool, PoolKey, Rest, RfqEvent } from 'quotebook/client';
import { drawn } from './amounts.js';
import { nameOf, premiumOf, premiumText, premiumToken, priceDigits } from './option.js';

/** Stands for the dollar, as it does for the server. */
const DOLLAR = 'USDC';

/** Less than this has no digits of its own. */
const LEAST_DOLLARS = 0.0001;

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
  /** The server has listed its pools. */
  isListed = false;
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
    this.isListed = true;
    this.#byAddress.clear();
    for (const pool of pools) this.#byAddress.set(pool.poolAddress, pool);
  }

  /** Takes the server's estimates as they are now. True: the price of a token is known for the first time. */
  value(tickers: readonly ValuedTicker[]): boolean {
    const knownBefore = this.#usdRates.size;
    this.#valued.clear();
    for (const ticker of tickers) {
      this.#valued.set(ticker.poolAddress, ticker);
      const { spot } = ticker.valuation;
      const pool = this.pool(ticker.poolAddress);
      if (spot === null || pool === undefined) continue;
      const quotesPerBase = drawn(BigInt(spot));
      const rate = dollarsOfQuoteToken(pool, ticker.valuation, quotesPerBase);
      if (rate === null) continue;
      this.#usdRates.set(pool.base, rate * quotesPerBase);
      this.#usdRates.set(pool.quote, rate);
    }
    return this.#usdRates.size > knownBefore;
  }

  pool(poolAddress: string): Pool | undefined {
    return this.#byAddress.get(poolAddress);
  }

  /** Of the pool's option; of one that is not listed no more than that it is another. */
  nameOf(poolAddress: string): string {
    const pool = this.pool(poolAddress);
    return pool === undefined ? 'another pool' : nameOf(pool);
  }

  /** Address of the pool that a request names; undefined: by a key that no pool with a ticker has. */
  requestedPool(request: RfqEvent['body']): string | undefined {
    return 'poolAddress' in request ? request.poolAddress.toLowerCase() : this.#addressOf(request.poolKey);
  }

  #addressOf(poolKey: PoolKey): string | undefined {
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

  /** The newest fills of all pools, in place of those that were known; newest first. */
  trades(newest: readonly { readonly poolAddress: string; readonly price: string }[]): void {
    this.#last.clear();
    for (const { poolAddress, price } of [...newest].reverse()) this.trade(poolAddress, BigInt(price));
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

  /** A premium in 1e-18 tokens as US dollars; empty: no price of the token is known. */
  usdText(pool: Pool, premium: bigint): string {
    return this.usdOfToken(premiumToken(pool), premium);
  }

  /** US dollars per contract of a price of the wire; empty: not known. */
  usdOfPrice(pool: Pool, price: bigint, side: 'bid' | 'ask'): string {
    return this.usdText(pool, premiumOf(pool, price, side));
  }

  /** An amount in 1e-18 of the token with this symbol as US dollars; empty: no price of it is known. */
  usdOfToken(symbol: string, amount: bigint): string {
    const rate = this.#usdRates.get(symbol);
    return rate === undefined ? '' : dollars(drawn(amount) * rate);
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

  /** Premium per contract of a price of the wire, rounded against the taker, with the decimals of the pool. */
  priceText(pool: Pool, price: bigint, side: 'bid' | 'ask'): string {
    return premiumText(pool, price, side, this.digits(pool, price));
  }

  /** 1e-18 contracts. */
  filledIn24Hours({ poolAddress }: Pool): bigint {
    return BigInt(this.tickers?.of(poolAddress)?.filledSize24h ?? 0);
  }
}

/** Null: not known. The server says it of other tokens by the value of an option that has a mark. */
function dollarsOfQuoteToken(
  pool: Pool,
  { mark, usdValue }: ValuedTicker['valuation'],
  quotesPerBase: number,
): number | null {
  if (pool.quote === DOLLAR) return 1;
  if (mark === null || usdValue === null || BigInt(mark) === 0n) return null;
  const rate = usdValue / drawn(premiumOf(pool, BigInt(mark), 'ask'));
  return pool.type === 'P' ? rate : rate / quotesPerBase;
}

/** With cents below 1,000 dollars, and with enough digits below one. An amount that is there never looks like nothing. */
function dollars(amount: number): string {
  if (amount > 0 && amount < LEAST_DOLLARS) return `<$${LEAST_DOLLARS}`;
  const digits = amount === 0 || Math.abs(amount) >= 1000 ? 0 : Math.abs(amount) >= 1 ? 2 : 4;
  return `$${amount.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? '\u202f' : '')}`;
}

/** Addresses in any letter case are the same key. */
function keyText({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): string {
  return [base, quote, oracleAdapter, strike, maturity, isCallPool].join().toLowerCase();
}
