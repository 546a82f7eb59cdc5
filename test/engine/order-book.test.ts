import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { BookOrder, compareAge, PriceLevel } from '../../src/engine/order-book.js';
import { type SampleQuote, sampleQuote } from './samples.js';

function orderOf(n: number, blockNumber = 100): BookOrder {
  const order = new BookOrder(sampleQuote({ n, blockNumber }));
  order.fillableSize = order.quote.size;
  return order;
}

function byAge(level: PriceLevel): number[] {
  const found: number[] = [];
  for (let order = level.oldest; order !== null; order = order.newer) found.push(order.quote.salt);
  return found;
}

t.test('a level adds up its orders', async (t) => {
  const level = new PriceLevel(100n);
  const [first, second, third] = [orderOf(1), orderOf(2), orderOf(3)];
  for (const order of [first, second, third]) level.add(order);
  t.same([level.count, level.size], [3, 30n]);
  level.remove(second);
  t.same([level.count, level.size], [2, 20n]);
  t.same([second.level, second.older, second.newer], [null, null, null]);
  t.equal(first.newer, third);
  t.equal(third.older, first);
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
      const level = new PriceLevel(100n);
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

t.test('in a crowded level neither a late order nor the sum costs a look at each order', async (t) => {
  let looks = 0;
  const watched = (n: number): BookOrder => {
    const order = orderOf(n);
    let { fillableSize } = order;
    Object.defineProperty(order, 'blockNumber', { get: () => ((looks += 1), 100) });
    Object.defineProperty(order, 'fillableSize', {
      get: () => ((looks += 1), fillableSize),
      set: (size: bigint) => (fillableSize = size),
    });
    return order;
  };
  const level = new PriceLevel(100n);
  const orders = Array.from({ length: 3_000 }, (_, n) => watched(n));
  const [earliest, late, later, ...others] = orders;
  if (earliest === undefined || late === undefined || later === undefined) throw new Error('there are 3,000');
  others.forEach((order) => level.add(order));
  level.add(late);
  t.equal(level.size, 29_980n);
  looks = 0;
  for (const gone of others.slice(0, 10)) level.remove(gone);
  level.resize(late, 5n);
  level.add(later);
  level.add(earliest);
  t.equal(level.size, 29_895n);
  t.ok(looks < 1_000, `${looks} looks`);
  t.same(byAge(level).slice(0, 4), [0, 1, 2, 13]);
});

t.test('age is the block before the place in it', async (t) => {
  const level = new PriceLevel(100n);
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
      const level = new PriceLevel(100n);
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

function oldestFirst(...quotes: SampleQuote[]): number[] {
  const orders = quotes.map((quote) => new BookOrder(sampleQuote(quote)));
  return orders.sort(compareAge).map(({ quote }) => quote.salt);
}

t.test('age is the block, then the place in it, and only then the id', async (t) => {
  t.same(oldestFirst({ n: 1, blockNumber: 101, logIndex: 0 }, { n: 2, blockNumber: 100, logIndex: 9 }), [2, 1]);
  t.same(oldestFirst({ n: 1, logIndex: 5 }, { n: 2, logIndex: 3 }), [2, 1]);
  t.same(oldestFirst({ n: 2, logIndex: 3 }, { n: 1, logIndex: 3 }), [1, 2]);
  t.same(oldestFirst({ n: 1, logIndex: 3 }, { n: 2, logIndex: 3 }), [1, 2]);
});
