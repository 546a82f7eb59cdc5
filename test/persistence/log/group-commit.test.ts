import t from 'tap';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';
import { FRAME_HEAD_BYTES } from '../../../src/persistence/format/frame.js';
import { CommitTimers, DurabilityWaiters, CommitQueue } from '../../../src/persistence/log/group-commit.js';
import { ManualClock } from '../../system/manual-clock.js';

const BUFFER_BYTES = 64;

function queueAfter(index: number, seq: number) {
  const queue = new CommitQueue({ index, seq }, BUFFER_BYTES);
  const add = (recordIndex: number, lastSeq: number, payload: string) => {
    queue.addRecord(recordIndex, lastSeq, () => queue.buffer.put(Buffer.from(payload)));
  };
  return { queue, add };
}

t.test('a group is all that was put in since the last one', async (t) => {
  const { queue, add } = queueAfter(7, 70);
  add(8, 71, 'one');
  add(9, 71, 'two');
  const group = new GrowingBuffer(BUFFER_BYTES);
  t.strictSame(queue.takeInto(group), { index: 9, seq: 71, records: 2, frames: 2 });
  t.equal(group.length, 2 * (FRAME_HEAD_BYTES + 3));
  t.ok(queue.isEmpty);
  t.strictSame(queue.waiting, { records: 0, bytes: 0 });

  add(10, 72, 'three');
  group.clear(BUFFER_BYTES);
  t.strictSame(queue.takeInto(group), { index: 10, seq: 72, records: 1, frames: 3 });
  t.match(group.view().toString('latin1'), /three$/);
});

t.test('a group of nothing is at the place of the one before', async (t) => {
  const { queue } = queueAfter(7, 70);
  t.strictSame(queue.takeInto(new GrowingBuffer(BUFFER_BYTES)), { index: 7, seq: 70, records: 0, frames: 0 });
});

t.test('a record that cannot be put leaves nothing, though it had begun', async (t) => {
  const { queue, add } = queueAfter(7, 70);
  add(8, 71, 'one');
  const before = queue.waiting;
  const breaks = () => {
    queue.buffer.put(Buffer.from('half of it'));
    throw new Error('no such event');
  };
  t.throws(() => queue.addRecord(9, 72, breaks), { message: 'no such event' });
  t.strictSame(queue.waiting, before);
  t.strictSame(queue.takeInto(new GrowingBuffer(BUFFER_BYTES)), { index: 8, seq: 71, records: 1, frames: 1 });
});

t.test('each waiter resolves when its frames are durable, and not before', async (t) => {
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

function dueWork() {
  const clock = new ManualClock();
  const told: string[] = [];
  const due: CommitTimers = new CommitTimers(clock, () => {
    told.push([due.isSealDue ? 'seal' : '', due.isSyncDue ? 'sync' : ''].join(''));
  });
  return { clock, told, due };
}

t.test('a seal is due when nothing has come for so long: what comes begins the time anew', async (t) => {
  const { clock, told, due } = dueWork();
  due.sealAfter(50);
  clock.advance(49);
  due.groupBegun();
  due.sealAfter(50);
  clock.advance(49);
  t.strictSame(told, []);
  clock.advance(1);
  t.strictSame(told, ['seal']);
});

t.test('a sync is due so long after the first that asked for it, whatever asks after it', async (t) => {
  const { clock, told, due } = dueWork();
  due.syncAfter(500);
  clock.advance(499);
  due.syncAfter(500);
  clock.advance(1);
  t.strictSame(told, ['sync']);
  due.syncBegun();
  t.notOk(due.isSyncDue);
  due.syncAfter(500);
  clock.advance(500);
  t.strictSame(told, ['sync', 'sync'], 'the next one has a time of its own');
});

t.test('what has begun is not due any more, nor later', async (t) => {
  const { clock, told, due } = dueWork();
  due.sealAfter(50);
  due.syncAfter(500);
  due.groupBegun();
  due.syncBegun();
  clock.advance(10_000);
  t.strictSame(told, []);
});

t.test('once timers are cancelled none of them says anything', async (t) => {
  const { clock, told, due } = dueWork();
  due.sealAfter(50);
  due.syncAfter(500);
  due.cancelTimers();
  clock.advance(10_000);
  t.strictSame(told, []);
});
