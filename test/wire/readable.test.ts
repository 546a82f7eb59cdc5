import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { arbitrum } from '../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../src/chain/options/option-series.js';
import { type Hex, MAX_PRICE, type Quote, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { parseDecimal } from '../../src/wire/primitives.js';
import {
  ReadableFailedQuote,
  ReadableJson,
  ReadableQuote,
  ReadableRfq,
  readPoolKey,
  tradeSizeText,
} from '../../src/wire/readable.js';
import { compile } from '../../src/wire/validation.js';
import { orderbookQuote } from './samples.js';

const NOW = 1_700_000_000;
const ONE = 10n ** 18n;
const series = new OptionSeries(arbitrum);
const json = new ReadableJson({ optionOf: (key) => series.optionOf(key), nowSeconds: () => NOW });
const poolKey = series.poolKey(
  { base: 'WETH', quote: 'USDC', strike: 1800n * ONE, type: 'C' },
  Date.UTC(2026, 11, 4, 8) / 1000,
);
const quote: Quote = {
  quoteId: orderbookQuote.quoteId as Hex,
  pool: { poolAddress: orderbookQuote.poolAddress, poolKey },
  provider: `0x${'ab'.repeat(20)}`,
  taker: ZERO_ADDRESS,
  price: 5n * 10n ** 16n,
  size: 3n * ONE,
  isBuy: false,
  deadline: NOW + 90,
  salt: 1,
  signature: { r: '0x01', s: '0x02', v: 27 },
  ts: NOW - 5,
  origin: { blockNumber: 1, txHash: '0x00', logIndex: 0 },
};
const withKey = (changed: Partial<typeof poolKey>): Quote => ({
  ...quote,
  pool: { ...quote.pool, poolKey: { ...poolKey, ...changed } },
});
const stranger: Hex = `0x${'Cd'.repeat(20)}`;

t.test('a quote has these keys in this order, and numbers in whole units', async (t) => {
  t.equal(
    json.quote(quote, 15n * 10n ** 17n),
    '{"base":"WETH","quote":"USDC","expiration":"04DEC26","strike":1800,"type":"C","side":"ask","remainingSize":1.5,' +
      `"price":0.05,"provider":"0x${'ab'.repeat(20)}","taker":"${ZERO_ADDRESS}","deadline":90,` +
      `"quoteId":"0x${'6'.repeat(64)}","createdAt":1699999995}`,
  );
  t.match(JSON.parse(json.quote({ ...withKey({ isCallPool: false }), isBuy: true }, 0n)), { type: 'P', side: 'bid' });
});

t.test('one that failed has neither an id nor a time, and its whole size remains', async (t) => {
  const written = json.failedQuote(quote);
  const whole = json.quote(quote, quote.size);
  t.equal(written, `${whole.slice(0, whole.indexOf(',"quoteId"'))}}`);
  t.match(JSON.parse(written), { remainingSize: 3, deadline: 90 });
});

t.test('what is written matches the schemas', async (t) => {
  const pairs = [
    [ReadableQuote, json.quote(quote, 1n)],
    [ReadableFailedQuote, json.failedQuote(quote)],
    [ReadableRfq, json.rfq({ poolKey, side: 'bid', size: 7n, taker: stranger })],
  ] as const;
  for (const [schema, text] of pairs) {
    const value: unknown = JSON.parse(text);
    t.strictSame(compile(schema, 20)(value), { ok: true, value });
  }
});

t.test('a deadline that has passed leaves no seconds', async (t) => {
  t.match(JSON.parse(json.quote({ ...quote, deadline: NOW - 1 }, 1n)), { deadline: 0 });
});

t.test('no number loses a digit, whatever its size', async (t) => {
  const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
  fc.assert(
    fc.property(amount, amount, fc.bigInt({ min: 0n, max: MAX_PRICE }), (strike, left, price) => {
      const text = json.quote({ ...withKey({ strike }), price }, left);
      const read = (key: string) => parseDecimal(new RegExp(`"${key}":([0-9.]+)[,}]`).exec(text)?.[1] ?? '', 18);
      assert.deepEqual([read('strike'), read('remainingSize'), read('price')], [strike, left, price]);
    }),
  );
  t.match(
    json.quote(quote, 2n ** 256n - 1n),
    /"remainingSize":115792089237316195423570985008687907853269984665640564039457\.58/,
  );
});

t.test('a token without a symbol goes by its address', async (t) => {
  t.match(JSON.parse(json.quote(withKey({ base: stranger }), 1n)), { base: stranger, quote: 'USDC' });
  t.match(JSON.parse(json.quote(withKey({ quote: stranger }), 1n)), { base: 'WETH', quote: stranger });
});

t.test('symbols are found whatever the letter case of the address', async (t) => {
  const base = poolKey.base.toLowerCase() as Hex;
  t.match(JSON.parse(json.rfq({ poolKey: { ...poolKey, base }, side: 'ask', size: ONE, taker: stranger })), {
    base: 'WETH',
    size: 1,
    taker: stranger,
  });
});

t.test('a pool with another oracle does not pass for the option that its tokens suggest', async (t) => {
  const { base, quote: quoteToken } = poolKey;
  t.match(JSON.parse(json.quote(withKey({ oracleAdapter: stranger }), 1n)), { base, quote: quoteToken });
});

t.test('an option and its pool key lead to each other', async (t) => {
  const option = series.optionOf(poolKey);
  t.same(option, { base: 'WETH', quote: 'USDC', expiration: '04DEC26', strike: 1800n * ONE, type: 'C' });
  t.same(series.poolKey(option, poolKey.maturity), poolKey);
  t.same(readPoolKey({ ...poolKey, strike: String(poolKey.strike) }), poolKey);
});

t.test('the size of a trade always has a point', async (t) => {
  const texts = [0n, ONE, ONE / 2n, 1n, 10n ** 20n].map(tradeSizeText);
  t.same(texts, ['0.0', '1.0', '0.5', '0.000000000000000001', '100.0']);
});
