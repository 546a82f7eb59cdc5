import t from 'tap';
import { ExpiryTimer } from '../../src/engine/expiry-timer.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { ManualClock } from '../system/manual-clock.js';
import { pick } from './driver.js';
import { ManualJournal } from './manual-journal.js';
import { enter, newEngine, plain, quoteIdOf, sampleQuote, START } from './samples.js';

/** Fewer than a book has, for tests. */
const EXPIRED_AT_ONCE = 3;

function setUp() {
  const clock = new ManualClock();
  const journal = new ManualJournal();
  const engine = newEngine();
  const time = new EngineTime(clock, START * 1000);
  const onFault = (error: unknown) => {
    throw error;
  };
  const sequencer = new Sequencer({ engine, journal, time, expiredAtOnce: EXPIRED_AT_ONCE, onFault });
  const timer = new ExpiryTimer({ engine, sequencer, time, clock, retryMs: 500 });
  time.observe(START);
  const post = async (n: number, deadline: number) => {
    sequencer.submit(enter(sampleQuote({ n, deadline })));
    await journal.flush();
  };
  const ticks = () => journal.appended.filter(({ command }) => command.type === 'TICK');
  return { clock, engine, journal, post, ticks, time, timer };
}

t.test('a quote goes in the second after its deadline, with nothing else happening', async (t) => {
  const { clock, post, ticks } = setUp();
  await post(1, START + 10);
  clock.advance(10_999);
  t.same(ticks(), []);
  clock.advance(1);
  t.same(
    pick(
      ticks().flatMap(({ events }) => events.map(plain)),
      'type',
      'why',
    ),
    [['QUOTE_REMOVED', 'EXPIRED']],
  );
});

t.test('a nearer deadline that comes later is kept as well', async (t) => {
  const { clock, engine, journal, post, ticks } = setUp();
  await post(1, START + 100);
  await post(2, START + 10);
  t.equal(clock.pending, 1, 'in place of the later one');
  clock.advance(11_000);
  t.equal(ticks().length, 1);
  await journal.flush();
  t.equal(engine.get(quoteIdOf(2)), undefined);
  clock.advance(90_000);
  t.equal(ticks().length, 2);
  t.equal(engine.get(quoteIdOf(1)), undefined);
});

t.test('a block that leaps ahead takes quotes with it', async (t) => {
  const { clock, post, ticks, time } = setUp();
  await post(1, START + 1_000);
  time.observe(START + 1_001);
  clock.advance(0);
  t.equal(ticks().length, 1);
});

t.test('what a restart finds in the book goes on time too, with no block read since', async (t) => {
  const engine = newEngine();
  engine.apply(enter(sampleQuote({ n: 1, deadline: START + 10 })), { index: 1, tsMs: START * 1000 });
  const clock = new ManualClock();
  const journal = new ManualJournal();
  const time = new EngineTime(clock, START * 1000);
  time.observe(START);
  const sequencer = new Sequencer({
    engine,
    journal,
    time,
    expiredAtOnce: EXPIRED_AT_ONCE,
    onFault: (error) => t.error(error),
  });
  new ExpiryTimer({ engine, sequencer, time, clock, retryMs: 500 });
  clock.advance(11_000);
  t.equal(engine.get(quoteIdOf(1)), undefined);
});

t.test('a quote is not let go of early when engine time stands still', async (t) => {
  const { clock, post, ticks, time } = setUp();
  clock.advance(5_000);
  time.observe(START);
  await post(1, START + 5);
  clock.advance(5_999);
  t.same(ticks(), []);
  clock.advance(20);
  t.equal(ticks().length, 1);
});

t.test('it is tried again when the journal takes no record', async (t) => {
  const { clock, journal, post, ticks } = setUp();
  await post(1, START + 10);
  journal.refusing = 'BUSY';
  clock.advance(11_000);
  t.same(ticks(), []);
  journal.refusing = null;
  clock.advance(499);
  t.same(ticks(), []);
  clock.advance(1);
  t.equal(ticks().length, 1);
});

