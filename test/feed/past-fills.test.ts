import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { Command } from '../../src/engine/command.js';
import { InvalidReason } from '../../src/engine/quote.js';
import type { EventHistory, TimedEvent } from '../../src/feed/event-history.js';
import { readPastFills } from '../../src/feed/past-fills.js';
import { at, enter, originAt, POOL, quoteIdOf, samplePool, sampleQuote, START, TAKER } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';
import { FeedFixture } from './feed-fixture.js';

const DAY_SECONDS = 86_400;

/** A reorg takes back all that was filled of these. */
function rewind(times: number, filled: readonly number[]): Command {
  const restated = filled.map((n) => ({ quoteId: quoteIdOf(n), state: { fillableSize: 10n, reason: null } }));
  return { type: 'REWIND_SETTLEMENT', position: at('settlement', 50, times), settlementBlock: 50, restated };
}

const filledOf = ({ feed }: FeedFixture): bigint[] => [...feed.tickers.all()].map(({ filledSize }) => filledSize);

/** The same engine's feed anew, when it has read the log. */
async function restarted({ engine }: FeedFixture, events: readonly TimedEvent[]): Promise<FeedFixture> {
  const again = new FeedFixture({ engine });
  const { index, tsMs } = engine;
  const { tickers } = again.feed;
  const past = { history: historyOf(events), tickers, start: { index, tsMs }, clock: new ManualClock() };
  await readPastFills({ ...past, groupsPerTurn: 1_000, recentFills: 10, tradesKept: 1_000, isStopped: () => false });
  tickers.flush(tsMs);
  return again;
}

/** A feed that lived, and all that it told. */
function pastOf(...more: readonly Command[]) {
  const fixture = new FeedFixture();
  for (const n of [1, 2, 3]) {
    const position = at('settlement', 50 + n);
    fixture.do(enter(sampleQuote({ n, pool: samplePool(n % 2) })));
    fixture.do({ type: 'FILL_QUOTE', quoteId: quoteIdOf(n), size: BigInt(n), origin: originAt(50 + n), position });
  }
  for (const command of more) fixture.do(command);
  return { fixture, events: eventsOf(fixture) };
}

/** All that it told. */
function eventsOf({ committed }: FeedFixture): TimedEvent[] {
  return committed.flatMap(({ events, stamp }) => events.map((event) => ({ event, tsMs: stamp.tsMs })));
}

function historyOf(events: readonly TimedEvent[]): EventHistory {
  return {
    since: 0,
    read: () => Promise.resolve(null),
    async *readSince(sinceMs) {
      for (const event of events) if (event.tsMs >= sinceMs) yield [event];
      await Promise.resolve();
    },
  };
}

t.test('after a restart the fills of the day before are counted from the log', async (t) => {
  const { fixture, events } = pastOf();
  t.strictSame(filledOf(fixture), [4n, 2n]);
  const again = new FeedFixture({ engine: fixture.engine });
  t.ok(
    filledOf(again).every((size) => size === 0n),
    'not yet',
  );
  const clock = new ManualClock();
  const { index, tsMs } = fixture.engine;
  const { tickers } = again.feed;
  const past = {
    history: historyOf(events),
    tickers,
    start: { index, tsMs },
    clock,
    groupsPerTurn: 1_000,
    recentFills: 10,
    tradesKept: 1_000,
  };
  await readPastFills({ ...past, isStopped: () => false });
  t.ok(tickers.flush(tsMs).length > 0, 'and readers get the changed tickers');
  t.strictSame(filledOf(again), filledOf(fixture));
});

t.test('whatever else the log tells of is no fill', async (t) => {
  const cancelAt = at('settlement', 54);
  const { fixture, events } = pastOf(
    { type: 'PUBLISH_RFQ', rfq: { poolAddress: POOL.poolAddress, side: 'ask', size: 9n, taker: TAKER, body: '{}' } },
    { type: 'DEPLOY_POOL', pool: samplePool(0), deployedAt: START, origin: originAt(54), position: cancelAt },
    { type: 'CANCEL_QUOTE', quoteId: quoteIdOf(3), origin: originAt(54, 1), position: cancelAt },
  );
  t.strictSame(filledOf(await restarted(fixture, events)).sort(), [2n, 4n]);
});

