import fc from 'fast-check';
import t from 'tap';
import { SlidingWindowLimiter } from '../../src/ws/session.js';

t.test('the window counts what happened less than its length ago', async (t) => {
  const window = new SlidingWindowLimiter(3, 100);
  t.same(
    [0, 10, 99].map((nowMs) => window.reaches(nowMs)),
    [false, false, true],
  );
  t.notOk(window.reaches(110), 'of 0, 10, 99 and 110 the first two are 100 ms old');
});

t.test('it agrees with counting everything, whatever the times', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat({ max: 60 })), (limit, gaps) => {
      const window = new SlidingWindowLimiter(limit, 100);
      const times: number[] = [];
      for (const gap of gaps) {
        const now = (times.at(-1) ?? 0) + gap;
        times.push(now);
        if (window.reaches(now) !== times.filter((time) => now - time < 100).length >= limit) return false;
      }
      return true;
    }),
  );
});
