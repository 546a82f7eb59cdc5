import fc from 'fast-check';
import t from 'tap';
import { backoffMs, Listeners, type SocketConstructor, systemPorts } from '../../src/client/ports.js';

t.test('what is to wait for ever, or for months, does not come at once', async (t) => {
  const { clock } = systemPorts(Object as unknown as SocketConstructor);
  let come = 0;
  const cancels = [Infinity, 2 ** 31].map((delayMs) => clock.after(delayMs, () => (come += 1)));
  await new Promise<void>((resolve) => void clock.after(20, resolve));
  t.equal(come, 0);
  for (const cancel of cancels) cancel();
});

const range = { minMs: 250, maxMs: 30_000 };

t.test('the pause is drawn from a range that doubles with each try, up to its bound', async (t) => {
  t.equal(
    backoffMs(range, 0, () => 0),
    250,
  );
  t.equal(
    backoffMs(range, 0, () => 1),
    500,
  );
  t.equal(
    backoffMs(range, 3, () => 1),
    4_000,
  );
  t.equal(
    backoffMs(range, 50, () => 1),
    30_000,
  );
});

t.test('no try waits less than the shortest pause, or more than the longest', async () => {
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempt, drawn) => {
      const pauseMs = backoffMs(range, attempt, () => drawn);
      return pauseMs >= range.minMs && pauseMs <= range.maxMs;
    }),
  );
});

t.test('the bound grows even if the shortest pause is 0', async (t) => {
  const bounds = [0, 1, 9, 50].map((attempt) => backoffMs({ minMs: 0, maxMs: 30_000 }, attempt, () => 1));
  t.strictSame(bounds, [2, 4, 1024, 30_000]);
});

t.test('a listener added during an event receives the next one', async (t) => {
  const listeners = new Listeners<number>();
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
  const listeners = new Listeners<number>();
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
