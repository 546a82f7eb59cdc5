import t from 'tap';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { ManualClock } from '../system/manual-clock.js';
import { numbers } from './driver.js';
import { ManualJournal } from './manual-journal.js';
import { at, enter, newEngine, originAt, samplePool, sampleQuote, START } from './samples.js';

function setUp(engine = newEngine()) {
  const clock = new ManualClock();
  const journal = new ManualJournal();
  const time = new EngineTime(clock, 0);
  time.observe(START);
  const faults: unknown[] = [];
  const sequencer = new Sequencer({ engine, journal, time, expiredAtOnce: 3, onFault: (error) => faults.push(error) });
  const handed: number[][] = [];
  sequencer.onEvents((records) => handed.push(records.map(({ stamp }) => stamp.index)));
  const post = (n: number) => sequencer.submit(enter(sampleQuote({ n })));
  return { clock, engine, faults, handed, journal, post, sequencer, time };
}

t.test('a command is numbered, stamped, applied and appended at once', async (t) => {
  const { clock, engine, journal, post } = setUp();
  post(1);
  clock.advance(40);
  const submitted = post(2);
  t.match(submitted, { refusal: null, index: 2, events: [{ type: 'QUOTE_POSTED', seq: 2 }] });
  t.equal(engine.index, 2);
  t.same(
    journal.appended.map(({ stamp }) => stamp),
    [
      { index: 1, tsMs: START * 1000 },
      { index: 2, tsMs: START * 1000 + 40 },
    ],
  );
  t.equal(journal.appended[1]?.command.type, 'ENTER_QUOTE');
  t.equal(journal.appended[1]?.events[0]?.seq, 2);
});

t.test('nothing happens while the journal takes no record', async (t) => {
  const { engine, journal, post } = setUp();
  journal.refusing = 'STORAGE_FULL';
  t.same(post(1), { refusal: 'STORAGE_FULL' });
  journal.refusing = 'BUSY';
  t.same(post(1), { refusal: 'BUSY' });
  t.equal(engine.index, 0);
  t.same(journal.appended, []);
  journal.refusing = null;
  t.match(post(1), { refusal: null, index: 1 });
});

t.test('of several commands all are applied or none', async (t) => {
  const { engine, journal, sequencer } = setUp();
  const commands = [1, 2].map((n) => enter(sampleQuote({ n })));
  journal.refusing = 'BUSY';
  t.equal(sequencer.submitAll(commands), 'BUSY');
  t.equal(engine.index, 0);
  journal.refusing = null;
  t.equal(sequencer.submitAll(commands), null);
  t.same(
    journal.appended.map(({ stamp }) => stamp.index),
    [1, 2],
  );
});

t.test('listeners get what is durable, a group at a time, in order', async (t) => {
  const { handed, journal, post } = setUp();
  for (const n of [1, 2, 3]) post(n);
  t.same(handed, [], 'listeners get nothing before it is durable');
  journal.commit(2);
  t.same(handed, [[1, 2]]);
  post(4);
  journal.commit(4);
  t.same(handed, [
    [1, 2],
    [3, 4],
  ]);
});

t.test('a read waits for what it has seen, and not for more', async (t) => {
  const { journal, post, sequencer } = setUp();
  t.equal(sequencer.whenDurable(), null);
  post(1);
  let durable = false;
  const waiting = sequencer.whenDurable()?.then(() => (durable = true));
  post(2);
  journal.commit(1);
  await waiting;
  t.ok(durable);
  t.not(sequencer.whenDurable(), null);
  journal.commit(2);
  t.equal(sequencer.whenDurable(), null);
});

t.test('a task runs between the events before it and those after it', async (t) => {
  const { handed, journal, post, sequencer } = setUp();
  const seen: unknown[] = [];
  sequencer.afterCommit(() => seen.push('at once'));
  t.same(seen, ['at once']);
  post(1);
  post(2);
  sequencer.afterCommit(() => seen.push(structuredClone(handed)));
  post(3);
  journal.commit(3);
  t.same(seen[1], [[1, 2]]);
  t.same(handed, [[1, 2], [3]]);
});

t.test('a task waits for all that was applied before it, however often a part of that is committed', async (t) => {
  const { journal, post, sequencer } = setUp();
  let runs = 0;
  for (const n of [1, 2, 3]) post(n);
  sequencer.afterCommit(() => runs++);
  journal.commit(1);
  journal.commit(2);
  t.equal(runs, 0);
  journal.commit(3);
  t.equal(runs, 1);
});

t.test('a task asked for by a listener waits until every listener has had the events', async (t) => {
  const { journal, post, sequencer } = setUp();
  const seen: string[] = [];
  sequencer.onEvents(() => {
    seen.push('first');
    sequencer.afterCommit(() => seen.push('task'));
  });
  sequencer.onEvents(() => seen.push('second'));
  post(1);
  journal.commit(1);
  t.same(seen, ['first', 'second', 'task']);
});

t.test('what a listener submits waits for its own commit', async (t) => {
  const { handed, journal, post, sequencer } = setUp();
  let isFirst = true;
  sequencer.onEvents(() => {
    if (isFirst) post(2);
    isFirst = false;
  });
  post(1);
  journal.commit(1);
  t.same(handed, [[1]]);
  journal.commit(2);
  t.same(handed, [[1], [2]]);
});

t.test('numbering goes on where recovery left it', async (t) => {
  const engine = newEngine();
  engine.apply(enter(sampleQuote({ n: 1 })), { index: 1, tsMs: START * 1000 });
  const { handed, journal, post, sequencer } = setUp(engine);
  t.equal(sequencer.whenDurable(), null, 'what was recovered is durable');
  t.match(post(2), { index: 2, events: [{ seq: 2 }] });
  journal.commit(2);
  t.same(handed, [[2]]);
});

