import t from 'tap';
import { DurabilityWaiters } from '../../src/persistence/durability-waiters.js';

t.test('each is told when what it waits for is durable, and not before', async (t) => {
  const waiters = new DurabilityWaiters();
  const told: number[] = [];
  for (const frames of [3, 1, 2]) void waiters.until(frames).then(() => told.push(frames));
  waiters.settle(2);
  await Promise.resolve();
  t.strictSame(told, [1, 2]);
  t.notOk(waiters.isEmpty);
  waiters.settle(3);
  await Promise.resolve();
  t.strictSame(told, [1, 2, 3]);
  t.ok(waiters.isEmpty);
});

t.test('it is known whether somebody waits for what is written by now, or only for what comes later', async (t) => {
  const waiters = new DurabilityWaiters();
  for (const frames of [5, 3]) void waiters.until(frames);
  t.strictSame(
    [2, 3, 5].map((frames) => waiters.isAnyWithin(frames)),
    [false, true, true],
  );
  waiters.settle(3);
  t.strictSame(
    [4, 5].map((frames) => waiters.isAnyWithin(frames)),
    [false, true],
  );
});

t.test('nobody waits for what is durable already', async (t) => {
  const waiters = new DurabilityWaiters();
  waiters.settle(5);
  await waiters.until(5);
  t.ok(waiters.isEmpty);
});

t.test('when the log fails all who wait hear of it', async (t) => {
  const waiters = new DurabilityWaiters();
  const waiting = [waiters.until(1), waiters.until(2)];
  waiters.fail(new Error('EIO'));
  for (const each of waiting) await t.rejects(each, { message: 'EIO' });
  t.ok(waiters.isEmpty);
});
