import t from 'tap';
import { eventsBefore, RecentEvents, type EventHistory, type TimedEvent } from '../../src/feed/event-history.js';
import { enter, sampleQuote } from '../engine/samples.js';
import { FeedFixture } from './feed-fixture.js';

/** Ten events, and a log that has them from the one after `since` on. */
function told(since = 0) {
  const fixture = new FeedFixture();
  for (let n = 0; n < 10; n++) fixture.do(enter(sampleQuote({ n })));
  const events = fixture.committed.flatMap(({ events, stamp: { tsMs } }) => events.map((event) => ({ event, tsMs })));
  const history: EventHistory = {
    since,
    read: async (afterSeq, limit) => (afterSeq < since ? null : events.slice(afterSeq, afterSeq + limit)),
    readSince() {
      throw new Error('they are read by numbers');
    },
  };
  return { events, history, start: { index: fixture.engine.index, seq: 10 } };
}

const numbers = (events: readonly TimedEvent[] | null) => events?.map(({ event }) => event.seq);

t.test('the last events before a restart are in memory after it', async (t) => {
  const { events, history, start } = told();
  const past = await eventsBefore(start, history, 4);
  t.strictSame(numbers(past), [7, 8, 9, 10]);
  const recent = new RecentEvents(4, start.seq, past);
  t.equal(recent.since, 6);
  t.strictSame(recent.read(7, 10), events.slice(7));
  t.equal(recent.read(5, 10), null);
});

t.test('what comes after the start takes the place of the oldest', async (t) => {
  const { history, start, events } = told();
  const before = { index: start.index, seq: 8 };
  const recent = new RecentEvents(4, 8, await eventsBefore(before, history, 4));
  for (const timed of events.slice(8)) recent.push(timed);
  t.strictSame(numbers(recent.read(6, 10)), [7, 8, 9, 10]);
  t.equal(recent.since, 6);
});

t.test('where the log begins later, there are fewer', async (t) => {
  const { history, start } = told(8);
  t.strictSame(numbers(await eventsBefore(start, history, 4)), [9, 10]);
  t.equal(new RecentEvents(4, 10, await eventsBefore(start, history, 4)).since, 8);
});

t.test('where the log has no time for it or ends elsewhere, all are read from it later', async (t) => {
  const { history, start, events } = told();
  t.strictSame(await eventsBefore(start, { ...history, read: async () => 'BUSY' }, 4), []);
  t.strictSame(await eventsBefore(start, { ...history, read: async () => null }, 4), []);
  t.equal(new RecentEvents(4, start.seq, []).since, 10);
  t.equal(new RecentEvents(4, start.seq, events.slice(0, 5)).since, 10);
});

t.test('of more events than it has room for it keeps the last', async (t) => {
  const { events } = told();
  const recent = new RecentEvents(4, 10, events);
  t.strictSame([recent.since, numbers(recent.read(6, 10)), recent.read(5, 10)], [6, [7, 8, 9, 10], null]);
});