t.test('what a quote was filled before it entered is not counted after a restart either', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1 }), { fillableSize: 7n }));
  const restated = [{ quoteId: quoteIdOf(1), state: { fillableSize: 5n, reason: null } }];
  fixture.do({ type: 'REWIND_SETTLEMENT', position: at('settlement', 50, 1), settlementBlock: 50, restated });
  t.strictSame(filledOf(fixture), [2n]);
  t.strictSame(filledOf(await restarted(fixture, eventsOf(fixture))), [2n]);
});

t.test('what a reorg says of a quote that it leaves invalid is counted alike before and after a restart', async (t) => {
  const restated = [
    { quoteId: quoteIdOf(3), state: { fillableSize: 5n, reason: InvalidReason.InsufficientCollateralBalance } },
  ];
  const position = at('settlement', 50, 1);
  const { fixture, events } = pastOf({ type: 'REWIND_SETTLEMENT', position, settlementBlock: 50, restated });
  t.strictSame(filledOf(fixture), [6n, 2n]);
  t.strictSame(filledOf(await restarted(fixture, events)), [6n, 2n]);
});

t.test('a first fill that only a reorg tells of is counted after a restart, too', async (t) => {
  const fixture = new FeedFixture();
  fixture.do(enter(sampleQuote({ n: 1 })));
  const restated = [{ quoteId: quoteIdOf(1), state: { fillableSize: 6n, reason: null } }];
  fixture.do({ type: 'REWIND_SETTLEMENT', position: at('settlement', 50, 1), settlementBlock: 50, restated });
  t.strictSame(filledOf(fixture), [4n]);
  t.strictSame(filledOf(await restarted(fixture, eventsOf(fixture))), [4n]);
});

t.test(
  'a pool that was filled, and is neither quoted nor deployed any more, has a ticker after a restart',
  async (t) => {
    const fixture = new FeedFixture();
    fixture.do(enter(sampleQuote({ n: 1 })));
    const position = at('settlement', 51);
    fixture.do({ type: 'FILL_QUOTE', quoteId: quoteIdOf(1), size: 3n, origin: originAt(51), position });
    fixture.do({ type: 'CANCEL_QUOTE', quoteId: quoteIdOf(1), origin: originAt(51, 1), position });
    t.strictSame(filledOf(fixture), [3n]);
    t.strictSame(filledOf(await restarted(fixture, eventsOf(fixture))), [3n]);
  },
);

t.test('while the log has lost a part of the day, volumes are not known', async (t) => {
  const { fixture, events } = pastOf();
  const { index, tsMs } = fixture.engine;
  const volumesWith = async (since: number): Promise<(bigint | null)[][]> => {
    const { tickers } = new FeedFixture({ engine: fixture.engine }).feed;
    const kept = events.filter(({ event }) => event.seq > since);
    const past = { history: { ...historyOf(kept), since }, tickers, start: { index, tsMs }, clock: new ManualClock() };
    await readPastFills({ ...past, groupsPerTurn: 1_000, recentFills: 10, tradesKept: 1_000, isStopped: () => false });
    const volumes = (): (bigint | null)[] => Array.from(tickers.all(), ({ volume }) => volume);
    tickers.flush(tsMs);
    const now = volumes();
    tickers.flush(tsMs + DAY_SECONDS * 1_000);
    return [now, volumes()];
  };
  const pools = [...fixture.feed.tickers.all()].length;
  t.ok(pools > 0);
  const [unknown, known] = [new Array<null>(pools).fill(null), new Array<bigint>(pools).fill(0n)];
  t.strictSame(await volumesWith(1), [unknown, known], 'a day later they are');
  t.strictSame(await volumesWith(0), [known, known]);
});

