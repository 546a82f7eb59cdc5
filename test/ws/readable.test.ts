import t from 'tap';
import type { TSchema } from 'typebox';
import { arbitrum } from '../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../src/chain/options/option-series.js';
import type { EngineEvent } from '../../src/engine/event.js';
import { InvalidReason, type Order, type Pool } from '../../src/engine/quote.js';
import {
  ReadableDeleteQuoteMessage,
  ReadableFillQuoteMessage,
  ReadablePostQuoteMessage,
  ReadableRfqMessage,
} from '../../src/wire/readable.js';
import { compile } from '../../src/wire/validation.js';
import { readableForm } from '../../src/ws/publisher.js';
import { eventOf, orderOf, posted, rfqOf } from './event-samples.js';
import { readDocument } from '../app/read-document.js';
import { FakeNet } from './fake-net.js';
import { address, chainId, GatewayFixture, goodKey, poolAddress, readableJson, settled } from './gateway-fixture.js';
import { plainMessagesOf } from './plain-messages.js';

const READABLE = 'quotebook.readable';
const ONE = 10n ** 18n;
const series = new OptionSeries(arbitrum);
const maturity = Date.UTC(2024, 2, 1, 8) / 1000;
const pool: Pool = {
  poolAddress,
  poolKey: series.poolKey({ base: 'WETH', quote: 'USDC', strike: 1800n * ONE, type: 'C' }, maturity),
};
const sample = orderOf({ n: 1, size: 4n * ONE });
const order: Order = { ...sample, quote: { ...sample.quote, pool } };
const option = { base: 'WETH', quote: 'USDC', expiration: '01MAR24', strike: 1800, type: 'C' };
const form = readableForm(readableJson, () => undefined);
const body = (left: bigint): string => readableJson.quote(order.quote, left);

const cases: readonly (readonly [string, EngineEvent, readonly string[]])[] = [
  [
    'a quote that is published is posted',
    eventOf({ type: 'QUOTE_POSTED', order, fillableSize: 4n * ONE, reason: null }),
    [`{"type":"POST_QUOTE","body":${body(4n * ONE)}}`],
  ],
  [
    'a fill says what was taken as a decimal text with a point, and what is left',
    eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 3n * ONE, size: ONE, valid: true }),
    [`{"type":"FILL_QUOTE","body":${body(3n * ONE)},"tradeSize":"1.0"}`],
  ],
  [
    'a quote that is cancelled is deleted',
    eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 0n, why: 'CANCELLED', valid: true }),
    [`{"type":"DELETE_QUOTE","body":${body(0n)}}`],
  ],
  [
    'a quote that enters as invalid has no message',
    eventOf({
      type: 'QUOTE_POSTED',
      order,
      fillableSize: ONE,
      reason: InvalidReason.InsufficientCollateralBalance,
    }),
    [],
  ],
  [
    'a fill that a reorg undoes is a delete and a post',
    eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: ONE, wasValid: true, reason: null }),
    [`{"type":"DELETE_QUOTE","body":${body(ONE)}}`, `{"type":"POST_QUOTE","body":${body(ONE)}}`],
  ],
];

for (const [what, event, messages] of cases) {
  t.test(what, async (t) => t.same(plainMessagesOf(event, form), messages));
}

t.test('pushes match the schemas', async (t) => {
  const schemas = {
    POST_QUOTE: ReadablePostQuoteMessage,
    FILL_QUOTE: ReadableFillQuoteMessage,
    DELETE_QUOTE: ReadableDeleteQuoteMessage,
  };
  const messages = cases.flatMap(([, event]) => plainMessagesOf(event, form));
  t.equal(messages.length, 5);
  for (const message of messages) {
    const value = JSON.parse(message) as { type: keyof typeof schemas };
    t.same(compile(schemas[value.type], 20)(value), { ok: true, value });
  }
});

t.test('the same event goes to each subscriber in the form that it asked for', async (t) => {
  const fixture = new GatewayFixture();
  const plain = fixture.subscribed('QUOTES');
  const readable = fixture.subscribed('QUOTES', {}, READABLE);
  fixture.tell(eventOf({ type: 'QUOTE_POSTED', order, fillableSize: ONE, reason: null }));
  t.match(plain.take(), [{ type: 'POST_QUOTE', body: { poolAddress, fillableSize: String(ONE) } }]);
  t.same(readable.take(), [
    {
      type: 'POST_QUOTE',
      body: {
        ...option,
        side: 'ask',
        remainingSize: 1,
        price: 0.05,
        provider: order.quote.provider,
        taker: order.quote.taker,
        deadline: 3600,
        quoteId: order.quote.quoteId,
        createdAt: 1_700_000_000,
      },
    },
  ]);
});

t.test('an event is written once for all readable subscribers, and not at all without one', async (t) => {
  const fixture = new GatewayFixture();
  fixture.subscribed('QUOTES');
  fixture.tell(posted({ n: 1 }));
  t.equal(fixture.net.published.length, 1);
  fixture.subscribed('QUOTES', {}, READABLE);
  fixture.subscribed('QUOTES', { side: 'ask' }, READABLE);
  fixture.net.published.length = 0;
  fixture.tell(posted({ n: 2 }));
  t.equal(fixture.net.published.length, 3);
  t.equal(new Set(fixture.net.published.map(({ message }) => message)).size, 2);
});

