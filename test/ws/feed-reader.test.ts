import t from 'tap';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { enter, POOL, samplePool, sampleQuote } from '../engine/samples.js';
import { chainId, epoch, FeedFixture, filter, takeMessages } from '../feed/feed-fixture.js';
import { HeldLog, returned } from '../feed/held-log.js';

const { poolAddress } = POOL;
/** More than `wsSlowBytes`. */
const TOO_MUCH = 20_000;

t.test('a snapshot has as many quotes as are allowed, and with one more the FILTER is refused', async (t) => {
  const fixture = new FeedFixture({ limits: { wsSnapshotQuotes: 3 } });
  const asks = () => {
    const reader = fixture.authorized();
    reader.says(filter('QUOTES', { snapshot: true }));
    return takeMessages(reader);
  };
  for (let n = 0; n < 3; n++) fixture.do(enter(sampleQuote({ n })));
  t.match(asks(), [{ type: 'INFO' }, { type: 'QUOTES_SNAPSHOT', body: { length: 3 } }]);
  fixture.do(enter(sampleQuote({ n: 3 })));
  t.match(asks(), [{ type: 'ERROR', message: 'Too many quotes for a snapshot: 4, at most 3. Name a pool' }]);
});

t.test('a reader of another log gets RESYNC and a snapshot', async (t) => {
  const fixture = new FeedFixture();
  for (const n of [1, 2]) fixture.do(enter(sampleQuote({ n })));
  for (const [channel, key, ...snapshot] of [
    ['QUOTES', `quotes:${chainId}:${poolAddress}:*:${ZERO_ADDRESS}`, 'QUOTES_SNAPSHOT'],
    ['ORDERBOOK', `orderbook:${chainId}:${poolAddress}:*`, 'ORDERBOOK_SNAPSHOT'],
    ['RFQ', `rfq:${chainId}:${poolAddress}:*:*`],
  ] as const) {
    for (const fromSeq of [1, 2, 3]) {
      const reader = fixture.authorized();
      reader.says(filter(channel, { poolAddress, epoch: 'e'.repeat(16), fromSeq }));
      fixture.clock.advance(50);
      const messages = takeMessages(reader);
      t.match(messages, [
        { type: 'INFO', body: { channel, seq: 2, epoch } },
        { type: 'RESYNC', channel, keys: [key], seq: 2, epoch, reason: 'OTHER_EPOCH' },
        ...snapshot.map((type) => ({ type, seq: 2 })),
      ]);
      t.equal(messages.length, 2 + snapshot.length, `${channel} from ${fromSeq}: nothing of before it`);
    }
  }
});

t.test(
  'a resumed reader that missed nothing gets the events after its number, though others joined later',
  async (t) => {
    const fixture = new FeedFixture();
    fixture.do(enter(sampleQuote({ n: 1 })), enter(sampleQuote({ n: 2, pool: samplePool(1) })));
    const readers = [{}, { epoch, fromSeq: 1 }].map((place) => {
      const reader = fixture.authorized();
      reader.says(filter('QUOTES', { poolAddress, ...place }));
      return reader;
    });
    fixture.do(enter(sampleQuote({ n: 3 })));
    for (const [place, seq] of [2, 1].entries()) {
      const reader = readers[place];
      if (reader === undefined) throw new Error('there are two');
      t.match(takeMessages(reader), [
        { type: 'INFO', body: { seq } },
        { type: 'POST_QUOTE', seq: 3, prevSeq: 1 },
      ]);
    }
  },
);

t.test('each message names the one before it, so that a lost one shows', async (t) => {
  const fixture = new FeedFixture();
  const readers = [{ poolAddress }, {}].map((wish) => {
    const reader = fixture.authorized();
    reader.says(filter('QUOTES', wish));
    takeMessages(reader);
    return reader;
  });
  for (const [n, pool] of [POOL, samplePool(1), POOL, POOL].entries()) fixture.do(enter(sampleQuote({ n, pool })));
  const follows = (prevSeq: number, seq: number) => ({ type: 'POST_QUOTE', prevSeq, seq });
  const [ofPool, ofAll] = readers.map((reader) => takeMessages(reader));
  t.match(ofPool, [follows(0, 1), follows(1, 3), follows(3, 4)]);
  t.match(ofAll, [follows(0, 1), follows(1, 2), follows(2, 3), follows(3, 4)]);
});

t.test('a place is a number of one log: one without the other is refused, and nothing is followed', async (t) => {
  const fixture = new FeedFixture();
  for (const channel of ['QUOTES', 'ORDERBOOK']) {
    for (const place of [{ epoch }, { fromSeq: 0 }]) {
      const reader = fixture.authorized();
      reader.says(filter(channel, { poolAddress, ...place }));
      t.match(takeMessages(reader), [
        { type: 'ERROR', message: 'Invalid FILTER: body must have epoch and fromSeq together' },
      ]);
      t.equal(reader.topics.size, 0);
    }
  }
});

