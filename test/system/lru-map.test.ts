import * as fc from 'fast-check';
import t from 'tap';
import { LruMap } from '../../src/system/lru-map.js';

const CAPACITY = 4;
const keys = Array.from({ length: 12 }, (_, n) => ({ n }));

t.test('what is found is what was set last, and the last ones that were used are there', async () => {
  const step = fc.record({ key: fc.constantFrom(...keys), isSet: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const kept = new LruMap<object, number>(CAPACITY);
      const model = new Map<object, number>();
      /** The last one comes last. */
      let used: object[] = [];
      for (const [n, { key, isSet }] of steps.entries()) {
        const found = isSet ? n : kept.get(key);
        if (isSet) {
          kept.set(key, n);
          model.set(key, n);
        }
        const mayBeGone = !used.slice(-CAPACITY).includes(key);
        if (found === undefined ? !mayBeGone : found !== model.get(key)) return false;
        if (found !== undefined) used = [...used.filter((other) => other !== key), key];
      }
      return true;
    }),
  );
});

t.test('no more than twice the capacity are kept', async (t) => {
  const kept = new LruMap<object, number>(CAPACITY);
  for (const key of keys) kept.set(key, key.n);
  const found = keys.toReversed().filter((key) => kept.get(key) !== undefined);
  t.ok(found.length >= CAPACITY && found.length <= 2 * CAPACITY, `${found.length} found`);
  t.equal(kept.get(keys[0] ?? {}), undefined);
});
