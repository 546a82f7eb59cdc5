import t from 'tap';
import { enter, sampleQuote } from '../engine/samples.js';
import { epoch, FeedFixture, filter, MSGPACK_V2, takeMessages } from './feed-fixture.js';

const RESTART = 1012;

t.test('a server that stops tells readers of the subprotocols where to go on, and plain ones as ever', async (t) => {
  const fixture = new FeedFixture();
  const plain = fixture.authorized('');
  const readers = [fixture.authorized(), fixture.authorized(MSGPACK_V2)];
  for (const reader of readers) reader.says(filter('QUOTES'));
  for (let n = 0; n < 3; n++) fixture.do(enter(sampleQuote({ n })));
  fixture.gateway.closeReaders(RESTART, 'service restart');
  for (const { closedWith } of readers) {
    t.strictSame(closedWith, { code: RESTART, reason: 'service restart, resume from seq 3' });
  }
  t.equal(plain.closedWith, null, 'the network closes it, with the reason alone');
});

t.test('what is committed and not told yet is not counted', async (t) => {
  const fixture = new FeedFixture();
  const reader = fixture.authorized();
  reader.says(filter('QUOTES'));
  fixture.do(enter(sampleQuote({ n: 1 })));
  fixture.submit(enter(sampleQuote({ n: 2 })));
  fixture.gateway.closeReaders(RESTART, 'service restart');
  t.equal(reader.closedWith?.reason, 'service restart, resume from seq 1');
});

t.test('the close reason of a reader that catches up has the number it has reached', async (t) => {
  const fixture = new FeedFixture();
  for (let n = 0; n < 12; n++) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  // It has the first part of what it missed, and leaves that unread.
  reader.says(filter('QUOTES', { epoch, fromSeq: 2 }));
  reader.unreadBytes = 1 << 20;
  fixture.clock.advance(100);
  const [, ...messages] = takeMessages(reader);
  const last = messages.at(-1);
  if (last?.type !== 'POST_QUOTE') throw new Error('a resumed reader gets the events that it missed');
  t.ok(last.seq < 12, `up to ${last.seq} of 12`);
  t.equal(fixture.gateway.overBudgetReason(reader), `Too slow, resume from seq ${last.seq}`);
});

t.test('a reader of levels that lags goes on from the last update that it was sent', async (t) => {
  const fixture = new FeedFixture();
  const reader = fixture.authorized();
  reader.says(filter('ORDERBOOK', { poolAddress: sampleQuote({ n: 0 }).pool.poolAddress }));
  fixture.do(enter(sampleQuote({ n: 1 })));
  reader.unreadBytes = 1 << 20;
  fixture.clock.advance(100);
  fixture.do(enter(sampleQuote({ n: 2 })), enter(sampleQuote({ n: 3 })));
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 1');
  reader.unreadBytes = 0;
  fixture.clock.advance(100);
  const updates = takeMessages(reader).filter(({ type }) => type === 'ORDERBOOK_UPDATE');
  t.match(updates, [{ seq: 1 }, { prevSeq: 1, from: 2, seq: 3 }], 'or has all of it in one, once it has read');
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 3');
});

t.test('the channel that is furthest behind is where all of them go on', async (t) => {
  const fixture = new FeedFixture();
  for (let n = 0; n < 12; n++) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  reader.says(filter('QUOTES', { epoch, fromSeq: 2 }));
  reader.says(filter('ORDERBOOK', { poolAddress: sampleQuote({ n: 0 }).pool.poolAddress }));
  reader.unreadBytes = 1 << 20;
  fixture.clock.advance(100);
  fixture.do(enter(sampleQuote({ n: 12 })));
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 6');
});

t.test('a reader that lacks pages of its snapshot is given no number to resume from', async (t) => {
  const fixture = new FeedFixture({ limits: { wsSnapshotPageQuotes: 2 } });
  for (let n = 0; n < 5; n++) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  reader.says(filter('TRADES'));
  reader.unreadBytes = 1 << 20;
  reader.says(filter('QUOTES', { snapshot: true }));
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow');
  fixture.gateway.closeReaders(RESTART, 'service restart');
  t.strictSame(reader.closedWith, { code: RESTART, reason: 'service restart' });
});

t.test('a reader that has its whole snapshot, or needs none, resumes from a number', async (t) => {
  const fixture = new FeedFixture({ limits: { wsSnapshotPageQuotes: 2 } });
  for (let n = 0; n < 5; n++) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  reader.says(filter('QUOTES', { snapshot: true }));
  fixture.clock.advance(100);
  t.match(
    takeMessages(reader).flatMap((message) => (message.type === 'QUOTES_SNAPSHOT' ? [message.more] : [])),
    [true, true, false],
  );
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 5');
  reader.unreadBytes = 1 << 20;
  reader.says(filter('QUOTES', { epoch, fromSeq: 2 }));
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 2');
});

t.test('a reader of levels without its snapshot is given no number to resume from', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1 })));
  const reader = fixture.authorized();
  reader.unreadBytes = 1 << 20;
  reader.says(filter('ORDERBOOK', { poolAddress: sampleQuote({ n: 0 }).pool.poolAddress }));
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow');
  reader.unreadBytes = 0;
  fixture.clock.advance(100);
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 1');
});
