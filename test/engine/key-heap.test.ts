import fc from 'fast-check';
import t from 'tap';
import { KeyHeap } from '../../src/engine/key-heap.js';

/** All that is in it, as it is told, lowest first. */
function emptied(heap: KeyHeap): number[] {
  const keys: number[] = [];
  for (let { lowest } = heap; lowest !== undefined; { lowest } = heap) {
    keys.push(lowest);
    heap.dropLowest();
  }
  return keys;
}

const rising = (keys: readonly number[]): number[] => [...keys].sort((a, b) => a - b);

t.test('the lowest of what is left is told, whatever comes and goes', async (t) => {
  const step = fc.oneof(fc.nat(60), fc.constant(null));
  const property = fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
    const heap = new KeyHeap();
    let keys: number[] = [];
    for (const key of steps) {
      if (key === null) {
        heap.dropLowest();
        keys = rising(keys).slice(1);
      } else {
        heap.add(key);
        keys.push(key);
      }
      t.equal(heap.lowest, rising(keys)[0]);
    }
    t.same(emptied(heap), rising(keys));
  });
  fc.assert(property, { numRuns: 100 });
});

t.test('just the keys up to any number are told', async (t) => {
  const property = fc.property(fc.array(fc.nat(60), { maxLength: 300, size: 'max' }), fc.nat(70), (keys, most) => {
    const heap = new KeyHeap();
    for (const key of keys) heap.add(key);
    t.same(rising([...heap.through(most)]), rising(keys.filter((key) => key <= most)));
  });
  fc.assert(property, { numRuns: 100 });
});

t.test('what replaces the keys is all that there is', async (t) => {
  const heap = new KeyHeap();
  for (const key of [3, 1, 2]) heap.add(key);
  heap.replace([9, 30, 4, 5]);
  heap.add(6);
  t.same(emptied(heap), [4, 5, 6, 9, 30]);
});
