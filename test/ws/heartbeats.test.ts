import t from 'tap';
import type { Heartbeat } from '../../src/wire/feed-messages.js';
import { enter, POOL, sampleQuote } from '../engine/samples.js';
import { FeedFixture, filter, takeMessages } from '../feed/feed-fixture.js';

t.test('when the last reader has gone, nothing is waited for any more', async (t) => {
  const fixture = new FeedFixture();
  const readers = [fixture.authorized(), fixture.authorized()];
  for (const reader of readers) reader.says(filter('ORDERBOOK', { poolAddress: POOL.poolAddress }));
  fixture.clock.advance(6_000);
  t.equal(fixture.clock.pending, 2, 'the next heartbeat, and the next look at who reads too slowly');
  for (const reader of readers) fixture.net.drop(reader);
  t.equal(fixture.clock.pending, 0);
});

t.test('a heartbeat has the hash of each book that is followed, and none while one is on its way', async (t) => {
  const fixture = new FeedFixture();
  const { poolAddress } = POOL;
  const reader = fixture.authorized();
  for (const channel of ['QUOTES', 'RFQ', 'TICKER', 'ORDERBOOK']) reader.says(filter(channel, { poolAddress }));
  const beat = (): Heartbeat | undefined => {
    takeMessages(reader);
    fixture.clock.advance(5_000);
    return takeMessages(reader).flatMap((message) => (message.type === 'HEARTBEAT' ? [message] : []))[0];
  };
  t.strictSame(
    beat()?.books.map(({ key }) => key.split(':')[0]),
    ['quotes', 'orderbook'],
  );
  reader.unreadBytes = 20_000;
  reader.says(filter('ORDERBOOK', { poolAddress }));
  fixture.do(enter(sampleQuote({ n: 1 })));
  t.match(beat(), { seq: 0, books: { length: 0 } });
});

t.test('a heartbeat comes every five seconds, with what the clock on the wall says then', async (t) => {
  const fixture = new FeedFixture();
  const reader = fixture.authorized();
  takeMessages(reader);
  for (let beats = 0; beats < 3; beats++) {
    fixture.clock.advance(4_999);
    t.strictSame(takeMessages(reader), []);
    fixture.clock.advance(1);
    t.match(takeMessages(reader), [{ type: 'HEARTBEAT', serverTimeMs: fixture.clock.wallMs() }]);
  }
});

t.test('who goes takes nothing from those who stay', async (t) => {
  const fixture = new FeedFixture();
  const [goes, stays] = [fixture.authorized(), fixture.authorized()];
  for (const reader of [goes, stays]) reader.says(filter('ORDERBOOK', { poolAddress: POOL.poolAddress }));
  takeMessages(stays);
  fixture.net.drop(goes);
  stays.unreadBytes = 20_000;
  fixture.clock.advance(50);
  t.equal(stays.topics.size, 0, 'it is seen to read too slowly');
  stays.unreadBytes = 0;
  fixture.clock.advance(50);
  t.equal(stays.topics.size, 1);
  fixture.clock.advance(5_000);
  t.match(takeMessages(stays), [{ type: 'HEARTBEAT' }]);
});

t.test('who reads too slowly is looked for at once when much goes out, and at leisure otherwise', async (t) => {
  const fixture = new FeedFixture({ limits: { wsSlowBytes: 1_000 } });
  const reader = fixture.authorized();
  reader.says(filter('ORDERBOOK', { poolAddress: POOL.poolAddress }));
  reader.unreadBytes = 1_001;
  fixture.gateway.published(499);
  fixture.clock.advance(0);
  t.equal(reader.topics.size, 1);
  fixture.gateway.published(1);
  fixture.clock.advance(0);
  t.equal(reader.topics.size, 0, 'half of what it may leave unread went out');
  reader.unreadBytes = 0;
  fixture.gateway.published(499);
  fixture.clock.advance(0);
  t.equal(reader.topics.size, 0, 'which is counted anew after each look');
  fixture.net.drop(reader);
  fixture.gateway.published(1_000);
  t.equal(fixture.clock.pending, 0, 'where nobody reads there is nobody to look for');
});
