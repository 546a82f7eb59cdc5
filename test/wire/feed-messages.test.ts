import t from 'tap';
import type { TSchema } from 'typebox';
import {
  AnyEventsQuery,
  BookEventsQuery,
  EventsQuery,
  TickersQuery,
  TradeEventsQuery,
} from '../../src/wire/feed-messages.js';
import { compile } from '../../src/wire/validation.js';
import { orderbookQuote } from './samples.js';

const takes = (schema: TSchema, value: unknown) => compile(schema, 5)(value).ok;
const { poolAddress, provider, taker } = orderbookQuote;
const chainId = '42161';

t.test('GET /events of quotes wants a chain, a channel and where to go on from', async (t) => {
  const query = { channel: 'QUOTES', chainId, fromSeq: '0' };
  t.ok(takes(EventsQuery, query));
  t.ok(
    takes(EventsQuery, { ...query, poolAddress, side: 'ask', size: '1', provider, taker: '*', epoch: '0'.repeat(16) }),
  );
  for (const fromSeq of ['', '-1', '1.5', '9'.repeat(16), ' 1']) t.notOk(takes(EventsQuery, { ...query, fromSeq }));
  t.ok(takes(EventsQuery, { ...query, fromSeq: '9'.repeat(15) }));
  for (const epoch of ['0'.repeat(15), '0'.repeat(17), 'A'.repeat(16)])
    t.notOk(takes(EventsQuery, { ...query, epoch }));
  for (const channel of ['TICKER', 'quotes', '']) t.notOk(takes(EventsQuery, { ...query, channel }));
  t.ok(takes(EventsQuery, { ...query, channel: 'RFQ' }));
  t.notOk(takes(EventsQuery, { channel: 'QUOTES', chainId }));
  t.notOk(takes(EventsQuery, { ...query, depth: '1' }));
});

t.test('GET /events of a book wants its pool, and takes a depth from 1', async (t) => {
  const query = { channel: 'ORDERBOOK', poolAddress, fromSeq: '0' };
  t.ok(takes(BookEventsQuery, query));
  for (const depth of ['1', '10', '9'.repeat(9)]) t.ok(takes(BookEventsQuery, { ...query, chainId, taker, depth }));
  for (const depth of ['', '0', '01', '1'.repeat(10), '1a', 'a1']) t.notOk(takes(BookEventsQuery, { ...query, depth }));
  t.notOk(takes(BookEventsQuery, { channel: 'ORDERBOOK', fromSeq: '0' }));
  t.notOk(takes(BookEventsQuery, { channel: 'ORDERBOOK', poolAddress }));
  t.notOk(takes(BookEventsQuery, { ...query, taker: '*' }), 'a book is of one taker or of none');
  t.notOk(takes(BookEventsQuery, { ...query, side: 'ask' }));
});

t.test('GET /events of trades takes a pool and a provider', async (t) => {
  const query = { channel: 'TRADES', fromSeq: '0' };
  t.ok(takes(TradeEventsQuery, query));
  t.ok(takes(TradeEventsQuery, { ...query, instrument: 'WETH-USDC-27NOV26-1800-C' }));
  t.ok(takes(TradeEventsQuery, { ...query, chainId, poolAddress, provider, epoch: '0'.repeat(16) }));
  for (const more of [{ taker }, { side: 'ask' }, { size: '1' }, { depth: '1' }, { provider: '*' }]) {
    t.notOk(takes(TradeEventsQuery, { ...query, ...more }), JSON.stringify(more));
  }
});

t.test('what GET /events may be asked by is what the one or the other channel knows', async (t) => {
  t.same(
    new Set(Object.keys(AnyEventsQuery.properties)),
    new Set([EventsQuery, BookEventsQuery, TradeEventsQuery].flatMap(({ properties }) => Object.keys(properties))),
  );
});

t.test('GET /tickers wants its chain alone', async (t) => {
  t.ok(takes(TickersQuery, { chainId }));
  for (const query of [{}, { chainId, poolAddress }]) t.notOk(takes(TickersQuery, query));
});
