import t from 'tap';
import { TopicIndex } from '../../src/feed/topic-index.js';
import { plainForm, PlainPublisher } from '../../src/ws/publisher.js';
import { eventOf, orderOf, posted, quoteId } from './event-samples.js';
import { address, chainId, GatewayFixture, quoteJson } from './gateway-fixture.js';
import { plainMessagesOf } from './plain-messages.js';

const taker = address(0xc1);
const stranger = address(0xc2);

function quoteIds(messages: unknown[]): string[] {
  return messages.map((message) => (message as { body: { quoteId: string } }).body.quoteId);
}

t.test('nothing is streamed before a FILTER', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  fixture.tell(posted({ n: 1 }));
  t.same(socket.received, []);
});

t.test('who names no taker hears of public quotes alone', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES');
  fixture.tell(posted({ n: 1 }), posted({ n: 2, taker }), posted({ n: 3 }));
  t.same(quoteIds(socket.take()), [quoteId(1), quoteId(3)]);
});

t.test('the server publishes no message of a deployed or withdrawn pool, but those of its quotes', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES', { taker: '*' });
  const { pool } = orderOf({ n: 1 }).quote;
  fixture.tell(eventOf({ type: 'POOL_WITHDRAWN', pool }), eventOf({ type: 'POOL_DEPLOYED', pool }), posted({ n: 1 }));
  t.same(quoteIds(socket.take()), [quoteId(1)]);
});

t.test('who names a taker hears of public quotes and of that taker’s', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES', { taker });
  fixture.tell(posted({ n: 1 }), posted({ n: 2, taker }), posted({ n: 3, taker: stranger }));
  t.same(quoteIds(socket.take()), [quoteId(1), quoteId(2)]);
});

t.test('who names every taker hears of all quotes, each once', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES', { taker: '*' });
  fixture.tell(posted({ n: 1 }), posted({ n: 2, taker }), posted({ n: 3, taker: stranger }));
  t.same(quoteIds(socket.take()), [quoteId(1), quoteId(2), quoteId(3)]);
});

t.test(
  'a filter by minimum size looks at the size first signed, so that a followed quote stays followed',
  async (t) => {
    const fixture = new GatewayFixture();
    const socket = fixture.subscribed('QUOTES', { size: '10' });
    const order = orderOf({ n: 1, size: 10n });
    fixture.tell(posted({ n: 1, size: 10n }), posted({ n: 2, size: 9n }));
    fixture.tell(eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 1n, size: 9n, valid: true }));
    fixture.tell(eventOf({ type: 'QUOTE_REMOVED', order, fillableSize: 0n, why: 'CANCELLED', valid: true }));
    t.same(quoteIds(socket.take()), [quoteId(1), quoteId(1), quoteId(1)]);
  },
);

t.test('filters by pool, side and provider let through what fits all of them', async (t) => {
  const fixture = new GatewayFixture();
  const pool = address(0xa2);
  const provider = '0x00000000000000000000000000000000000000B2';
  const fits = { poolAddress: pool, isBuy: true, provider: address(0xb2) };
  const socket = fixture.subscribed('QUOTES', { poolAddress: pool, side: 'bid', provider });
  fixture.tell(
    posted({ n: 1, ...fits }),
    posted({ n: 2, ...fits, poolAddress: address(0xa3) }),
    posted({ n: 3, ...fits, isBuy: false }),
    posted({ n: 4, ...fits, provider: address(0xb3) }),
  );
  t.same(quoteIds(socket.take()), [quoteId(1)]);
});

t.test('what is committed after the acknowledgement follows it, and nothing else does', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES', { side: 'ask' });
  fixture.tell(posted({ n: 1 }));
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId, side: 'bid' } });
  fixture.tell(posted({ n: 2 }), posted({ n: 3, isBuy: true }));
  socket.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  fixture.tell(posted({ n: 4, isBuy: true }));
  const types = (socket.take() as { type: string; body: { quoteId: string } | null }[]).map(({ type, body }) =>
    body === null ? type : body.quoteId,
  );
  t.same(types, [quoteId(1), 'INFO', quoteId(3), 'INFO']);
});

t.test('an event is written once, for all of its topics', async (t) => {
  const fixture = new GatewayFixture();
  fixture.subscribed('QUOTES');
  fixture.subscribed('QUOTES', { side: 'ask' });
  fixture.subscribed('QUOTES', { size: '5' });
  fixture.tell(posted({ n: 1 }));
  t.equal(fixture.net.published.length, 3);
  t.equal(new Set(fixture.net.published.map(({ message }) => message)).size, 1);
});

t.test('what nobody waits for is not even written', async (t) => {
  const topics = new TopicIndex(chainId);
  topics.join(`quotes:${chainId}:*:bid:${address(0)}`, { provider: null, minSize: 0n });
  const unwritable = new Proxy(quoteJson, {
    get: () => () => {
      throw new Error('nobody asked');
    },
  });
  const publisher = new PlainPublisher(topics, plainForm(unwritable), () => t.fail('nothing is to be published'));
  publisher.onEvents([posted({ n: 1 })]);
  t.throws(() => publisher.onEvents([posted({ n: 2, isBuy: true })]), { message: 'nobody asked' });
});

t.test('several messages of one event keep their order', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.subscribed('QUOTES');
  const order = orderOf({ n: 1 });
  const event = eventOf({ type: 'QUOTE_RESTATED', order, fillableSize: 4n, wasValid: true, reason: null });
  fixture.tell(event);
  t.same(socket.received, plainMessagesOf(event, plainForm(quoteJson)));
});