t.test('others get their turn while the log is read', async (t) => {
  const { fixture, events } = pastOf();
  const { index, tsMs } = fixture.engine;
  const { tickers } = new FeedFixture({ engine: fixture.engine }).feed;
  const clock = new ManualClock();
  const past = { history: historyOf(events), tickers, start: { index, tsMs }, clock, isStopped: () => false };
  const isRead = readPastFills({ ...past, groupsPerTurn: 2, recentFills: 10, tradesKept: 1_000 }).then(() => true);
  for (let groups = 2; groups <= events.length; groups += 2) {
    await turn();
    t.equal(clock.pending, 1, `after ${groups} groups`);
    clock.advance(0);
  }
  t.equal(await isRead, true);
});

t.test('a stop ends the reading', async (t) => {
  const { fixture, events } = pastOf();
  const again = new FeedFixture({ engine: fixture.engine });
  const { index, tsMs } = fixture.engine;
  const { tickers } = again.feed;
  const past = { history: historyOf(events), tickers, start: { index, tsMs }, clock: new ManualClock() };
  await readPastFills({ ...past, groupsPerTurn: 1, recentFills: 10, tradesKept: 1_000, isStopped: () => true });
  t.strictSame(tickers.flush(tsMs), []);
});

t.test('what a reorg took back is not counted again after a restart, and another one may take back more', async (t) => {
  const { fixture, events } = pastOf(rewind(1, [3]));
  t.strictSame(filledOf(fixture), [1n, 2n]);
  const again = await restarted(fixture, events);
  t.strictSame(filledOf(again), [1n, 2n]);
  again.do(rewind(2, [2]));
  t.strictSame(filledOf(again), [1n, 0n]);
});

t.test('what the new branch of a reorg filled more of is counted again after a restart', async (t) => {
  const restated = [{ quoteId: quoteIdOf(2), state: { fillableSize: 5n, reason: null } }];
  const position = at('settlement', 50, 1);
  const { fixture, events } = pastOf({ type: 'REWIND_SETTLEMENT', position, settlementBlock: 50, restated });
  t.strictSame(filledOf(fixture), [4n, 5n]);
  t.strictSame(filledOf(await restarted(fixture, events)), [4n, 5n]);
});

t.test('a fill is taken back also where the quote was filled before all that is remembered', async (t) => {
  const fixture = new FeedFixture();
  const fill = (blockNumber: number, size: bigint): Command => {
    const position = at('settlement', blockNumber);
    return { type: 'FILL_QUOTE', quoteId: quoteIdOf(1), size, origin: originAt(blockNumber), position };
  };
  fixture.do(enter(sampleQuote({ n: 1, deadline: START + 10 * DAY_SECONDS })));
  fixture.do(fill(51, 3n));
  fixture.clock.advance(2 * DAY_SECONDS * 1_000);
  fixture.do(fill(52, 2n));
  const again = await restarted(fixture, eventsOf(fixture));
  t.strictSame(filledOf(again), [2n]);
  const restated = [{ quoteId: quoteIdOf(1), state: { fillableSize: 7n, reason: null } }];
  again.do({ type: 'REWIND_SETTLEMENT', position: at('settlement', 51), settlementBlock: 51, restated });
  t.strictSame(filledOf(again), [0n]);
});

t.test('the log is read from a day before the start', async (t) => {
  const { fixture, events } = pastOf();
  const { tickers } = new FeedFixture({ engine: fixture.engine }).feed;
  const asked: [sinceMs: number, throughIndex: number][] = [];
  const history: EventHistory = {
    ...historyOf(events),
    async *readSince(...range) {
      asked.push(range);
      yield* historyOf(events).readSince(...range);
    },
  };
  const start = { index: 6, tsMs: START * 1000 };
  const past = {
    history,
    tickers,
    start,
    clock: new ManualClock(),
    groupsPerTurn: 1_000,
    recentFills: 10,
    tradesKept: 1_000,
  };
  await readPastFills({ ...past, isStopped: () => false });
  t.strictSame(asked, [[(START - 86_400) * 1000, 6]]);
});
