import t from 'tap';
import { limits } from '../../src/config/limits.js';
import type { ServerMessageV2 } from '../../src/wire/feed-messages.js';
import { at, enter, originAt, POOL, quoteIdOf, samplePool, sampleQuote, START, TAKER } from '../engine/samples.js';
import { epoch, FeedFixture, type FeedFixtureOptions, filter, takeMessages } from './feed-fixture.js';

const { poolAddress } = POOL;
/** As long as real ones. */
const ASK = 900_000_000_000_000_000n;
const BID = 100_000_000_000_000_000n;
const STEP = 1_000_003n;
const SIZE = 17_628_806_926_561_717_905_000n;

/** A book whose levels have one quote each. */
class Market {
  readonly fixture: FeedFixture;
  #n = 0;

  constructor(options: FeedFixtureOptions = {}) {
    this.fixture = new FeedFixture(options);
  }

  /** Asks at these steps above the middle, and bids as far below it. */
  quote(steps: Iterable<number>, sides: readonly ('bid' | 'ask')[] = ['ask', 'bid']): void {
    for (const step of steps) {
      for (const side of sides) {
        const isBuy = side === 'bid';
        const price = isBuy ? BID - BigInt(step) * STEP : ASK + BigInt(step) * STEP;
        this.fixture.submit(
          enter(sampleQuote({ n: this.#n++, price, isBuy, size: SIZE, deadline: START + 100_000 }), {}, 60),
        );
      }
    }
    this.fixture.commit();
  }

  /** Messages to a reader that resumes from `fromSeq`. */
  comesBack(fromSeq: number, depth: number): ServerMessageV2[] {
    const reader = this.fixture.authorized();
    reader.says(filter('ORDERBOOK', { poolAddress, depth, epoch, fromSeq }));
    this.fixture.clock.advance(limits.wsCatchUpMs);
    return takeMessages(reader).filter(({ type }) => type !== 'INFO' && type !== 'HEARTBEAT');
  }
}

function* range(from: number, to: number): Generator<number> {
  for (let step = from; step < to; step++) yield step;
}

t.test('what was missed names each price once', (t) => {
  const market = new Market();
  market.quote(range(0, 5), ['ask']);
  const [update] = market.comesBack(0, 2);
  if (update?.type !== 'ORDERBOOK_UPDATE') throw new Error('a resumed reader gets an update');
  const prices = update.body.asks.map(({ price }) => BigInt(price));
  t.strictSame(
    prices.sort(),
    [...range(0, 5)].map((step) => ASK + BigInt(step) * STEP),
  );
  t.end();
});

t.test('a resumed reader gets the level that replaced a removed one, though no level is hidden now', (t) => {
  const market = new Market();
  market.quote(range(0, 3), ['ask']);
  const { seq } = market.fixture.feed;
  const position = at('settlement', 61);
  market.fixture.do({ type: 'CANCEL_QUOTE', quoteId: quoteIdOf(0), origin: originAt(61), position });
  const [update] = market.comesBack(seq, 2);
  if (update?.type !== 'ORDERBOOK_UPDATE') throw new Error('a resumed reader gets an update');
  const told = new Map(update.body.asks.map(({ price, count }) => [BigInt(price), count]));
  t.equal(told.get(ASK), 0);
  t.equal(told.get(ASK + 2n * STEP), 1);
  t.end();
});

t.test('a catch-up update has the time of its event, whatever other readers follow the book', (t) => {
  const market = new Market();
  const { fixture } = market;
  fixture.authorized().says(filter('ORDERBOOK', { poolAddress, depth: 2 }));
  market.quote([0], ['ask']);
  fixture.clock.advance(5_000);
  fixture.do(enter(sampleQuote({ n: 100, pool: samplePool(1) })));
  t.match(market.comesBack(0, 2), [{ type: 'ORDERBOOK_UPDATE', seq: 2, tsMs: (START + 5) * 1_000 }]);
  t.end();
});

t.test('each update follows the previous one, though other readers resume in between', (t) => {
  const market = new Market();
  const { fixture } = market;
  const stays = fixture.authorized();
  stays.says(filter('ORDERBOOK', { poolAddress, depth: 2 }));
  market.quote([9, 8], ['ask']);
  market.quote([7], ['ask']);
  t.match(market.comesBack(0, 2), [{ type: 'ORDERBOOK_UPDATE', prevSeq: 0, seq: 3 }]);
  market.quote([6], ['ask']);
  t.match(
    takeMessages(stays).filter(({ type }) => type === 'ORDERBOOK_UPDATE'),
    [
      { prevSeq: 0, seq: 1 },
      { prevSeq: 1, seq: 2 },
      { prevSeq: 2, seq: 3 },
      { prevSeq: 3, seq: 4 },
    ],
  );
  t.end();
});

t.test('who comes back and missed nothing goes on from its own number, whatever happened elsewhere', (t) => {
  const market = new Market();
  const { fixture } = market;
  market.quote([9], ['ask']);
  fixture.do(enter(sampleQuote({ n: 100, pool: samplePool(1) })));
  const reader = fixture.authorized();
  reader.says(filter('ORDERBOOK', { poolAddress, epoch, fromSeq: 1 }));
  market.quote([8], ['ask']);
  t.match(takeMessages(reader), [
    { type: 'INFO', body: { seq: 1 } },
    { type: 'ORDERBOOK_UPDATE', prevSeq: 1, seq: 3 },
  ]);
  t.end();
});

t.test('and so it does where others began to follow the book after that number', (t) => {
  const market = new Market();
  const { fixture } = market;
  market.quote([9], ['ask']);
  fixture.do(enter(sampleQuote({ n: 100, pool: samplePool(1) })));
  const [newer, older] = [fixture.authorized(), fixture.authorized()];
  newer.says(filter('ORDERBOOK', { poolAddress }));
  older.says(filter('ORDERBOOK', { poolAddress, epoch, fromSeq: 1 }));
  for (const reader of [newer, older]) takeMessages(reader);
  market.quote([8], ['ask']);
  for (const reader of [newer, older])
    t.match(takeMessages(reader), [{ type: 'ORDERBOOK_UPDATE', prevSeq: 1, seq: 3 }]);
  t.end();
});

t.test('a resumed reader gets no price of quotes private to other takers', (t) => {
  const market = new Market();
  market.fixture.do(enter(sampleQuote({ n: 1, taker: TAKER })));
  t.strictSame(market.comesBack(0, 2), []);
  market.fixture.do(enter(sampleQuote({ n: 2, price: 99n })));
  t.match(market.comesBack(0, 2), [{ type: 'ORDERBOOK_UPDATE', from: 2, body: { asks: { length: 1 } } }]);
  t.end();
});

t.test('who missed more levels than one update may have begins anew, with a snapshot', (t) => {
  const market = new Market({ limits: { changedLevels: 1 } });
  market.quote(range(0, 5), ['ask']);
  t.match(market.comesBack(0, 2), [{ type: 'ORDERBOOK_UPDATE', body: { asks: { length: 5 } } }]);
  market.quote(range(5, 6), ['ask']);
  t.match(market.comesBack(0, 2), [
    { type: 'RESYNC', channel: 'ORDERBOOK', seq: 6, epoch, reason: 'TOO_OLD' },
    { type: 'ORDERBOOK_SNAPSHOT', seq: 6, body: { asks: { length: 2 } } },
  ]);
  t.end();
});

t.test('levels that may have been pushed out since count in that', (t) => {
  const market = new Market({ limits: { changedLevels: 0 } });
  market.quote(range(10, 16), ['ask']);
  const { seq } = market.fixture.feed;
  market.quote(range(8, 10), ['ask']);
  t.match(market.comesBack(seq, 2), [{ type: 'ORDERBOOK_UPDATE', body: { asks: { length: 4 } } }]);
  market.quote(range(7, 8), ['ask']);
  t.match(market.comesBack(seq, 2), [{ type: 'RESYNC' }, { type: 'ORDERBOOK_SNAPSHOT' }]);
  const { net, feed } = market.fixture;
  for (const socket of [...net.sockets]) net.drop(socket);
  t.equal(feed.levels.size, 0, 'and each of them followed the book once');
  t.end();
});

t.test('who was begun anew follows like anyone else', (t) => {
  const market = new Market({ limits: { changedLevels: 0 } });
  market.quote(range(5, 10), ['ask']);
  const reader = market.fixture.authorized();
  reader.says(filter('ORDERBOOK', { poolAddress, depth: 2, epoch, fromSeq: 0 }));
  market.fixture.clock.advance(limits.wsCatchUpMs);
  takeMessages(reader);
  market.quote([4], ['ask']);
  t.match(takeMessages(reader), [{ type: 'ORDERBOOK_UPDATE', seq: 6, prevSeq: 5 }]);
  reader.says({ type: 'UNSUBSCRIBE', channel: 'ORDERBOOK', body: null });
  t.equal(market.fixture.feed.levels.size, 0);
  t.end();
});

t.test('a slow reader that missed more than that has a snapshot once it has read', (t) => {
  for (const [more, type] of [
    [2, 'ORDERBOOK_UPDATE'],
    [3, 'ORDERBOOK_SNAPSHOT'],
  ] as const) {
    const market = new Market({ limits: { changedLevels: 0 } });
    market.quote(range(10, 12));
    const reader = market.fixture.authorized();
    reader.says(filter('ORDERBOOK', { poolAddress, depth: 2 }));
    reader.unreadBytes = 1 << 20;
    market.fixture.clock.advance(limits.wsCatchUpMs);
    takeMessages(reader);
    // Each that comes is one level, and the one that it pushes out another.
    market.quote([...range(10 - more, 10)].reverse(), ['ask']);
    reader.unreadBytes = 0;
    market.fixture.clock.advance(limits.wsCatchUpMs);
    t.match(takeMessages(reader), [{ type }], `${more} came`);
  }
  t.end();
});

t.test('a slow reader that missed nothing is sent nothing, and has everything all the while', (t) => {
  const market = new Market();
  const { fixture } = market;
  const reader = fixture.authorized();
  reader.says(filter('ORDERBOOK', { poolAddress }));
  reader.unreadBytes = 1 << 20;
  fixture.clock.advance(limits.wsCatchUpMs);
  takeMessages(reader);
  fixture.do(enter(sampleQuote({ n: 100, pool: samplePool(1) })));
  t.equal(fixture.gateway.overBudgetReason(reader), 'Too slow, resume from seq 1');
  reader.unreadBytes = 0;
  fixture.clock.advance(limits.wsCatchUpMs);
  t.strictSame(takeMessages(reader), []);
  t.equal(reader.topics.size, 1, 'it follows the book again');
  t.end();
});

t.test('of two slow readers the later is not begun anew for what the earlier missed', (t) => {
  const market = new Market({ limits: { changedLevels: 0 } });
  const { fixture } = market;
  const lags = () => {
    const reader = fixture.authorized();
    reader.says(filter('ORDERBOOK', { poolAddress, depth: 2 }));
    takeMessages(reader);
    reader.unreadBytes = 1 << 20;
    fixture.clock.advance(limits.wsCatchUpMs);
    return reader;
  };
  const earlier = lags();
  market.quote([...range(10, 15)].reverse(), ['ask']);
  const later = lags();
  market.quote([9], ['ask']);
  for (const reader of [earlier, later]) reader.unreadBytes = 0;
  fixture.clock.advance(limits.wsCatchUpMs);
  t.match(takeMessages(earlier), [{ type: 'ORDERBOOK_SNAPSHOT' }]);
  t.match(takeMessages(later), [{ type: 'ORDERBOOK_UPDATE', body: { asks: { length: 2 } } }]);
  t.end();
});

t.test('each of two slow readers gets all that it missed, in either order of reading', (t) => {
  const market = new Market();
  const { fixture } = market;
  const readers = [fixture.authorized(), fixture.authorized()];
  for (const reader of readers) {
    reader.says(filter('ORDERBOOK', { poolAddress, depth: 2 }));
    reader.unreadBytes = 1 << 20;
  }
  fixture.clock.advance(limits.wsCatchUpMs);
  market.quote([5], ['ask']);
  for (const reader of readers) {
    takeMessages(reader);
    reader.unreadBytes = 0;
    fixture.clock.advance(limits.wsCatchUpMs);
    t.match(takeMessages(reader), [{ type: 'ORDERBOOK_UPDATE', seq: 1, body: { asks: { length: 1 } } }]);
  }
  t.end();
});

t.test('the largest update leaves room for all that a reader may have unread before it', (t) => {
  const { changedLevels, wsBookLevels, wsReplayEvents } = limits;
  const market = new Market({ limits: { changedLevels, wsBookLevels, wsReplayEvents, recentEvents: 100_000 } });
  // On each side as many are new as have been pushed out by them.
  market.quote(range(changedLevels / 2, changedLevels / 2 + wsBookLevels));
  const { seq } = market.fixture.feed;
  market.quote(range(0, changedLevels / 2));
  const reader = market.fixture.authorized();
  reader.says(filter('ORDERBOOK', { poolAddress, epoch, fromSeq: seq }));
  market.fixture.clock.advance(limits.wsCatchUpMs);
  const text = reader.received.find((each) => each.includes('ORDERBOOK_UPDATE')) ?? '';
  const levels = text.split('"price"').length - 1;
  t.equal(levels, 2 * wsBookLevels + changedLevels, 'it is as large as it may be');
  t.ok(text.length + limits.wsSlowBytes < limits.wsBufferedBytes, `${text.length} bytes`);
  t.end();
});
