import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { bothToTheirEnd, mapInFlight } from '../../src/chain/in-flight.js';

t.test('results are in order, every item is done once, and as many at a time as allowed', async (t) => {
  const turns = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(turns, fc.integer({ min: 1, max: 8 }), async (items, width) => {
      let running = 0;
      let most = 0;
      const results = await mapInFlight([...items.entries()], width, async ([index, waits]) => {
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
    mapInFlight([1, 2], 1, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
});

t.test('of two that run together both results come, or a failure when neither is under way any more', async (t) => {
  t.strictSame(await bothToTheirEnd(Promise.resolve(1), Promise.resolve('a')), [1, 'a']);
  const failure = Promise.reject(new Error('no'));
  for (const isFirst of [true, false]) {
    let isOver = false;
    const slow = new Promise<void>((resolve) => setImmediate(resolve)).then(() => (isOver = true));
    const both: Promise<unknown> = isFirst ? bothToTheirEnd(failure, slow) : bothToTheirEnd(slow, failure);
    await t.rejects(both, { message: 'no' });
    t.ok(isOver);
  }
});
