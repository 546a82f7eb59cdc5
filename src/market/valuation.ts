import type { Clock } from '../engine/ports.js';
import type { Hex, Pool, PoolKey } from '../engine/quote.js';
import type { ValuationJson } from '../wire/valuation.js';
import { impliedVolatility, valueOption } from './black-scholes.js';
import { FreshValues } from './fresh-values.js';

/** The best price of each side, normalised, in 1e-18. */
export interface BestPrices {
  readonly bid: { readonly price: bigint } | null;
  readonly ask: { readonly price: bigint } | null;
}

export interface ValuedPool {
  readonly pool: Pool;
  readonly best: BestPrices;
}

export interface SpotPair {
  readonly base: Hex;
  readonly quote: Hex;
}

/** Prices of pairs in 1e-18, in their order, of one block. */
export type ReadSpots = (
  pairs: readonly SpotPair[],
) => Promise<readonly ({ readonly type: 'PRICED'; readonly price: bigint } | { readonly type: string })[]>;

export interface ValuationOptions {
  readonly readSpots: ReadSpots;
  /** Whether the deployment's oracle adapter prices the pool; any other's prices may be anything. */
  readonly hasOracle: (poolKey: PoolKey) => boolean;
  /** The token whose price is a dollar; null: the chain has none. */
  readonly dollar: Hex | null;
  readonly nowSeconds: () => number;
  readonly clock: Clock;
  readonly limits: {
    /** Pairs whose price is known, and that are asked for at once. */
    readonly spotPairs: number;
    /** A price is asked for again when it is older. */
    readonly spotMaxAgeMs: number;
  };
}

const YEAR_SECONDS = 365 * 86_400;
const DAYS_PER_YEAR = 365;
const ONE = 1e18;

/**
 * Values pools by the spot price that the oracle says: what the book's prices mean in volatility, and how they move.
 *
 * A valuation is served beside the numbered feed and never in it. It depends on when this process asked the oracle, so
 * two gateways may have different ones, while the bytes of the feed must be the same for every reader.
 *
 * The chain is asked on a budget: see FreshValues.
 */
export class Valuations {
  readonly #options: ValuationOptions;
  readonly #prices: FreshValues<SpotPair, bigint>;

  constructor(options: ValuationOptions) {
    this.#options = options;
    const { readSpots, clock, limits } = options;
    this.#prices = new FreshValues({
      nameOf,
      read: async (pairs) => (await readSpots(pairs)).map((spot) => ('price' in spot ? spot.price : null)),
      clock,
      most: limits.spotPairs,
      maxAgeMs: limits.spotMaxAgeMs,
    });
  }

  /** Resolves once prices are as new as they have to be; values any of these pools. */
  async prepare(pools: Iterable<Pool>): Promise<(valued: ValuedPool) => ValuationJson> {
    const priced = Array.from(pools, ({ poolKey }) => poolKey).filter((poolKey) => this.#options.hasOracle(poolKey));
    await this.#prices.refresh(priced.flatMap((poolKey) => this.#pairsOf(poolKey)));
    return (valued) => this.#value(valued);
  }

  #pairsOf({ base, quote }: PoolKey): SpotPair[] {
    const { dollar } = this.#options;
    return [{ base, quote }, ...(dollar === null ? [] : [{ base: quote, quote: dollar }])];
  }

  #value({ pool, best }: ValuedPool): ValuationJson {
    const { hasOracle, dollar, nowSeconds } = this.#options;
    const { poolKey } = pool;
    const isPriced = hasOracle(poolKey);
    const spot = isPriced ? this.#prices.get(poolKey) : null;
    const quoteUsd = isPriced && dollar !== null ? this.#prices.get({ base: poolKey.quote, quote: dollar }) : null;
    return valuePool({ poolKey, best, spot, quoteUsd, seconds: poolKey.maturity - nowSeconds() });
  }
}

function nameOf({ base, quote }: SpotPair): string {
  return `${base.toLowerCase()}-${quote.toLowerCase()}`;
}

export interface ValuationInput {
  readonly poolKey: PoolKey;
  readonly best: BestPrices;
  /** Quote tokens per base token in 1e-18; null: not known. */
  readonly spot: bigint | null;
  /** Dollars per quote token in 1e-18; null: not known. */
  readonly quoteUsd: bigint | null;
  /** Until the option matures. */
  readonly seconds: number;
}

/** Unknown values are null, and never 0. */
export function valuePool({ poolKey, best, spot, quoteUsd, seconds }: ValuationInput): ValuationJson {
  const { bid, ask } = best;
  const sides = {
    spot: spot?.toString() ?? null,
    mid: bid === null || ask === null ? null : ((bid.price + ask.price) / 2n).toString(),
    spread: bid === null || ask === null ? null : (ask.price - bid.price).toString(),
  };
  if (spot === null || seconds <= 0) return { ...sides, ...UNKNOWN };
  const [spotPrice, strike] = [Number(spot) / ONE, Number(poolKey.strike) / ONE];
  const terms = { spot: spotPrice, strike, years: seconds / YEAR_SECONDS, isCall: poolKey.isCallPool, rate: 0 };
  // A call's price is in base tokens, a put's in strikes.
  const unit = poolKey.isCallPool ? spotPrice : strike;
  const volatilityOf = (level: BestPrices['bid']): number | null =>
    level && impliedVolatility(terms, (Number(level.price) / ONE) * unit);
  const [bidVolatility, askVolatility] = [volatilityOf(bid), volatilityOf(ask)];
  const known = [bidVolatility, askVolatility].filter((volatility) => volatility !== null);
  const volatilities = { bidVolatility: finite(bidVolatility), askVolatility: finite(askVolatility) };
  if (known.length === 0) return { ...sides, ...UNKNOWN, ...volatilities };
  const { price, delta, gamma, vega, theta } = valueOption(
    terms,
    known.reduce((sum, volatility) => sum + volatility, 0) / known.length,
  );
  const mark = Math.round((price / unit) * ONE);
  return {
    ...sides,
    mark: Number.isFinite(mark) ? BigInt(mark).toString() : null,
    ...volatilities,
    delta: finite(delta),
    gamma: finite(gamma),
    vega: finite(vega / 100),
    theta: finite(theta / DAYS_PER_YEAR),
    usdValue: quoteUsd === null ? null : finite((price * Number(quoteUsd)) / ONE),
  };
}

const UNKNOWN = {
  mark: null,
  bidVolatility: null,
  askVolatility: null,
  delta: null,
  gamma: null,
  vega: null,
  theta: null,
  usdValue: null,
} as const;

/** JSON has no other numbers. */
function finite(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null;
}
