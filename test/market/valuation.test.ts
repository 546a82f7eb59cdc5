import t from 'tap';
import type { Pool } from '../../src/engine/quote.js';
import { impliedVolatility, valueOption } from '../../src/market/black-scholes.js';
import { type SpotPair, Valuations, valuePool } from '../../src/market/valuation.js';
import { POOL } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

const ONE = 10n ** 18n;
const YEAR = 365 * 86_400;
const call = { ...POOL.poolKey, strike: 2000n * ONE, isCallPool: true };
const put = { ...call, isCallPool: false };
const level = (price: bigint) => ({ price });
const at = { spot: 1800n * ONE, quoteUsd: ONE, seconds: YEAR / 4 };
const both = { bid: level(ONE / 20n), ask: level((ONE * 6n) / 100n) };

t.test('both sides give mid, spread, volatilities, Greeks and a value in dollars', async (t) => {
  const value = valuePool({ poolKey: call, best: both, ...at });
  t.equal(value.mid, String((ONE * 55n) / 1000n));
  t.equal(value.spread, String(ONE / 100n));
  t.equal(value.spot, String(1800n * ONE));
  const terms = { spot: 1800, strike: 2000, years: 0.25, isCall: true, rate: 0 };
  t.equal(value.bidVolatility, impliedVolatility(terms, 0.05 * 1800));
  t.ok((value.askVolatility ?? 0) > (value.bidVolatility ?? 0));
  const model = valueOption(terms, ((value.askVolatility ?? 0) + (value.bidVolatility ?? 0)) / 2);
  t.strictSame([value.delta, value.gamma, value.usdValue], [model.delta, model.gamma, model.price]);
  t.strictSame([value.vega, value.theta], [model.vega / 100, model.theta / 365]);
  t.ok(Math.abs(Number(value.mark) / 1e18 - model.price / 1800) < 1e-12);
});

t.test("a put's price is in strikes, and its dollars follow the quote token", async (t) => {
  const value = valuePool({ poolKey: put, best: both, ...at, quoteUsd: ONE / 2n });
  const terms = { spot: 1800, strike: 2000, years: 0.25, isCall: false, rate: 0 };
  t.equal(value.bidVolatility, null, '100 is less than the put is worth at once');
  t.equal(impliedVolatility(terms, 0.06 * 2000), null);
  const dear = valuePool({ poolKey: put, best: { bid: level(ONE / 5n), ask: null }, ...at, quoteUsd: ONE / 2n });
  t.equal(dear.bidVolatility, impliedVolatility(terms, 400));
  t.ok(Math.abs((dear.usdValue ?? 0) - 200) < 1e-6);
  t.ok((dear.delta ?? 0) < 0);
});

t.test('what is not known is null, and never 0', async (t) => {
  const unknown = {
    mark: null,
    bidVolatility: null,
    askVolatility: null,
    delta: null,
    gamma: null,
    vega: null,
    theta: null,
    usdValue: null,
  };
  const noSpot = valuePool({ poolKey: call, best: both, ...at, spot: null });
  t.strictSame(noSpot, { spot: null, mid: String((ONE * 55n) / 1000n), spread: String(ONE / 100n), ...unknown });
  const empty = valuePool({ poolKey: call, best: { bid: null, ask: null }, ...at });
  t.strictSame(empty, { spot: String(1800n * ONE), mid: null, spread: null, ...unknown });
  t.match(valuePool({ poolKey: call, best: both, ...at, seconds: 0 }), unknown, 'an option that has matured');
  const oneSide = valuePool({ poolKey: call, best: { bid: null, ask: both.ask }, ...at, quoteUsd: null });
  t.match(oneSide, { mid: null, spread: null, bidVolatility: null, usdValue: null });
  t.ok(oneSide.delta !== null && oneSide.mark !== null);
});

function valuations() {
  const clock = new ManualClock();
  const asked: (readonly SpotPair[])[] = [];
  const made = new Valuations({
    readSpots(pairs) {
      asked.push(pairs);
      return Promise.resolve(pairs.map(() => ({ type: 'PRICED', price: 1800n * ONE })));
    },
    hasOracle: ({ oracleAdapter }) => oracleAdapter === POOL.poolKey.oracleAdapter,
    dollar: POOL.poolKey.quote,
    nowSeconds: () => POOL.poolKey.maturity - YEAR,
    clock,
    limits: { spotPairs: 4, spotMaxAgeMs: 1000 },
  });
  return { clock, asked, made };
}

t.test('a pair is asked for once while its price is new enough, however many ask', async (t) => {
  const { clock, asked, made } = valuations();
  await Promise.all([made.prepare([POOL, POOL]), made.prepare([POOL])]);
  clock.advance(1000);
  await made.prepare([POOL]);
  t.equal(asked.length, 1);
  clock.advance(1);
  await made.prepare([POOL]);
  t.equal(asked.length, 2);
});

t.test('no more pairs are asked for than there may be, and none of a pool with another oracle', async (t) => {
  const { asked, made } = valuations();
  const other: Pool = { ...POOL, poolKey: { ...POOL.poolKey, oracleAdapter: `0x${'99'.repeat(20)}` } };
  const value = await made.prepare([other]);
  t.strictSame(asked, []);
  t.match(value({ pool: other, best: both }), { spot: null, delta: null });
  const many = Array.from({ length: 9 }, (_, i): Pool => {
    return { ...POOL, poolKey: { ...POOL.poolKey, base: `0x${String(i).repeat(40)}` } };
  });
  await made.prepare(many);
  t.equal(asked[0]?.length, 4);
});
