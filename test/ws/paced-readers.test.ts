import t from 'tap';
import { enter, POOL, sampleQuote } from '../engine/samples.js';
import { FeedFixture, filter, takeMessages, type FeedFixtureOptions } from '../feed/feed-fixture.js';

/** A fixture with so many quotes in its book. */
function withQuotes(count: number, options: FeedFixtureOptions = {}): FeedFixture {
  const fixture = new FeedFixture(options);
  for (let n = 0; n < count; n++) fixture.do(enter(sampleQuote({ n })));
  return fixture;
}

const unsubscribe = { type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null };
const ofPool = { poolAddress: POOL.poolAddress };

t.test('a FILTER waits until the key has paid, and what the socket sends after it waits with it', async (t) => {
  const fixture = withQuotes(1);
  const reader = fixture.authorized();
  fixture.debtMs = 100;
  reader.says(filter('QUOTES', { snapshot: true }));
  reader.says(unsubscribe);
  reader.says(filter('TICKER'));
  fixture.clock.advance(99);
  t.strictSame(takeMessages(reader), []);
  fixture.debtMs = 0;
  fixture.clock.advance(1);
  t.match(takeMessages(reader), [
    { type: 'INFO', message: /^Subscribed to quotes:/ },
    { type: 'QUOTES_SNAPSHOT' },
    { type: 'INFO', message: 'Unsubscribed from QUOTES channel' },
    { type: 'INFO', message: /^Subscribed to ticker:/ },
    { type: 'TICKER_SNAPSHOT' },
  ]);
});

t.test('a plain reader of quotes and requests never waits, of a book it does', async (t) => {
  const fixture = withQuotes(1);
  const reader = fixture.authorized('');
  fixture.debtMs = 100;
  reader.says(filter('QUOTES'));
  t.match(takeMessages(reader), [{ type: 'INFO' }]);
  reader.says(filter('ORDERBOOK', ofPool));
  t.strictSame(takeMessages(reader), []);
  fixture.debtMs = 0;
  fixture.clock.advance(100);
  t.match(takeMessages(reader), [{ type: 'INFO' }, { type: 'ORDERBOOK_SNAPSHOT' }]);
});

t.test('the answer to a FILTER that waited repeats its id', async (t) => {
  const fixture = withQuotes(1);
  const reader = fixture.authorized();
  fixture.debtMs = 100;
  reader.says({ ...filter('RFQ'), id: 'a' });
  reader.says({ ...filter('RFQ', { chainId: '42161' }), id: 'b' });
  t.strictSame(takeMessages(reader), []);
  fixture.debtMs = 0;
  fixture.clock.advance(100);
  t.match(takeMessages(reader), [
    { type: 'INFO', id: 'a' },
    { type: 'ERROR', code: 'unsupported_chain', id: 'b' },
  ]);
});

t.test('no more than `wsWaitingFilters` wait, and one more changes nothing', async (t) => {
  const fixture = withQuotes(1, { limits: { wsWaitingFilters: 2 } });
  const reader = fixture.authorized();
  fixture.debtMs = 100;
  reader.says(filter('QUOTES'));
  reader.says(filter('RFQ'));
  reader.says(unsubscribe);
  t.match(takeMessages(reader), [{ type: 'ERROR', message: 'RATELIMITED' }]);
  fixture.debtMs = 0;
  fixture.clock.advance(100);
  t.match(takeMessages(reader), [{ message: /^Subscribed to quotes:/ }, { message: /^Subscribed to rfq:/ }]);
});

t.test('FILTERs that read the book take turns across all clients', async (t) => {
  const fixture = withQuotes(1, { slicesPerTurn: 1 });
  const readers = [fixture.authorized(), fixture.authorized()];
  for (const reader of readers) reader.says(filter('QUOTES', { snapshot: true }));
  const [first, second] = readers.map(takeMessages);
  t.match(first, [{ type: 'INFO' }]);
  t.strictSame(second, [], 'the second one waits for a turn');
  fixture.clock.advance(0);
  t.match(readers.map(takeMessages), [[{ type: 'QUOTES_SNAPSHOT' }], [{ type: 'INFO' }, { type: 'QUOTES_SNAPSHOT' }]]);
});

t.test('each page of a snapshot is charged, and the next one waits until it is paid', async (t) => {
  const fixture = withQuotes(6, { limits: { wsSnapshotPageQuotes: 3 }, slicesPerTurn: 2 });
  const reader = fixture.authorized();
  fixture.charged.length = 0;
  reader.says(filter('QUOTES', { snapshot: true }));
  t.match(takeMessages(reader), [{ type: 'INFO' }, { type: 'QUOTES_SNAPSHOT', more: true, body: { length: 3 } }]);
  t.match(fixture.charged, [{ rows: 1 }, { rows: 3 }], 'for reading the book, and for the page');
  t.ok((fixture.charged.at(-1)?.bytes ?? 0) > 3 * 500);
  fixture.debtMs = 1_000;
  fixture.clock.advance(999);
  t.strictSame(takeMessages(reader), []);
  fixture.debtMs = 0;
  fixture.clock.advance(1_000);
  t.match(takeMessages(reader), [{ type: 'QUOTES_SNAPSHOT', more: false, body: { length: 3 } }]);
});

t.test('a replay is charged for the events that it reads, also for those that its filter keeps back', async (t) => {
  const fixture = withQuotes(8, { limits: { wsReplayEvents: 4 } });
  const reader = fixture.authorized();
  const from = { epoch: fixture.feed.epoch, fromSeq: 0 };
  fixture.charged.length = 0;
  reader.says(filter('RFQ', from));
  fixture.clock.advance(0);
  const rows = (): number => fixture.charged.splice(0).reduce((sum, charge) => sum + charge.rows, 0);
  t.equal(rows(), 2, 'two pages were read, nothing was sent');
  reader.says(filter('QUOTES', from));
  fixture.clock.advance(0);
  t.equal(rows(), 2 + 8 + 1, 'eight messages were sent, and the book is added up on arrival');
  t.equal(takeMessages(reader).length, 2 + 8);
});

t.test('a second reader of the same snapshot is not charged for reading the book', async (t) => {
  const fixture = withQuotes(3);
  const readers = [fixture.authorized(), fixture.authorized()];
  const charged = readers.map((reader) => {
    fixture.charged.length = 0;
    reader.says(filter('QUOTES', { snapshot: true }));
    return fixture.charged.map(({ rows }) => rows);
  });
  t.strictSame(charged, [
    [1, 3, 1],
    [0, 3, 1],
  ]);
  const [first, second] = readers.map(takeMessages);
  t.strictSame(first, second);
});

t.test('a socket that closes while its FILTERs wait has nothing carried out', async (t) => {
  const fixture = withQuotes(1);
  const reader = fixture.authorized();
  fixture.debtMs = 100;
  reader.says(filter('QUOTES'));
  fixture.net.drop(reader);
  fixture.debtMs = 0;
  fixture.clock.advance(100);
  t.strictSame([fixture.feed.quotes.size, fixture.faults], [0, []]);
});
