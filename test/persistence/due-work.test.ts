import t from 'tap';
import { DueWork } from '../../src/persistence/due-work.js';
import { ManualClock } from '../system/manual-clock.js';

function dueWork() {
  const clock = new ManualClock();
  const told: string[] = [];
  const due: DueWork = new DueWork(clock, () => {
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
