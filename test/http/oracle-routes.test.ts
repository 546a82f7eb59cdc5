import t from 'tap';
import { type OracleQueries, oracleRoutes } from '../../src/http/oracle-routes.js';
import { ask, requestOf } from './ask-route.js';

const ONE = 10n ** 18n;
/** A Tuesday, noon UTC. */
const NOW = Date.UTC(2026, 10, 24, 12) / 1000;
const DAY = 86_400;

/** Prices by symbol, and volatilities that rise with the strike. */
function oraclesWith(prices: Readonly<Record<string, bigint>>): OracleQueries & { asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    dollarPrices(symbols) {
      asked.push(symbols);
      return Promise.resolve(
        symbols.map((symbol) => {
          const price = prices[symbol];
          if (price === undefined) return { type: 'UNSUPPORTED' as const };
          return price === 0n ? { type: 'FAILED' as const } : { type: 'PRICED' as const, price };
        }),
      );
    },
    volatilities(symbol, spot, strikes, seconds) {
      asked.push([symbol, spot, strikes.length, seconds]);
      const volatilities = strikes.map((_, i) => ONE / 2n + (BigInt(i) * ONE) / 200n);
      return Promise.resolve({ type: 'GIVEN', volatilities });
    },
  };
}

function serve(oracles: OracleQueries, nowSeconds: () => number | null = () => NOW) {
  const routes = oracleRoutes({
    oracles,
    symbols: ['WETH', 'WSTETH', 'USDC', 'DAI'],
    vaultBases: new Map([
      ['WETH', 'WETH'],
      ['wstETH', 'WSTETH'],
    ]),
    nowSeconds,
    limits: { queryPairs: 10, schemaErrors: 20 },
  });
  return async (target: string): Promise<[number, unknown]> => {
    const { status, text } = await ask(routes, requestOf('GET', target));
    return [status, JSON.parse(text)];
  };
}

t.test('strikes are written as exact numbers, for a price or for a market', async (t) => {
  const get = serve(oraclesWith({ WETH: ONE / 2n }));
  const [status, byPrice] = await get('/pools/strikes?spotPrice=0.5');
  t.equal(status, 200);
  t.strictSame((byPrice as number[]).slice(-2), [0.99, 1]);
  t.strictSame(await get('/pools/strikes?market=WETH'), [200, byPrice]);
});

t.test('a spot price that is not a price is refused, and repeated', async (t) => {
  const get = serve(oraclesWith({}));
  for (const [spotPrice, message] of [
    ['12abc', 'spotPrice must be a number'],
    ['', 'spotPrice must be a number'],
    ['-1', 'spotPrice must be a number'],
    ['1e400', 'spotPrice must be a number'],
    ['0', 'spotPrice must be > 0'],
    ['0.000', 'spotPrice must be > 0'],
    ['1.0000000000000000001', 'spotPrice must NOT have more than 18 decimals'],
    [`1${'0'.repeat(60)}`, 'spotPrice must be less than 2^256 / 10^18'],
  ] as const) {
    t.strictSame(await get(`/pools/strikes?spotPrice=${spotPrice}`), [400, { message, spotPrice }], spotPrice);
  }
});

t.test('neither or both of market and spot price break each alternative of the schema', async (t) => {
  const get = serve(oraclesWith({ WETH: ONE }));
  const wrong = async (query: string): Promise<unknown[]> => {
    const [status, body] = await get(`/pools/strikes?${query}`);
    t.equal(status, 400);
    return (body as { message: string }[]).map(({ message }) => message);
  };
  const last = 'must match exactly one schema in oneOf';
  t.strictSame(await wrong(''), [
    "must have required property 'market'",
    "must have required property 'spotPrice'",
    last,
  ]);
  const extra = 'must NOT have additional properties';
  t.strictSame(await wrong('market=WETH&spotPrice=1'), [extra, extra, last]);
  const pattern = 'must match pattern "^WETH$|^WSTETH$|^USDC$|^DAI$"';
  t.strictSame(await wrong('market=NONE'), [pattern, "must have required property 'spotPrice'", last]);
});

t.test('without a price from the oracle the client is asked for one', async (t) => {
  const message = 'Failed to get spot price from oracle, try again or provide spot price';
  const get = serve(oraclesWith({ WETH: 0n }));
  t.strictSame(await get('/pools/strikes?market=WETH'), [500, { message }]);
  t.strictSame(await get('/pools/strikes?market=DAI'), [500, { message }]);
  t.strictSame(await get('/oracles/iv?market=WETH&expiration=27NOV26'), [500, { message }]);
});

t.test('maturities are those of the chain, which must have been read', async (t) => {
  const [status, listed] = await serve(oraclesWith({}))('/pools/maturities');
  t.equal(status, 200);
  t.strictSame((listed as string[]).slice(0, 2), ['25NOV26', '26NOV26']);
  t.match(await serve(oraclesWith({}))('/pools/maturities?x=1'), [400, [{ keyword: 'additionalProperties' }]]);
  const unread = serve(oraclesWith({}), () => null);
  t.strictSame(await unread('/pools/maturities'), [503, { message: 'The chain does not answer' }]);
  t.strictSame(await unread('/oracles/iv?market=WETH&expiration=27NOV26'), [
    503,
    { message: 'The chain does not answer' },
  ]);
});