t.test('what the log drops while it is read is made up for by a snapshot', async (t) => {
  const { log, reader } = returned();
  await log.answer(null);
  t.match(takeMessages(reader), [
    { type: 'RESYNC', reason: 'TOO_OLD' },
    { type: 'QUOTES_SNAPSHOT', seq: 3, more: false, body: { length: 3 } },
  ]);
});

t.test('so is what memory drops before a slow reader comes to it, where there is no log', async (t) => {
  const fixture = new FeedFixture({ limits: { recentEvents: 2 } });
  for (const n of [1, 2]) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  reader.unreadBytes = TOO_MUCH;
  reader.says(filter('QUOTES', { epoch, fromSeq: 0 }));
  takeMessages(reader);
  fixture.do(enter(sampleQuote({ n: 3 })));
  reader.unreadBytes = 0;
  fixture.clock.advance(50);
  t.match(takeMessages(reader), [
    { type: 'RESYNC', reason: 'TOO_OLD' },
    { type: 'QUOTES_SNAPSHOT', seq: 3, body: { length: 3 } },
  ]);
});

t.test('where that would be too large, the connection is closed', async (t) => {
  const { log, reader } = returned({ wsSnapshotQuotes: 2 });
  await log.answer(null);
  t.strictSame(takeMessages(reader), []);
  t.match(reader.closedWith, { code: 1013 });
});

t.test(
  'a reader that wants no snapshot gets RESYNC alone, also for more quotes than a snapshot may have',
  async (t) => {
    const fixture = new FeedFixture({ limits: { wsSnapshotQuotes: 2 } });
    for (let n = 0; n < 3; n++) fixture.do(enter(sampleQuote({ n })));
    const reader = fixture.authorized();
    reader.says(filter('QUOTES', { epoch: 'e'.repeat(16), fromSeq: 1, snapshot: false }));
    t.match(takeMessages(reader), [{ type: 'INFO' }, { type: 'RESYNC', seq: 3, reason: 'OTHER_EPOCH' }]);
    fixture.do(enter(sampleQuote({ n: 3 })));
    t.match(takeMessages(reader), [{ type: 'POST_QUOTE', seq: 4, prevSeq: 3 }]);
  },
);

t.test('nor is it sent one when the log drops what it would read', async (t) => {
  const { log, reader } = returned({ wsSnapshotQuotes: 2 }, { snapshot: false });
  await log.answer(null);
  t.match(takeMessages(reader), [{ type: 'RESYNC', reason: 'TOO_OLD' }]);
  t.equal(reader.closedWith, null);
});

t.test('a reader of levels who missed too many is shown the book before all of it is read', async (t) => {
  const fixture = new FeedFixture({ limits: { changedLevels: 0 } });
  for (let n = 0; n < 12; n++) fixture.do(enter(sampleQuote({ n, price: 100n + BigInt(n) })));
  const reader = fixture.authorized();
  // More than the update may have come in the first part.
  reader.says(filter('ORDERBOOK', { poolAddress, depth: 1, epoch, fromSeq: 0 }));
  t.match(takeMessages(reader), [
    { type: 'INFO', body: { seq: 0 } },
    { type: 'RESYNC', seq: 12, reason: 'TOO_OLD' },
    { type: 'ORDERBOOK_SNAPSHOT', seq: 12, body: { asks: [{ price: '100' }] } },
  ]);
  fixture.clock.advance(50);
  t.strictSame(takeMessages(reader), [], 'and nothing of the rest');
});

t.test('a second FILTER of TICKER takes the place of the first', async (t) => {
  const fixture = new FeedFixture();
  const other = samplePool(1);
  const reader = fixture.authorized();
  reader.says(filter('TICKER', { poolAddress }));
  reader.says(filter('TICKER', { poolAddress: other.poolAddress }));
  takeMessages(reader);
  fixture.do(enter(sampleQuote({ n: 1 })), enter(sampleQuote({ n: 2, pool: other })));
  t.match(takeMessages(reader), [{ type: 'TICKER', key: `ticker:${chainId}:${other.poolAddress}` }]);
});

t.test('a ticker that changes while a slow reader catches up is sent in its newest state', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1, price: 100n })));
  const reader = fixture.authorized();
  reader.unreadBytes = TOO_MUCH;
  reader.says(filter('TICKER'));
  fixture.do(enter(sampleQuote({ n: 2, price: 99n })));
  reader.unreadBytes = 0;
  fixture.clock.advance(50);
  t.match(takeMessages(reader), [
    { type: 'INFO' },
    { type: 'TICKER_SNAPSHOT', body: [{ ask: { price: '100' } }] },
    { type: 'TICKER', body: { ask: { price: '99' } } },
  ]);
});

