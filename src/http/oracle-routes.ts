import { expirationRefusal, listMaturities, parseExpiration } from '../wire/expiration.js';
import { ivQuery, listStrikes, spotQuery, strikesCheck } from '../wire/oracles.js';
import type { OraclePrice, VolatilityAnswer } from '../wire/answers.js';
import { formatDecimal, parseDecimal } from '../wire/primitives.js';
import { NoQuery } from '../wire/options.js';
import { compile } from '../wire/validation.js';
import { withQuery } from './checked-input.js';
import { BAD_EXPIRATION, chainUnreachable, json, refuse } from './responses.js';
import type { Route } from './router.js';

/** The protocol's oracles, by the tokens' symbols. */
export interface OracleQueries {
  /** US dollars per token, in the order of `symbols`. */
  dollarPrices(symbols: readonly string[]): Promise<readonly OraclePrice[]>;
  /** Volatilities a year in 1e-18, in the order of `strikes`; `seconds`: until the options mature. */
  volatilities(symbol: string, spot: bigint, strikes: readonly bigint[], seconds: number): Promise<VolatilityAnswer>;
}

export interface OracleRouteParts {
  readonly oracles: OracleQueries;
  /** Tokens of the chain. */
  readonly symbols: readonly string[];
  /** Names of the base tokens that have a vault, and the symbol of each. */
  readonly vaultBases: ReadonlyMap<string, string>;
  /** Engine time, Unix seconds; null: the chain has not been read yet. */
  readonly nowSeconds: () => number | null;
  readonly limits: { readonly queryPairs: number; readonly schemaErrors: number };
}

const BAD_SPOT = { code: 'invalid_parameter', param: 'spotPrice' } as const;
const NO_SPOT = 'Failed to get spot price from oracle, try again or provide spot price';
const NO_SPOTS = 'Failed to get spot prices from oracle';

/** GET /pools/strikes, /pools/maturities, /oracles/spot and /oracles/iv. None of them needs a wallet. */
export function oracleRoutes({ oracles, symbols, vaultBases, nowSeconds, limits }: OracleRouteParts): Route[] {
  const strikes = withQuery(strikesCheck(symbols), { limits }, async (request, _, query) => {
    const spot = 'market' in query ? await spotOf(query.market) : readSpot(query.spotPrice);
    if (typeof spot === 'string') return refuse(request, BAD_SPOT, { message: spot, ...query });
    if (spot === null) return refuse(request, 'oracle_failed', NO_SPOT);
    const list = listStrikes(spot);
    return json(`[${list.map((strike) => formatDecimal(strike, 18)).join(',')}]`);
  });

  const maturities = withQuery(NoQuery, { limits }, (request) => {
    const now = nowSeconds();
    return now === null ? chainUnreachable(request) : json(JSON.stringify(listMaturities(now)));
  });

  const spotPrices = withQuery(spotQuery(symbols), { lists: ['markets'], limits }, async (request, _, { markets }) => {
    const asked = [...new Set(markets)];
    const found = await oracles.dollarPrices(asked);
    const prices = new Map(asked.map((market, i) => [market, found[i]]));
    const unsupported = asked.filter((market) => prices.get(market)?.type === 'UNSUPPORTED');
    if (unsupported.length > 0) {
      const message = `Failed to get spot prices from oracle: it has no price of ${unsupported.join(', ')}`;
      return refuse(request, 'oracle_failed', message);
    }
    const items = markets.map((market) => {
      const price = prices.get(market);
      return price?.type === 'PRICED'
        ? `{"market":${JSON.stringify(market)},"price":${rounded(price.price, 6)}}`
        : null;
    });
    return items.includes(null) ? refuse(request, 'oracle_failed', NO_SPOTS) : json(`[${items.join(',')}]`);
  });

  const bases = [...vaultBases.keys()];
  const byName = compile(ivQuery(bases), limits.schemaErrors);
  const byEither = compile(ivQuery([...bases, ...vaultBases.values()]), limits.schemaErrors);
  /** Takes a token's symbol, too, and refuses in the words of the container, which knows the vaults' names alone. */
  const ivCheck: typeof byName = (value) => {
    const read = byEither(value);
    return read.ok ? read : byName(value);
  };
  const volatilities = withQuery(ivCheck, { limits }, async (request, _, query) => {
    const { market, expiration, spotPrice } = query;
    const now = nowSeconds();
    if (now === null) return chainUnreachable(request);
    const maturity = parseExpiration(expiration);
    const refusal = expirationRefusal(expiration, now);
    if (maturity === null || refusal !== null) {
      const message = refusal ?? `Invalid expiration date: ${expiration}`;
      return refuse(request, BAD_EXPIRATION, { message, expiration });
    }
    const symbol = vaultBases.get(market) ?? market;
    const spot = spotPrice === undefined ? await spotOf(symbol) : readSpot(spotPrice);
    if (typeof spot === 'string') return refuse(request, BAD_SPOT, { message: spot, spotPrice: spotPrice ?? '' });
    if (spot === null) return refuse(request, 'oracle_failed', NO_SPOT);
    const list = listStrikes(spot);
    const answer = await oracles.volatilities(symbol, spot, list, maturity - now);
    switch (answer.type) {
      case 'GIVEN': {
        const items = answer.volatilities.map(
          (iv, i) => `{"strike":${formatDecimal(list[i] ?? 0n, 18)},"iv":${rounded(iv, 2)}}`,
        );
        return json(`[${items.join(',')}]`);
      }
      case 'FAILED':
        return refuse(request, 'oracle_failed', "Failed to get IV's from oracle");
      case 'NO_ORACLE':
        return refuse(
          request,
          'no_volatility_oracle',
          'No volatility oracle is configured: the profile has no contracts.volatilityOracle',
        );
    }
  });

  /** Null: the oracle gave none. */
  async function spotOf(symbol: string): Promise<bigint | null> {
    const [price] = await oracles.dollarPrices([symbol]);
    return price?.type === 'PRICED' ? price.price : null;
  }

  return [
    { method: 'GET', path: '/pools/strikes', needsKey: true, handle: strikes },
    { method: 'GET', path: '/pools/maturities', needsKey: true, handle: maturities },
    { method: 'GET', path: '/oracles/spot', needsKey: true, handle: spotPrices },
    { method: 'GET', path: '/oracles/iv', needsKey: true, handle: volatilities },
  ];
}

/** In 1e-18, or what is wrong with the text. */
function readSpot(text: string): bigint | string {
  const spot = /^[0-9]+([.][0-9]*)?$/.test(text) ? parseDecimal(text, 18) : 'NOT_A_NUMBER';
  if (spot === 'NOT_A_NUMBER') return 'spotPrice must be a number';
  if (spot === 'TOO_PRECISE') return 'spotPrice must NOT have more than 18 decimals';
  if (spot === 'TOO_LARGE') return 'spotPrice must be less than 2^256 / 10^18';
  return spot === 0n ? 'spotPrice must be > 0' : spot;
}

/** Half a unit of the last decimal is rounded up. `value`: in 1e-18. */
function rounded(value: bigint, decimals: number): string {
  const unit = 10n ** BigInt(18 - decimals);
  return formatDecimal((value + unit / 2n) / unit, decimals);
}
