import fc from 'fast-check';
import t, { type Test } from 'tap';
import { cumulativeNormal, impliedVolatility, type ModelTerms, valueOption } from '../../src/market/black-scholes.js';

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
t.comment(`seed ${seed}`);

function isNear(t: Test, found: number | null, expected: number, within: number, what: string): void {
  t.ok(found !== null && Math.abs(found - expected) <= within, `${what}: ${String(found)}, expected ${expected}`);
}

t.test('the normal distribution is that of its tables', async (t) => {
  for (const [x, expected] of [
    [0, 0.5],
    [1, 0.841344746068543],
    [-1, 0.158655253931457],
    [1.96, 0.97500210485178],
    [3, 0.99865010196837],
    [-8, 6.22096057427178e-16],
  ] as const) {
    isNear(t, cumulativeNormal(x), expected, 1e-12, `N(${x})`);
  }
  t.strictSame([cumulativeNormal(40), cumulativeNormal(-40)], [1, 0]);
});

/** Hull, "Options, Futures, and Other Derivatives", example 15.6: stock 42, strike 40, 10 %, volatility 20 %, half a year. */
const HULL_15_6 = { spot: 42, strike: 40, years: 0.5, rate: 0.1 } as const;
/** The same book, the examples of chapter 19: stock 49, strike 50, 5 %, volatility 20 %, 20 weeks. */
const HULL_19 = { spot: 49, strike: 50, years: 0.3846, rate: 0.05, isCall: true } as const;

t.test('prices are those of the published example', async (t) => {
  isNear(t, valueOption({ ...HULL_15_6, isCall: true }, 0.2).price, 4.76, 0.005, 'call');
  isNear(t, valueOption({ ...HULL_15_6, isCall: false }, 0.2).price, 0.81, 0.005, 'put');
});

t.test('the Greeks are those of the published examples', async (t) => {
  const { price, delta, gamma, vega, theta } = valueOption(HULL_19, 0.2);
  isNear(t, price, 2.4, 0.005, 'price');
  isNear(t, delta, 0.522, 0.0005, 'delta');
  isNear(t, gamma, 0.066, 0.0005, 'gamma');
  isNear(t, vega, 12.1, 0.05, 'vega');
  isNear(t, theta, -4.31, 0.005, 'theta');
});

t.test('a published implied volatility is found', async (t) => {
  // Hull, chapter 15: a call at 1.875, stock 21, strike 20, 10 %, a quarter of a year.
  const terms = { spot: 21, strike: 20, years: 0.25, rate: 0.1, isCall: true };
  isNear(t, impliedVolatility(terms, 1.875), 0.235, 0.001, 'implied volatility');
});

const anyTerms: fc.Arbitrary<ModelTerms> = fc.record({
  spot: fc.double({ min: 0.5, max: 2, noNaN: true }),
  strike: fc.double({ min: 0.5, max: 2, noNaN: true }),
  years: fc.double({ min: 0.01, max: 1, noNaN: true }),
  isCall: fc.boolean(),
  rate: fc.constantFrom(0, 0.05),
});

t.test('call and put keep their parity, and the Greeks are the slopes of the price', async (t) => {
  fc.assert(
    fc.property(anyTerms, fc.double({ min: 0.2, max: 2, noNaN: true }), (terms, volatility) => {
      const { spot, strike, years, rate } = terms;
      const [call, put] = [true, false].map((isCall) => valueOption({ ...terms, isCall }, volatility));
      if (call === undefined || put === undefined) return false;
      const parity = call.price - put.price - (spot - strike * Math.exp(-rate * years));
      const step = 1e-5;
      const { price, delta, vega } = valueOption(terms, volatility);
      const slope = (valueOption({ ...terms, spot: spot + step }, volatility).price - price) / step;
      const bySize = (valueOption(terms, volatility + step).price - price) / step;
      return Math.abs(parity) < 1e-9 && Math.abs(slope - delta) < 1e-3 && Math.abs(bySize - vega) < 1e-3;
    }),
    { seed },
  );
  t.pass('every time');
});

t.test('a volatility is found again from its price', async (t) => {
  fc.assert(
    fc.property(anyTerms, fc.double({ min: 0.2, max: 2, noNaN: true }), (terms, volatility) => {
      const { price, vega } = valueOption(terms, volatility);
      // Where the price hardly depends on the volatility, it does not determine one.
      if (vega < 1e-4) return true;
      const found = impliedVolatility(terms, price);
      return found !== null && Math.abs(found - volatility) < 1e-6;
    }),
    { seed },
  );
  t.pass('every time');
});

t.test('a price that no volatility gives has none', async (t) => {
  const call = { spot: 10, strike: 5, years: 0.5, rate: 0, isCall: true };
  t.equal(impliedVolatility(call, 4.9), null, 'below the intrinsic value');
  t.equal(impliedVolatility(call, 10), null, 'as much as the token itself');
  t.equal(impliedVolatility(call, 0), null);
});