t.test('filters and UNSUBSCRIBE are those of the plain protocol', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized(goodKey, READABLE);
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId, side: 'bid' } });
  t.match(socket.take(), [{ type: 'INFO', body: null, message: /^Subscribed to quotes:/ }]);
  fixture.tell(posted({ n: 1 }));
  t.same(socket.take(), []);
  fixture.tell(posted({ n: 2, isBuy: true }));
  t.match(socket.take(), [{ body: { side: 'bid' } }]);
  socket.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  t.same(socket.take(), [{ type: 'INFO', body: null, message: 'Unsubscribed from QUOTES channel' }]);
  fixture.tell(posted({ n: 3, isBuy: true }));
  t.same(socket.take(), []);
  fixture.net.drop(socket);
  t.equal(fixture.readableTopics.size, 0);
});

t.test('errors are those of the plain protocol', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.net.open(READABLE);
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId } });
  socket.says({ type: 'AUTH', apiKey: 'unknown', body: null });
  t.same(socket.take(), [
    { type: 'ERROR', body: null, message: 'Not Authorized' },
    { type: 'ERROR', body: null, message: 'NOT_FOUND' },
  ]);
});

const rfq = { side: 'bid', chainId, size: String(ONE / 2n), taker: '0xAbCdEf0000000000000000000000000000000001' };
const keyJson = { ...pool.poolKey, strike: String(pool.poolKey.strike) };
const readableRfq = { type: 'RFQ', body: { ...option, side: 'bid', size: 0.5, taker: rfq.taker } };

t.test('a request by pool key names the option, and comes to its sender as well', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('RFQ', {}, READABLE);
  socket.says({ type: 'RFQ', body: { poolKey: keyJson, ...rfq } });
  await settled();
  const [push, answer] = socket.take();
  t.same(push, readableRfq);
  t.same(compile(ReadableRfqMessage, 20)(push), { ok: true, value: push });
  t.match(answer, { type: 'INFO', message: /^Published RFQ to rfq:/ });
});

t.test('a request by pool address names the option of that pool', async (t) => {
  const fixture = new GatewayFixture();
  fixture.pools.set(poolAddress, pool);
  const plain = fixture.subscribed('RFQ');
  const readable = fixture.subscribed('RFQ', {}, READABLE);
  plain.says({ type: 'RFQ', body: { poolAddress, ...rfq } });
  await settled();
  t.match(plain.take(), [{ type: 'RFQ', body: { poolAddress } }, { type: 'INFO' }]);
  t.same(readable.take(), [readableRfq]);
});

t.test(
  'a request for a pool of which nothing is known has no readable message, and is published all the same',
  async (t) => {
    const fixture = new GatewayFixture();
    const plain = fixture.subscribed('RFQ');
    const readable = fixture.subscribed('RFQ', {}, READABLE);
    readable.says({ type: 'RFQ', body: { poolAddress: address(0xdead), ...rfq } });
    await settled();
    t.match(plain.take(), [{ type: 'RFQ' }]);
    t.match(readable.take(), [{ type: 'INFO', message: /^Published RFQ/ }]);
  },
);

t.test('no maturity that a taker may name is written as a date that it is not', async (t) => {
  for (const strange of [0, maturity + 1, Date.UTC(2124, 2, 1, 8) / 1000, Number.MAX_SAFE_INTEGER]) {
    const sent = JSON.stringify({ poolKey: { ...keyJson, maturity: strange }, ...rfq });
    t.same(plainMessagesOf(eventOf({ type: 'RFQ_PUBLISHED', rfq: rfqOf({ body: sent }) }), form), [], String(strange));
  }
});

t.test('a listener may speak the readable form to those who ask for no subprotocol', async (t) => {
  const fixture = new GatewayFixture();
  const main = fixture.subscribed('QUOTES');
  const other = new FakeNet(fixture.gateway.readableByDefault());
  const socket = other.open();
  t.equal(socket.id, main.id, 'ids are those of the listener');
  fixture.publish = (...message) => {
    fixture.net.publish(...message);
    other.publish(...message);
  };
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId } });
  t.match(socket.take(), [{ message: 'Not Authorized' }], 'it is another socket');
  socket.says({ type: 'AUTH', apiKey: goodKey, body: null });
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId } });
  socket.take();
  fixture.tell(posted({ n: 1 }));
  t.match(main.take(), [{ body: { poolAddress } }]);
  t.match(socket.take(), [{ body: { remainingSize: 1e-17 } }]);
  other.drop(socket);
  fixture.tell(posted({ n: 2 }));
  t.equal(main.take().length, 1, 'the end of one is not the end of the other');
});

t.test('the examples of the API are written as the server writes them', async (t) => {
  const api = readDocument('docs/reference/api.md');
  const examples = [...api.matchAll(/^```json readable\n(.*?)^```$/gms)].map(
    ([, text = '']) => JSON.parse(text) as unknown,
  );
  const schemas = [ReadablePostQuoteMessage, ReadableRfqMessage];
  t.equal(examples.length, schemas.length);
  for (const [index, schema] of schemas.entries()) {
    const value = examples[index];
    t.same(compile<TSchema>(schema, 20)(value), { ok: true, value });
  }
  const keysOf = (value: unknown) => Object.keys((value as { body: object }).body);
  t.same(keysOf(examples[0]), Object.keys(JSON.parse(body(ONE)) as object), 'keys in their order');
  t.same(keysOf(examples[1]), Object.keys(readableRfq.body));
});