t.test(
  'spot prices come in the order of the request, rounded to six decimals; each market is asked for once',
  async (t) => {
    const oracles = oraclesWith({ WETH: 1_800_123_456_550_000_000_000n, USDC: ONE });
    const get = serve(oracles);
    t.strictSame(await get('/oracles/spot?markets[]=USDC&markets%5B%5D=WETH&markets=USDC'), [
      200,
      [
        { market: 'USDC', price: 1 },
        { market: 'WETH', price: 1800.123457 },
        { market: 'USDC', price: 1 },
      ],
    ]);
    t.strictSame(oracles.asked, [['USDC', 'WETH']]);
    t.strictSame(await get('/oracles/spot?markets=WETH'), [200, [{ market: 'WETH', price: 1800.123457 }]], 'one alone');
  },
);

t.test('a market without a price is named, a failure is not', async (t) => {
  const get = serve(oraclesWith({ WETH: 0n, USDC: ONE }));
  t.strictSame(await get('/oracles/spot?markets=USDC&markets=DAI'), [
    500,
    { message: 'Failed to get spot prices from oracle: it has no price of DAI' },
  ]);
  t.strictSame(await get('/oracles/spot?markets=USDC&markets=WETH'), [
    500,
    { message: 'Failed to get spot prices from oracle' },
  ]);
  t.match(await get('/oracles/spot'), [400, [{ message: "must have required property 'markets'" }]]);
  t.match(await get('/oracles/spot?markets=NONE'), [400, [{ keyword: 'pattern', instancePath: '/markets/0' }]]);
  t.match(await get('/oracles/spot?markets=WETH&x=1'), [400, [{ keyword: 'additionalProperties' }]]);
});

t.test('volatilities are those of the strikes around the price, rounded to two decimals', async (t) => {
  const oracles = oraclesWith({ WETH: 1800n * ONE, WSTETH: 2n * ONE });
  const get = serve(oracles);
  const [status, body] = await get('/oracles/iv?market=WETH&expiration=27nov26');
  t.equal(status, 200);
  const items = body as { strike: number; iv: number }[];
  t.strictSame(items.slice(0, 3), [
    { strike: 900, iv: 0.5 },
    { strike: 910, iv: 0.51 },
    { strike: 920, iv: 0.51 },
  ]);
  t.equal(items.at(-1)?.strike, 3600);
  t.strictSame(oracles.asked, [['WETH'], ['WETH', 1800n * ONE, items.length, 3 * DAY - 4 * 3600]]);
  t.match(await get('/oracles/iv?market=wstETH&expiration=27NOV26'), [200, [{ strike: 1 }]], "a vault's spelling");
  t.match(await get('/oracles/iv?market=WSTETH&expiration=27NOV26'), [200, [{ strike: 1 }]], "the token's own");
  t.match(await get('/oracles/iv?market=WETH&expiration=27NOV26&spotPrice=1'), [200, [{ strike: 0.5 }]]);
});

t.test('volatilities are refused for a market without a vault, a bad date and a bad price', async (t) => {
  const get = serve(oraclesWith({ WETH: ONE }));
  t.match(await get('/oracles/iv?market=DAI&expiration=27NOV26'), [
    400,
    [{ message: 'must match pattern "^WETH$|^wstETH$"' }],
  ]);
  for (const [expiration, message] of [
    ['31FEB27', 'Invalid expiration date: 31FEB27'],
    ['23NOV26', 'Invalid expiration date: 23NOV26 is in the past'],
    ['01DEC26', '2026-12-01T00:00:00.000Z is not Friday!'],
    ['24DEC27', 'Invalid expiration date: 24DEC27 is more then in 1 year'],
  ] as const) {
    t.strictSame(await get(`/oracles/iv?market=WETH&expiration=${expiration}`), [400, { message, expiration }]);
  }
  t.strictSame(await get('/oracles/iv?market=WETH&expiration=27NOV26&spotPrice=0'), [
    400,
    { message: 'spotPrice must be > 0', spotPrice: '0' },
  ]);
});

t.test('no volatilities and no oracle have a status of their own', async (t) => {
  for (const [type, status, message] of [
    ['FAILED', 500, "Failed to get IV's from oracle"],
    ['NO_ORACLE', 501, 'No volatility oracle is configured: the profile has no contracts.volatilityOracle'],
  ] as const) {
    const get = serve({ ...oraclesWith({ WETH: ONE }), volatilities: () => Promise.resolve({ type }) });
    t.strictSame(await get('/oracles/iv?market=WETH&expiration=27NOV26'), [status, { message }]);
  }
});
