import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { TimeIndex, MinHeap } from '../../src/engine/time-index.js';

interface Item {
  readonly key: number;
  readonly n: number;
  place: number;
}

function indexOfItems(): TimeIndex<Item> {
  return new TimeIndex<Item>((item, place) => (item.place = place));
}

function add(index: TimeIndex<Item>, key: number, n: number): Item {
  const item = { key, n, place: 0 };
  item.place = index.add(key, item);
  return item;
}

const numbers = (items: readonly Item[]): number[] => items.map(({ n }) => n).sort((a, b) => a - b);

t.test('items come and go as in a plain list', async (t) => {
  const step = fc.record({ kind: fc.constantFrom('add', 'remove', 'take'), key: fc.nat(200) });
  const property = fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
    const index = indexOfItems();
    let items: Item[] = [];
    for (const [n, { kind, key }] of steps.entries()) {
      if (kind === 'add') items.push(add(index, key, n));
      else if (kind === 'remove') {
        const [removed] = items.splice(key % Math.max(items.length, 1), 1);
        if (removed !== undefined) index.remove(removed.key, removed.place);
      } else if (key < 20) {
        const limit = index.lowest ?? 0;
        assert.deepEqual(numbers(index.takeThrough(limit)), numbers(items.filter((item) => item.key <= limit)));
        items = items.filter((item) => item.key > limit);
      }
      const keys = items.map((item) => item.key);
      assert.equal(index.lowest, keys.length === 0 ? undefined : Math.min(...keys));
      assert.equal(index.count(), items.length);
    }
    for (const item of items) assert.ok(index.has(item.key, item.place, item));
    assert.deepEqual(numbers(index.above(100)), numbers(items.filter(({ key }) => key > 100)));
    const through = items.filter(({ key }) => key <= 100);
    assert.deepEqual(numbers(index.through(100, Infinity)), numbers(through));
    const some = index.through(100, 5);
    assert.equal(some.length, Math.min(through.length, 5));
    assert.ok(some.every((item) => through.includes(item)));
    for (const most of [0, Math.floor(through.length / 2), through.length]) {
      assert.equal(index.hasMoreThrough(100, most), most < through.length, `more than ${most} of ${through.length}`);
    }
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 60 }));
});

t.test('a key that was taken out is nothing to remove from', async (t) => {
  const index = indexOfItems();
  const item = add(index, 5, 1);
  index.takeThrough(5);
  index.remove(item.key, item.place);
  t.equal(index.lowest, undefined);
  add(index, 7, 2);
  t.equal(index.lowest, 7);
});

t.test('of hundreds of keys those that keep an item keep it, when the empty ones are swept out', async (t) => {
  const index = indexOfItems();
  const items = Array.from({ length: 400 }, (_, key) => add(index, key, key));
  const kept = items.filter(({ key }) => key % 10 === 5);
  for (const item of items) if (!kept.includes(item)) index.remove(item.key, item.place);
  t.same([index.count(), index.lowest], [kept.length, 5]);
  for (const [n, { key }] of kept.entries()) {
    t.same(numbers(index.above(key)), numbers(kept.slice(n + 1)));
    t.same(numbers(index.above(key - 1)), numbers(kept.slice(n)));
  }
  t.same(numbers(index.takeThrough(400)), numbers(kept));
  t.equal(index.lowest, undefined);
});

t.test('how many items there are up to a key is found without a look at those above it', async (t) => {
  const index = indexOfItems();
  for (let key = 1; key <= 200_000; key += 1) add(index, key, key);
  const startMs = performance.now();
  let yes = 0;
  for (let i = 0; i < 1_000; i += 1) if (index.hasMoreThrough(1, 0) && !index.hasMoreThrough(1, 1)) yes += 1;
  t.equal(yes, 1_000);
  t.ok(performance.now() - startMs < 1_000, 'a look at each would take seconds');
});

/** Takes all keys out of the heap, in the order that it gives them. */
function emptied(heap: MinHeap): number[] {
  const keys: number[] = [];
  for (let { lowest } = heap; lowest !== undefined; { lowest } = heap) {
    keys.push(lowest);
    heap.dropLowest();
  }
  return keys;
}

const rising = (keys: readonly number[]): number[] => [...keys].sort((a, b) => a - b);

t.test('the heap gives the lowest remaining key, whatever comes and goes', async (t) => {
  const step = fc.oneof(fc.nat(60), fc.constant(null));
  const property = fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
    const heap = new MinHeap();
    let keys: number[] = [];
    for (const key of steps) {
      if (key === null) {
        heap.dropLowest();
        keys = rising(keys).slice(1);
      } else {
        heap.add(key);
        keys.push(key);
      }
      assert.equal(heap.lowest, rising(keys)[0]);
    }
    assert.deepEqual(emptied(heap), rising(keys));
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 100 }));
});

t.test('the heap gives the keys up to any number, and no others', async (t) => {
  const property = fc.property(fc.array(fc.nat(60), { maxLength: 300, size: 'max' }), fc.nat(70), (keys, most) => {
    const heap = new MinHeap();
    for (const key of keys) heap.add(key);
    t.same(rising([...heap.through(most)]), rising(keys.filter((key) => key <= most)));
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 100 }));
});

t.test('what replaces the keys is all that there is', async (t) => {
  const heap = new MinHeap();
  for (const key of [3, 1, 2]) heap.add(key);
  heap.replace([9, 30, 4, 5]);
  heap.add(6);
  t.same(emptied(heap), [4, 5, 6, 9, 30]);
});