t.test('a listener that throws stops everything', async (t) => {
  const { faults, handed, journal, post, sequencer } = setUp();
  const bug = new Error('bug');
  sequencer.onEvents(() => {
    throw bug;
  });
  post(1);
  post(2);
  journal.commit(1);
  t.same(faults, [bug]);
  journal.commit(2);
  t.same(handed, [[1]], 'nothing more is handed out');
  t.throws(() => post(3), { name: 'AssertionFailure' });
});

t.test('an engine that throws stops everything', async (t) => {
  const { faults, journal, post, sequencer } = setUp();
  t.throws(() => sequencer.submit(enter(sampleQuote({ n: 1 }), { fillableSize: 99n })), { name: 'AssertionFailure' });
  t.equal(faults.length, 1);
  t.same(journal.appended, []);
  t.throws(() => post(2), { name: 'AssertionFailure' });
});

t.test('while more is due than one record is to hold, records are of the moment before any of it was', async (t) => {
  const { clock, engine, journal, sequencer } = setUp();
  // Two seconds' worth, in three parts; the last one is not due.
  for (let n = 1; n <= 8; n += 1)
    sequencer.submit(enter(sampleQuote({ n, deadline: START + (n % 2 === 0 ? 10 : 20) })));
  sequencer.submit(enter(sampleQuote({ n: 9, deadline: START + 30 })));
  clock.advance(25_000);
  const stampsAfter = (from: number) => journal.appended.slice(from).map(({ stamp }) => stamp.tsMs - START * 1000);

  sequencer.submit(enter(sampleQuote({ n: 10, deadline: START + 30 })));
  t.strictSame(stampsAfter(9), [10_999]);
  t.equal(engine.orders().valid.length, 10, 'nothing goes with it');

  for (let part = 1; part <= 3; part += 1) sequencer.expire();
  t.strictSame(
    journal.appended
      .slice(10)
      .map(({ command, events }) => [command.type, 'second' in command && command.second - START, events.length]),
    [
      ['EXPIRE_QUOTES', 25, 3],
      ['EXPIRE_QUOTES', 25, 3],
      ['TICK', false, 2],
    ],
  );
  const stamps = stampsAfter(10);
  t.ok(stamps.slice(0, 2).every((ms) => ms === 10_999 || ms === 20_999));
  t.equal(stamps[2], 25_000, 'the rest goes by the time that it is');
  t.strictSame(numbers(engine.orders().valid).sort(), [10, 9]);
});

t.test('a pool that matures meanwhile stays until its quotes are gone', async (t) => {
  const { clock, engine, sequencer } = setUp();
  const pool = samplePool(1, START + 5);
  sequencer.submit({
    type: 'DEPLOY_POOL',
    pool,
    deployedAt: START,
    origin: originAt(1),
    position: at('settlement', 1),
  });
  for (let n = 1; n <= 4; n += 1) sequencer.submit(enter(sampleQuote({ n, pool })));
  clock.advance(5_000);
  sequencer.expire();
  t.equal(engine.orders().valid.length, 1);
  t.ok(engine.pool(pool.poolAddress));
  sequencer.expire();
  t.equal(engine.orders().valid.length, 0);
  t.notOk(engine.pool(pool.poolAddress));
});

t.test('time stands where the log ended until a block is read', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 1_500);
  clock.advance(10_000);
  t.equal(time.nowMs(), 1_500);
});

t.test('time is that of the newest block and what has passed since it was read', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  t.equal(time.nowMs(), 100_000);
  clock.advance(1_250);
  t.equal(time.nowMs(), 101_250);
  time.observe(102);
  t.equal(time.nowMs(), 102_000);
});

t.test('time waits when a block is behind it, and never goes back', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  clock.advance(5_000);
  time.observe(102);
  t.equal(time.nowMs(), 105_000);
  clock.advance(2_999);
  t.equal(time.nowMs(), 105_000);
  clock.advance(2);
  t.equal(time.nowMs(), 105_001);
});

t.test('what has passed counts up to the reading, also when nobody asked in between', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  clock.advance(5_000);
  time.observe(90);
  t.equal(time.nowMs(), 105_000);
});

t.test('a log that ended later than the chain is waited for', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 200_000);
  time.observe(100);
  t.equal(time.nowMs(), 200_000);
  time.observe(201);
  t.equal(time.nowMs(), 201_000);
});

t.test('stamps are whole milliseconds', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.observe(100);
  clock.advance(0.75);
  t.equal(time.nowMs(), 100_000);
  clock.advance(0.5);
  t.equal(time.nowMs(), 100_001);
});

t.test('time that follows another process is not before what it has from there', async (t) => {
  const clock = new ManualClock();
  const time = new EngineTime(clock, 0);
  time.follow(100_250);
  t.equal(time.nowMs(), 100_250, 'milliseconds are not lost');
  time.reach(101_900);
  t.equal(time.nowMs(), 101_900);
  clock.advance(100);
  time.reach(101_950);
  t.equal(time.nowMs(), 102_000, 'what came late changes nothing');
  time.follow(101_000);
  clock.advance(500);
  t.equal(time.nowMs(), 102_000, 'but the other process may be behind');
});

t.test('listeners hear of every reading', async (t) => {
  const time = new EngineTime(new ManualClock(), 0);
  const heard: number[] = [];
  time.onObserve(() => heard.push(time.nowMs()));
  time.observe(100);
  time.observe(101);
  t.same(heard, [100_000, 101_000]);
});
