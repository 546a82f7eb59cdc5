import t from 'tap';
import { Emitter } from '../../src/client/emitter.js';

t.test('a listener added during an event receives the next one', async (t) => {
  const listeners = new Emitter<number>();
  const heard: number[] = [];
  const stop = listeners.add(() => {
    stop();
    listeners.add((event) => heard.push(event));
  });
  listeners.emit(1);
  listeners.emit(2);
  t.strictSame(heard, [2]);
});

t.test('one that throws keeps nobody from hearing, and its error is not lost', async (t) => {
  const tasks: (() => void)[] = [];
  t.intercept(globalThis, 'queueMicrotask', { value: (task: () => void) => tasks.push(task), configurable: true });
  const listeners = new Emitter<number>();
  const heard: number[] = [];
  listeners.add(() => {
    throw new Error('of a listener');
  });
  listeners.add((event) => heard.push(event));
  listeners.emit(1);
  t.strictSame(heard, [1]);
  t.equal(tasks.length, 1);
  t.throws(() => tasks[0]?.(), { message: 'of a listener' });
});
