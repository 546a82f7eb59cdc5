import t from 'tap';
import { planFill, type TakerState } from '../../../src/client/trading/fill-plan.js';
import type { OrderbookQuote } from '../../../src/wire/orderbook.js';
import { MAKER, ONE, quoteOf, TAKER } from './traded-quotes.js';

const USDC_DECIMALS = 6;
const state: TakerState = {
  taker: TAKER,
  longs: 0n,
  shorts: 0n,
  feeShare: ONE,
  decimals: 18,
  notBefore: 1_800_000_000,
};
const buy = (size: bigint, limitPrice = ONE) => ({ side: 'ask', size, limitPrice }) as const;
const sell = (size: bigint, limitPrice = 0n) => ({ side: 'bid', size, limitPrice }) as const;
const priced = (price: bigint, terms: Partial<OrderbookQuote> = {}) => quoteOf({ price: price.toString(), ...terms });
const put = { ...quoteOf().poolKey, isCallPool: false };

t.test('the cheapest asks cover a size, and the last one in part', async (t) => {
  const [dear, cheap, middle] = [priced(ONE / 5n), priced(ONE / 20n), priced(ONE / 10n)];
  const plan = planFill(buy((3n * ONE) / 2n), [dear, cheap, middle], state);
  t.strictSame(
    plan.fills.map(({ quote, size }) => [quote.quoteId, size]),
    [
      [cheap.quoteId, ONE],
      [middle.quoteId, ONE / 2n],
    ],
  );
  t.match(plan, { covered: (3n * ONE) / 2n, shortfall: 0n, worstPrice: ONE / 10n });
  t.equal(plan.averagePrice, 66_666_666_666_666_667n, 'rounded against the buyer');
});

t.test('the highest bids are taken first, and a seller gets no better average than there is', async (t) => {
  const [low, high] = [priced(ONE / 20n, { isBuy: true }), priced(ONE / 10n, { isBuy: true })];
  const plan = planFill(sell((3n * ONE) / 2n), [low, high], state);
  t.strictSame(
    plan.fills.map(({ quote }) => quote.quoteId),
    [high.quoteId, low.quoteId],
  );
  t.equal(plan.averagePrice, 83_333_333_333_333_333n);
});

t.test('of equal prices the older quote is taken first', async (t) => {
  const [younger, older] = [quoteOf({ ts: 1_700_000_100 }), quoteOf({ ts: 1_700_000_050 })];
  t.equal(planFill(buy(ONE), [younger, older], state).fills[0]?.quote.quoteId, older.quoteId);
});

t.test('what is beyond the limit is not covered', async (t) => {
  const quotes = [priced(ONE / 10n), priced(ONE / 10n + 1n)];
  t.match(planFill(buy(2n * ONE, ONE / 10n), quotes, state), { covered: ONE, shortfall: ONE });
  const bids = [priced(ONE / 10n, { isBuy: true }), priced(ONE / 10n - 1n, { isBuy: true })];
  t.match(planFill(sell(2n * ONE, ONE / 10n), bids, state), { covered: ONE, shortfall: ONE });
});

t.test('quotes that the taker cannot use are left out', async (t) => {
  const unusable = [
    quoteOf({ isBuy: true }),
    quoteOf({ taker: MAKER }),
    quoteOf({ provider: TAKER }),
    quoteOf({ deadline: state.notBefore - 1 }),
    quoteOf({ fillableSize: '0' }),
  ];
  const plan = planFill(buy(ONE), unusable, state);
  t.match(plan, { fills: [], covered: 0n, shortfall: ONE, averagePrice: null, worstPrice: null, neededBalance: 0n });
  t.equal(planFill(buy(ONE), [quoteOf({ taker: TAKER })], state).covered, ONE, 'its own private quotes it can');
});

t.test('a buyer of calls pays premium and fee', async (t) => {
  const plan = planFill(buy(ONE), [priced(ONE / 10n)], state);
  const fee = 8n * 10n ** 14n;
  t.match(plan, { premium: ONE / 10n, fee, change: -(ONE / 10n + fee), neededBalance: ONE / 10n + fee });
});

t.test('the fee is at most an eighth of the premium, and less by the discount', async (t) => {
  const cheap = [priced(10n ** 15n)];
  t.equal(planFill(buy(ONE), cheap, state).fee, 10n ** 15n / 8n);
  t.equal(planFill(buy(ONE), cheap, { ...state, feeShare: (ONE * 4n) / 5n }).fee, 10n ** 14n);
});

t.test('a seller of puts leaves strike less premium, in whole units of the token and rounded up', async (t) => {
  const bid = priced(ONE / 10n + 1n, { isBuy: true, poolKey: put });
  const plan = planFill(sell(ONE), [bid], { ...state, decimals: USDC_DECIMALS });
  // In quote tokens: the strike of 2000 at a price of 0.1, and 0.08 % of 2000.
  t.equal(plan.premium, 200n * ONE + 2000n);
  t.equal(plan.fee, (16n * ONE) / 10n);
  t.equal(plan.change, -(2000n - 200n) * 1_000_000n - 1_600_000n);
  t.match(plan, { neededBalance: -plan.change, neededAllowance: -plan.change });
});

t.test('closing a position frees collateral, first in the order of the fills', async (t) => {
  const bids = [priced(ONE / 10n, { isBuy: true }), priced(ONE / 20n, { isBuy: true })];
  const plan = planFill(sell(2n * ONE), bids, { ...state, longs: ONE });
  const fee = 8n * 10n ** 14n;
  t.strictSame(
    plan.fills.map(({ change }) => change),
    [ONE / 10n - fee, ONE / 20n - fee - ONE],
  );
  t.equal(plan.neededAllowance, ONE - ONE / 20n + fee, 'the router moves only what is paid');
  t.equal(plan.neededBalance, ONE - (3n * ONE) / 20n + 2n * fee, 'what the first fill pays out serves the second');
  const closing = planFill(buy(ONE), [priced(ONE / 10n)], { ...state, shorts: ONE });
  t.equal(closing.change, ONE - ONE / 10n - fee);
});

t.test('no size and no negative limit are planned', async (t) => {
  t.throws(() => planFill(buy(0n), [], state), RangeError);
  t.throws(() => planFill(buy(ONE, -1n), [], state), RangeError);
});
