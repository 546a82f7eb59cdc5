import t from 'tap';
import { Listeners } from '../../src/client/listeners.js';

t.test('whoever begins to listen while something is told hears the next thing', async (t) => {
  const listeners = new Listeners<number>();
  const heard: number[] = [];
  const stop = listeners.add(() => {
    stop();
    listeners.add((event) => heard.push(event));
  });
  listeners.tell(1);
  listeners.tell(2);
  t.strictSame(heard, [2]);
});

t.test('one that throws keeps nobody from hearing, and its error is not lost', async (t) => {
  const tasks: (() => void)[] = [];
  t.intercept(globalThis, 'queueMicrotask', { value: (task: () => void) => tasks.push(task), configurable: true });
  const listeners = new Listeners<number>();
  const heard: number[] = [];
  listeners.add(() => {
    throw new Error('of a listener');
  });
  listeners.add((event) => heard.push(event));
  listeners.tell(1);
  t.strictSame(heard, [1]);
  t.equal(tasks.length, 1);
  t.throws(() => tasks[0]?.(), { message: 'of a listener' });
});
