import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { InterningTable } from '../../../src/persistence/codec/quote-codec.js';

interface Shown {
  readonly key: string;
}

t.test('the number of a key is that of the last item shown with it, however many there are', async () => {
  const shown = new InterningTable<Shown>(({ key }) => key);
  const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(keys, { maxLength: 3 }), (records) => {
      for (const record of records) {
        shown.clear();
        for (const [number, key] of record.entries()) {
          shown.add({ key });
          assert.equal(shown.at(number)?.key, key);
        }
        for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'x']) {
          assert.equal(shown.find(key), (record as string[]).lastIndexOf(key));
        }
      }
    }),
    { numRuns: 300 },
  );
});