t.test('a wait longer than timers are made for is waited in parts', async (t) => {
  const { clock, post, ticks } = setUp();
  const days = 60 * 24 * 60 * 60;
  await post(1, START + days);
  clock.advance((days + 1) * 1000);
  t.same(ticks().length, 1);
});

t.test('nothing waits when nothing is due, or after a stop', async (t) => {
  const { clock, journal, post, ticks, timer, time } = setUp();
  t.equal(clock.pending, 0);
  await post(1, START + 10);
  t.equal(clock.pending, 1);
  clock.advance(11_000);
  await journal.flush();
  t.equal(clock.pending, 0, 'the last quote went');
  await post(2, START + 20);
  t.equal(clock.pending, 1);
  timer.stop();
  t.equal(clock.pending, 0);
  time.observe(START + 1_000);
  clock.advance(60_000);
  t.equal(ticks().length, 1, 'that of the first quote');
});

t.test('nothing waits when another command has let go of all that was due', async (t) => {
  const { clock, engine, post, ticks, time } = setUp();
  await post(1, START + 10);
  time.observe(START + 11);
  await post(2, START);
  t.equal(engine.exportState().orders.length, 0);
  t.equal(clock.pending, 0);
  t.same(ticks(), []);
});

t.test('a commit that changes nothing of what is due next leaves the clock as it is set', async (t) => {
  const { clock, journal, post, ticks } = setUp();
  await post(1, START + 10);
  let asked = 0;
  const after = clock.after.bind(clock);
  clock.after = (delayMs, task) => {
    asked += 1;
    return after(delayMs, task);
  };
  await post(2, START + 100);
  await post(3, START + 100);
  t.equal(asked, 0);
  journal.refusing = 'BUSY';
  clock.advance(11_000);
  journal.refusing = null;
  await journal.flush();
  clock.advance(499);
  t.same(ticks(), [], 'also while it waits to try again');
});

t.test('it asks for no wait that timers are not made for, and for none so short that it never rests', async (t) => {
  const { clock, post, time } = setUp();
  const waits: number[] = [];
  const after = clock.after.bind(clock);
  clock.after = (delayMs, task) => {
    waits.push(delayMs);
    return after(delayMs, task);
  };
  await post(1, START + 60 * 24 * 60 * 60);
  t.strictSame(waits.splice(0), [24 * 60 * 60 * 1000]);
  // Engine time stands a millisecond before the deadline for the next six seconds.
  clock.advance(5_999);
  time.observe(START);
  waits.length = 0;
  await post(2, START + 5);
  clock.advance(5_000);
  t.ok(waits.length > 0 && waits.every((waitMs) => waitMs >= 20), `${waits.length} waits`);
});

t.test('where more is due than one record is to hold, it goes in several, a commit for each', async (t) => {
  const { clock, engine, journal, post } = setUp();
  for (let n = 1; n <= 8; n += 1) await post(n, START + 10);
  const gone = () => journal.appended.slice(8).map(({ command, events }) => [command.type, events.length]);
  clock.advance(11_000);
  clock.advance(1_000);
  t.strictSame(gone(), [['EXPIRE_QUOTES', 3]], 'the next waits until this one is committed');
  for (const part of [2, 3]) {
    await journal.flush();
    t.equal(gone().length, part - 1, 'others have their turn first');
    clock.advance(1);
    t.equal(gone().length, part);
  }
  t.strictSame(gone().slice(1), [
    ['EXPIRE_QUOTES', 3],
    ['TICK', 2],
  ]);
  await journal.flush();
  t.equal(engine.orders().valid.length, 0);
  t.equal(clock.pending, 0);
});

t.test('a part that the journal does not take is tried again', async (t) => {
  const { clock, engine, journal, post } = setUp();
  for (let n = 1; n <= 4; n += 1) await post(n, START + 10);
  journal.refusing = 'BUSY';
  clock.advance(11_000);
  t.equal(engine.orders().valid.length, 4);
  journal.refusing = null;
  clock.advance(500);
  t.equal(engine.orders().valid.length, 1);
});
