import t from 'tap';
import type { TSchema } from 'typebox';
import { ordersQuery, postQuotesBody, PostQuotesQuery, QuotesQuery, RfqQuotesQuery } from '../../src/wire/orderbook.js';
import { compile } from '../../src/wire/validation.js';
import { orderbookQuote, postedQuote } from './samples.js';

const takes = (schema: TSchema, value: unknown) => compile(schema, 5)(value).ok;
const { quoteId, poolAddress, provider, taker } = orderbookQuote;

function without(value: object, name: string): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}

t.test('POST /quotes takes from one quote to as many as are allowed, each with every field and no other', async (t) => {
  const body = postQuotesBody(2);
  for (const length of [1, 2])
    t.ok(
      takes(
        body,
        Array.from({ length }, () => postedQuote),
      ),
    );
  for (const length of [0, 3])
    t.notOk(
      takes(
        body,
        Array.from({ length }, () => postedQuote),
      ),
    );
  for (const name of Object.keys(postedQuote)) t.notOk(takes(body, [without(postedQuote, name)]), `without ${name}`);
  for (const name of Object.keys(postedQuote.poolKey)) {
    t.notOk(takes(body, [{ ...postedQuote, poolKey: without(postedQuote.poolKey, name) }]), `without ${name}`);
  }
  for (const name of Object.keys(postedQuote.signature)) {
    t.notOk(takes(body, [{ ...postedQuote, signature: without(postedQuote.signature, name) }]), `without ${name}`);
  }
  t.notOk(takes(body, [{ ...postedQuote, ts: 1 }]));
  t.notOk(takes(body, [{ ...postedQuote, poolKey: { ...postedQuote.poolKey, poolAddress } }]));
  t.notOk(takes(body, [{ ...postedQuote, signature: { ...postedQuote.signature, yParity: 0 } }]));
});

t.test('POST /quotes has one parameter, that is written out', async (t) => {
  for (const query of [{}, { dryRun: 'true' }, { dryRun: 'false' }]) t.ok(takes(PostQuotesQuery, query));
  for (const query of [{ dryRun: '' }, { dryRun: '1' }, { dryrun: 'true' }]) t.notOk(takes(PostQuotesQuery, query));
});

t.test('GET /quotes and GET /rfq_quotes want what they cannot do without', async (t) => {
  const quotes = { poolAddress, size: '1', side: 'ask', chainId: '42161' };
  t.ok(takes(QuotesQuery, quotes));
  t.ok(takes(QuotesQuery, { ...quotes, provider, taker }));
  for (const name of Object.keys(quotes)) t.notOk(takes(QuotesQuery, without(quotes, name)), `without ${name}`);
  const rfq = { poolAddress, side: 'ask', chainId: '42161', taker };
  t.ok(takes(RfqQuotesQuery, rfq));
  for (const name of Object.keys(rfq)) t.notOk(takes(RfqQuotesQuery, without(rfq, name)), `without ${name}`);
});

t.test('GET /orders wants a chain or ids, and takes every filter beside them', async (t) => {
  const query = ordersQuery(2);
  t.notOk(takes(query, {}));
  t.notOk(takes(query, { poolAddress, side: 'ask' }));
  t.ok(takes(query, { quoteIds: [quoteId] }));
  t.ok(takes(query, { quoteIds: [quoteId, quoteId] }));
  t.notOk(takes(query, { quoteIds: [] }));
  t.notOk(takes(query, { quoteIds: [quoteId, quoteId, quoteId] }));
  const chainId = '42161';
  t.ok(takes(query, { chainId }));
  t.ok(takes(query, { chainId, poolAddress, size: '0', side: 'bid', provider, taker, quoteIds: [quoteId] }));
  t.ok(takes(query, { chainId, taker: '*' }));
  t.notOk(takes(query, { chainId, pool: poolAddress }));
});

t.test('a page of GET /orders has from 1 to 1000 orders, from a cursor on', async (t) => {
  const query = ordersQuery(2);
  const chainId = '42161';
  for (const limit of ['1', '10', '999', '1000']) t.ok(takes(query, { chainId, limit }), limit);
  for (const limit of ['', '0', '01', '1001', '1 ', ' 1', '11000', '10000', '-1']) {
    t.notOk(takes(query, { chainId, limit }), limit);
  }
  const digits = '9'.repeat(15);
  for (const cursor of ['0-0', `${digits}-${digits}`]) t.ok(takes(query, { chainId, cursor }), cursor);
  for (const cursor of ['', '1', '1-', '-1', '1-1-1', `${digits}9-1`, `1-${digits}9`, 'a1-1']) {
    t.notOk(takes(query, { chainId, cursor }), cursor);
  }
});
