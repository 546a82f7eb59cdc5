import t from 'tap';
import type { Command } from '../../src/engine/command.js';
import type { EventHistory, TimedEvent } from '../../src/feed/event-history.js';
import { readPastFills } from '../../src/feed/past-fills.js';
import { at, enter, originAt, quoteIdOf, samplePool, sampleQuote, START } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';
import { FeedFixture } from './feed-fixture.js';

/** A reorg takes back all that was filled of these. */
function rewind(times: number, filled: readonly number[]): Command {
  const restated = filled.map((n) => ({ quoteId: quoteIdOf(n), state: { fillableSize: 10n, reason: null } }));
  return { type: 'REWIND_SETTLEMENT', position: at('settlement', 50, times), settlementBlock: 50, restated };
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
  const events = fixture.committed.flatMap(({ events, stamp }) =>
    events.map((event): TimedEvent => ({ event, tsMs: stamp.tsMs })),
  );
  return { fixture, events };
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
  const filled = (each: FeedFixture) => [...each.feed.tickers.all()].map(({ filledSize }) => filledSize);
  t.strictSame(filled(fixture), [4n, 2n]);
  const again = new FeedFixture({ engine: fixture.engine });
  t.ok(
    filled(again).every((size) => size === 0n),
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
  };
  await readPastFills({ ...past, isStopped: () => false });
  t.ok(tickers.flush(tsMs).length > 0, 'and readers are told');
  t.strictSame(filled(again), filled(fixture));
});

t.test('a stop ends the reading', async (t) => {
  const { fixture, events } = pastOf();
  const again = new FeedFixture({ engine: fixture.engine });
  const { index, tsMs } = fixture.engine;
  const { tickers } = again.feed;
  const past = { history: historyOf(events), tickers, start: { index, tsMs }, clock: new ManualClock() };
  await readPastFills({ ...past, groupsPerTurn: 1, recentFills: 10, isStopped: () => true });
  t.strictSame(tickers.flush(tsMs), []);
});

t.test('what a reorg took back is not counted again after a restart, and another one may take back more', async (t) => {
  const { fixture, events } = pastOf(rewind(1, [3]));
  const filled = (each: FeedFixture) => [...each.feed.tickers.all()].map(({ filledSize }) => filledSize);
  t.strictSame(filled(fixture), [1n, 2n]);
  const again = new FeedFixture({ engine: fixture.engine });
  const { index, tsMs } = fixture.engine;
  const { tickers } = again.feed;
  const past = { history: historyOf(events), tickers, start: { index, tsMs }, clock: new ManualClock() };
  await readPastFills({ ...past, groupsPerTurn: 1_000, recentFills: 10, isStopped: () => false });
  tickers.flush(tsMs);
  t.strictSame(filled(again), filled(fixture));
  again.do(rewind(2, [2]));
  t.strictSame(filled(again), [1n, 0n]);
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
  const past = { history, tickers, start, clock: new ManualClock(), groupsPerTurn: 1_000, recentFills: 10 };
  await readPastFills({ ...past, isStopped: () => false });
  t.strictSame(asked, [[(START - 86_400) * 1000, 6]]);
});
