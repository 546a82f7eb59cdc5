import t from 'tap';
import { limits } from '../../src/config/limits.js';
import { enter, sampleQuote } from '../engine/samples.js';
import { FeedFixture, filter, takeMessages } from '../feed/feed-fixture.js';
import { returned } from '../feed/held-log.js';
import { socketLimits } from './gateway-fixture.js';

t.test('a resumed reader gets from the log what is not in memory, then live events', async (t) => {
  const { fixture, log, reader, missed } = returned();
  await log.answer(missed);
  t.match(takeMessages(reader), [{ seq: 1 }, { seq: 2 }, { seq: 3 }]);
  fixture.do(enter(sampleQuote({ n: 3 })));
  t.match(takeMessages(reader), [{ seq: 4, prevSeq: 3 }]);
});

t.test('a snapshot of many pages is made in turns, however fast its reader takes it', async (t) => {
  const fixture = new FeedFixture({ limits: { wsSnapshotPageQuotes: 1 }, slicesPerTurn: 3 });
  for (let n = 0; n < 5; n++) fixture.do(enter(sampleQuote({ n })));
  const reader = fixture.authorized();
  takeMessages(reader);
  reader.says(filter('QUOTES', { snapshot: true }));
  t.equal(takeMessages(reader).length, 1 + 2, 'the answer to FILTER first');
  fixture.clock.advance(0);
  t.equal(takeMessages(reader).length, 3);
});

t.test('who comes back to a log that has nothing yet asks it again, after a while', async (t) => {
  const { fixture, log, reader, missed } = returned();
  await log.answer([]);
  await t.rejects(log.answer(missed), { message: 'nobody asked' });
  fixture.clock.advance(socketLimits.wsCatchUpMs);
  await log.answer(missed);
  t.match(takeMessages(reader), [{ seq: 1 }, { seq: 2 }, { seq: 3 }]);
});

t.test('who unsubscribes while the log is read is sent nothing more of it', async (t) => {
  const { fixture, log, reader, missed } = returned();
  reader.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  takeMessages(reader);
  await log.answer(missed);
  fixture.do(enter(sampleQuote({ n: 3 })));
  t.strictSame(takeMessages(reader), []);
});

t.test('who goes away while the log is read is not told what it says', async (t) => {
  const { fixture, log, reader, missed } = returned();
  fixture.net.drop(reader);
  await log.answer(missed);
  t.strictSame([reader.topics.size, fixture.feed.quotes.size], [0, 0]);
});

t.test('a reader that resumes while the log is busy waits, and gets all events', async (t) => {
  const { fixture, log, reader, missed } = returned();
  await log.answer('BUSY');
  t.strictSame(takeMessages(reader), []);
  await t.rejects(log.answer(missed), { message: 'nobody asked' }, 'it does not ask at once');
  fixture.clock.advance(limits.logBusyMs);
  await log.answer(missed);
  t.match(takeMessages(reader), [{ seq: 1 }, { seq: 2 }, { seq: 3 }]);
});

t.test(
  'a reader that resumes from an unreadable log is closed with an internal error, and may reconnect',
  async (t) => {
    const { fixture, log, reader } = returned();
    const fault = new Error('EIO');
    await log.fail(fault);
    t.strictSame(reader.closedWith, { code: 1011, reason: 'Internal server error' });
    t.strictSame(fixture.faults, [fault]);
  },
);

t.test('a log that cannot be read is no concern of who has gone away meanwhile', async (t) => {
  const { fixture, log, reader } = returned();
  reader.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', body: null });
  await log.fail(new Error('EIO'));
  t.strictSame([reader.closedWith, fixture.faults], [null, []]);
});
