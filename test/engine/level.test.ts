import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { BookOrder } from '../../src/engine/book-order.js';
import { Level } from '../../src/engine/level.js';
import { sampleQuote } from './samples.js';

function orderOf(n: number, blockNumber = 100): BookOrder {
  const order = new BookOrder(sampleQuote({ n, blockNumber }));
  order.fillableSize = order.quote.size;
  return order;
}

function byAge(level: Level): number[] {
  const found: number[] = [];
  for (let order = level.oldest; order !== null; order = order.newer) found.push(order.quote.salt);
  return found;
}

t.test('a level adds up its orders', async (t) => {
  const level = new Level(100n);
  const [first, second] = [orderOf(1), orderOf(2)];
  level.add(first);
  level.add(second);
  t.same([level.count, level.size], [2, 20n]);
  level.remove(first);
  t.same([level.count, level.size], [1, 10n]);
  t.same([first.level, first.older, first.newer], [null, null, null]);
});

t.test(
  'a level adds up to its orders however many come, go, and are partly filled, and whenever it is asked',
  async (t) => {
    // More than are added up anew each time, so that the sum is kept, and left off, and kept again.
    const step = fc.record({
      n: fc.nat(49),
      kind: fc.constantFrom('put', 'put', 'take', 'fill'),
      isAsked: fc.boolean(),
    });
    const property = fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const level = new Level(100n);
      const orders = Array.from({ length: 50 }, (_, n) => orderOf(n));
      for (const { n, kind, isAsked } of steps) {
        const order = orders[n];
        if (order === undefined) continue;
        if (order.level === null && kind === 'put') level.add(order);
        if (order.level !== null && kind === 'take') level.remove(order);
        if (order.level !== null && kind === 'fill') level.resize(order, BigInt(1 + (n % 9)));
        const present = orders.filter((each) => each.level === level);
        if (isAsked)
          assert.equal(
            level.size,
            present.reduce((sum, { fillableSize }) => sum + fillableSize, 0n),
          );
      }
      level.checkInvariants();
    });
    fc.assert(property, { numRuns: 100 });
    t.pass('over random steps');
  },
);

t.test('age is the block before the place in it', async (t) => {
  const level = new Level(100n);
  for (const order of [orderOf(1, 102), orderOf(3, 101), orderOf(2, 101)]) level.add(order);
  t.same(byAge(level), [2, 3, 1]);
});

t.test('orders stand by age whatever order they come and go in', async (t) => {
  // Far more than are walked, so that the index is made, used, and dropped again.
  const many = Array.from({ length: 300 }, (_, n) => n);
  const property = fc.property(
    fc.shuffledSubarray(many, { minLength: 100 }),
    fc.shuffledSubarray(many),
    fc.shuffledSubarray(many),
    (coming, going, back) => {
      const level = new Level(100n);
      const orders = many.map((n) => orderOf(n));
      const present = new Set<number>();
      const add = (n: number) => {
        const order = orders[n];
        if (order === undefined || present.has(n)) return;
        present.add(n);
        level.add(order);
      };
      coming.forEach(add);
      for (const n of going) {
        const order = orders[n];
        if (order !== undefined && present.delete(n)) level.remove(order);
      }
      level.checkInvariants();
      back.forEach(add);
      level.checkInvariants();
      const sorted = [...present].sort((a, b) => a - b);
      return byAge(level).join() === sorted.join();
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 100 }));
});
