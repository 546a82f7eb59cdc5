import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { ArrayLevels, HybridLevels } from '../../src/engine/array-levels.js';
import { BTreeLevels, type PriceLevels, type Priced } from '../../src/engine/price-levels.js';
import type { Side } from '../../src/engine/quote.js';

interface Shelf extends Priced {
  count: number;
}

const newShelf = (price: bigint): Shelf => ({ price, count: 0 });
type MakeLevels = (side: Side) => PriceLevels<Shelf>;

const kinds: readonly (readonly [name: string, make: MakeLevels])[] = [
  ['an array', (side) => new ArrayLevels(side, newShelf)],
  ['an array or a tree', (side) => new HybridLevels(side, newShelf)],
];

function put(levels: PriceLevels<Shelf>, price: bigint): void {
  levels.open(price).count += 1;
}

function take(levels: PriceLevels<Shelf>, price: bigint): void {
  const level = levels.at(price);
  if (level === undefined) return;
  level.count -= 1;
  if (level.count === 0) levels.close(level);
}

function contents(levels: PriceLevels<Shelf>): (readonly [bigint, number])[] {
  return [...levels].map(({ price, count }) => [price, count] as const);
}

/** Prices 1 apart near 1e18, many of which are the same float. */
const price = fc.oneof(
  fc.bigInt({ min: 0n, max: 40n }),
  fc.bigInt({ min: 10n ** 18n - 300n, max: 10n ** 18n }),
  fc.bigInt({ min: 0n, max: 10n ** 18n }),
);
/** As long as that in truth (`size`): arrays of a few would hardly hold two prices of one float, or many levels. */
const steps = fc.array(fc.record({ price, isPut: fc.boolean() }), { maxLength: 400, size: 'max' });

for (const [name, make] of kinds) {
  for (const side of ['bid', 'ask'] as const) {
    t.test(`${name} keeps the ${side}s as a B-tree does`, async (t) => {
      const property = fc.property(steps, (moves) => {
        const levels = make(side);
        const reference = new BTreeLevels(side, newShelf);
        for (const move of moves) {
          (move.isPut ? put : take)(levels, move.price);
          (move.isPut ? put : take)(reference, move.price);
          assert.equal(levels.at(move.price)?.count, reference.at(move.price)?.count);
          assert.equal(levels.size, reference.size);
          assert.equal([...levels][0]?.price, [...reference][0]?.price);
        }
        assert.deepEqual(contents(levels), contents(reference));
      });
      fc.assert(property, { numRuns: 60 });
      t.pass('over random puts and takes');
    });
  }
}

t.test('levels become a tree when they are many and an array when they are few, and nobody notices', async (t) => {
  for (const side of ['bid', 'ask'] as const) {
    const levels = new HybridLevels(side, newShelf);
    const reference = new BTreeLevels(side, newShelf);
    const prices = Array.from({ length: 6000 }, (_, i) => BigInt((i * 7919) % 6000));
    for (const each of prices) for (const both of [levels, reference]) put(both, each);
    t.strictSame(contents(levels), contents(reference), `${side}: many`);
    t.equal(levels.size, reference.size);
    for (const each of prices.slice(0, 5500)) for (const both of [levels, reference]) take(both, each);
    t.strictSame(contents(levels), contents(reference), `${side}: few again`);
    t.equal(levels.size, reference.size);
    for (const each of prices.slice(0, 100)) for (const both of [levels, reference]) put(both, each);
    t.strictSame(contents(levels), contents(reference), `${side}: a few more`);
    for (const each of prices.slice(100, 3000)) for (const both of [levels, reference]) put(both, each);
    t.strictSame(contents(levels), contents(reference), `${side}: many again`);
    t.equal(levels.size, reference.size);
  }
});

t.test('a level that comes back empty is opened anew', async (t) => {
  const levels = new ArrayLevels('ask', newShelf);
  put(levels, 2n);
  put(levels, 1n);
  take(levels, 2n);
  t.same([levels.size, levels.at(2n)], [1, undefined]);
  put(levels, 2n);
  t.strictSame(contents(levels), [
    [1n, 1],
    [2n, 1],
  ]);
});

t.test('levels that nobody quotes at are let go of when they outnumber the others, which stay', async (t) => {
  let made = 0;
  const levels = new ArrayLevels('ask', (price): Shelf => ((made += 1), newShelf(price)));
  const prices = Array.from({ length: 1_000 }, (_, i) => BigInt(i));
  const kept = prices.filter((each) => each % 100n === 0n);
  for (const each of kept) put(levels, each);
  for (const each of prices) {
    put(levels, each);
    take(levels, each);
  }
  t.strictSame(
    contents(levels),
    kept.map((each) => [each, 1]),
  );
  t.same([levels.size, levels.at(100n)?.count, levels.at(101n)], [10, 1, undefined]);
  made = 0;
  for (const each of prices) put(levels, each);
  t.ok(made > 900, `${made} of 990 were gone`);
  t.strictSame(
    contents(levels).map(([each]) => each),
    prices,
  );
});
