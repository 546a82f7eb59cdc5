import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { afterMicrotasks, backoff, Deadline, mapLimit, pause, repeat, settleBoth } from '../../src/system/timers.js';
import { ManualClock } from './manual-clock.js';

const never = new Promise<never>(() => undefined);

t.test('what comes in time is what is waited for', async (t) => {
  const clock = new ManualClock();
  t.equal(await new Deadline(clock, 10).wait(Promise.resolve('it')), 'it');
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('what fails in time fails', async (t) => {
  const clock = new ManualClock();
  await t.rejects(new Deadline(clock, 10).wait(Promise.reject(new Error('it'))), { message: 'it' });
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('what takes longer is not waited for', async (t) => {
  const clock = new ManualClock();
  const waited = new Deadline(clock, 10).wait(never);
  clock.advance(10);
  t.equal(await waited, 'TOO_LONG');
});

t.test('all that one asker waits for takes no longer than its patience', async (t) => {
  const clock = new ManualClock();
  const patience = new Deadline(clock, 10);
  clock.advance(6);
  t.equal(await patience.wait(Promise.resolve('first')), 'first');
  const second = patience.wait(never);
  clock.advance(4);
  t.equal(await second, 'TOO_LONG');
  const third = patience.wait(never);
  clock.advance(0);
  t.equal(await third, 'TOO_LONG');
});

t.test('results are in order, every item is done once, and as many at a time as allowed', async (t) => {
  const turns = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(turns, fc.integer({ min: 1, max: 8 }), async (items, width) => {
      let running = 0;
      let most = 0;
      const results = await mapLimit([...items.entries()], width, async ([index, waits]) => {
        most = Math.max(most, ++running);
        for (let turn = 0; turn < waits; turn++) await Promise.resolve();
        running--;
        return index;
      });
      assert.deepEqual(results, [...items.keys()]);
      assert.equal(most, Math.min(width, items.length));
    }),
  );
  t.pass('every time');
});

t.test('a task that fails fails the whole', async (t) => {
  await t.rejects(
    mapLimit([1, 2], 1, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
});

t.test('of two that run together both results come, or a failure when neither is under way any more', async (t) => {
  t.strictSame(await settleBoth(Promise.resolve(1), Promise.resolve('a')), [1, 'a']);
  const failure = Promise.reject(new Error('no'));
  for (const isFirst of [true, false]) {
    let isOver = false;
    const slow = new Promise<void>((resolve) => setImmediate(resolve)).then(() => (isOver = true));
    const both: Promise<unknown> = isFirst ? settleBoth(failure, slow) : settleBoth(slow, failure);
    await t.rejects(both, { message: 'no' });
    t.ok(isOver);
  }
});

t.test('the longest pause doubles with each failure up to its bound, and is drawn from the whole of it', async (t) => {
  const range = { backoffMs: 100, maxBackoffMs: 500 };
  const longest = { unit: () => 1 };
  t.strictSame(
    [1, 2, 3, 4, 2_000].map((failures) => backoff(range, failures, longest)),
    [100, 200, 400, 500, 500],
  );
  t.equal(backoff(range, 3, { unit: () => 0.25 }), 100);
  t.equal(backoff({ backoffMs: 100 }, 11, longest), 102_400, 'without a bound');
});

t.test('a pause ends with its time', async (t) => {
  const clock = new ManualClock();
  const paused = pause(clock, 10).then(() => 'over');
  clock.advance(9);
  t.equal(clock.pending, 1);
  clock.advance(1);
  t.equal(await paused, 'over');
});

t.test('a repeated task runs again after it has ended or failed, and not after it is stopped', async (t) => {
  const clock = new ManualClock();
  const faults: unknown[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const task = (): Promise<void> =>
    new Promise((resolve, reject) => ends.push((error) => (error === undefined ? resolve() : reject(error))));
  const stop = repeat(clock, 10, task, (error) => faults.push(error));
  t.equal(ends.length, 0, 'a pause comes first');
  clock.advance(10);
  clock.advance(100);
  t.equal(ends.length, 1, 'one run at a time');
  const failure = new Error('it');
  ends[0]?.(failure);
  await afterMicrotasks();
  t.strictSame(faults, [failure]);
  clock.advance(10);
  t.equal(ends.length, 2);
  stop();
  ends[1]?.();
  await afterMicrotasks();
  t.equal(clock.pending, 0, 'no timer is left');
});