t.test(
  'a book is shown to a slow reader once it has read, as it is by then, and nothing is read for that',
  async (t) => {
    const log = new HeldLog();
    const fixture = new FeedFixture({ older: log, limits: { recentEvents: 1 } });
    fixture.do(enter(sampleQuote({ n: 1, price: 100n })));
    const reader = fixture.authorized();
    reader.unreadBytes = TOO_MUCH;
    reader.says(filter('ORDERBOOK', { poolAddress }));
    t.match(takeMessages(reader), [{ type: 'INFO', body: { seq: 1 } }]);
    t.equal(reader.topics.size, 0);
    for (const n of [2, 3]) fixture.do(enter(sampleQuote({ n, price: 99n })));
    reader.unreadBytes = 0;
    fixture.clock.advance(50);
    t.match(takeMessages(reader), [
      { type: 'ORDERBOOK_SNAPSHOT', seq: 3, body: { asks: [{ price: '99', count: 2 }, { price: '100' }] } },
    ]);
    fixture.do(enter(sampleQuote({ n: 4 })));
    t.match(takeMessages(reader), [{ type: 'ORDERBOOK_UPDATE', seq: 4, prevSeq: 3 }]);
  },
);

t.test('of levels nothing counts as sent before all that was missed is known', async (t) => {
  const fixture = new FeedFixture();
  // More than is read in one turn.
  for (let n = 0; n < 12; n++) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  reader.says(filter('ORDERBOOK', { poolAddress, epoch, fromSeq: 2 }));
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 2');
  fixture.clock.advance(50);
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 12');
});

t.test(
  'a slow reader of levels is sent updates again once it has read all but half of what it may leave',
  async (t) => {
    const fixture = new FeedFixture({ limits: { wsSlowBytes: 10_000 } });
    const reader = fixture.authorized();
    reader.says(filter('ORDERBOOK', { poolAddress }));
    reader.unreadBytes = 10_001;
    fixture.clock.advance(50);
    fixture.do(enter(sampleQuote({ n: 1 })));
    takeMessages(reader);
    reader.unreadBytes = 5_001;
    fixture.clock.advance(50);
    t.strictSame(takeMessages(reader), []);
    reader.unreadBytes = 5_000;
    fixture.clock.advance(50);
    const tsMs = fixture.committed.at(-1)?.stamp.tsMs;
    t.match(takeMessages(reader), [{ type: 'ORDERBOOK_UPDATE', seq: 1, tsMs }]);
  },
);

t.test('what a slow reader misses is forgotten when it goes away', async (t) => {
  const fixture = new FeedFixture({ limits: { changedLevels: 0 } });
  const book = filter('ORDERBOOK', { poolAddress, depth: 2 });
  const lags = () => {
    const reader = fixture.authorized();
    reader.says(book);
    takeMessages(reader);
    reader.unreadBytes = TOO_MUCH;
    fixture.clock.advance(50);
    return reader;
  };
  const stays = fixture.authorized();
  stays.says(book);
  const goes = lags();
  for (const [n, price] of [100n, 101n].entries()) {
    fixture.do(enter(sampleQuote({ n, price })), enter(sampleQuote({ n: 10 + n, price: price - 50n, isBuy: true })));
  }
  fixture.net.drop(goes);
  const reader = lags();
  fixture.do(enter(sampleQuote({ n: 3, price: 99n })));
  reader.unreadBytes = 0;
  fixture.clock.advance(50);
  t.match(takeMessages(reader), [{ type: 'ORDERBOOK_UPDATE', body: { asks: [{ price: '99' }, { price: '101' }] } }]);
});

t.test('nothing is kept of what nobody follows any more', async (t) => {
  const fixture = new FeedFixture();
  const { quotes, levels, tickerTopics } = fixture.feed;
  const topics = () => [quotes.size, levels.size, tickerTopics.size];
  const wishes = [filter('QUOTES', { poolAddress }), filter('ORDERBOOK', { poolAddress }), filter('TICKER')];
  const follows = () => {
    const reader = fixture.authorized();
    for (const wish of wishes) reader.says(wish);
    return reader;
  };
  const unsubscribes = follows();
  const goesAway = follows();
  t.strictSame(topics(), [1, 1, 1]);
  for (const { channel } of wishes) unsubscribes.says({ type: 'UNSUBSCRIBE', channel, body: null });
  t.strictSame(topics(), [1, 1, 1], 'one of the two follows them still');
  for (const reader of [unsubscribes, goesAway]) takeMessages(reader);
  fixture.do(enter(sampleQuote({ n: 1 })));
  fixture.clock.advance(50);
  t.strictSame(
    [unsubscribes, goesAway].map((reader) => takeMessages(reader).length),
    [0, 3],
  );
  for (const reader of [unsubscribes, goesAway]) fixture.net.drop(reader);
  t.strictSame(topics(), [0, 0, 0]);
});
