import fc from 'fast-check';
import t from 'tap';
import { backoffMs } from '../../src/client/connection.js';

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
