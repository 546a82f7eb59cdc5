import fc from 'fast-check';
import t from 'tap';
import { BookOrder } from '../../src/engine/book-order.js';
import { OrderIndex } from '../../src/engine/order-index.js';
import type { Hex } from '../../src/engine/quote.js';
import { sampleQuote } from './samples.js';

/** Of few last digits, by which the index looks: most of these meet another. */
const ids = fc
  .record({ first: fc.nat(7), last: fc.nat(3) })
  .map(({ first, last }): Hex => `0x${`${first}`.padEnd(56, 'a')}fffffff${last}`);

function orderOf(quoteId: Hex): BookOrder {
  return new BookOrder({ ...sampleQuote({ n: 1, blockNumber: 100 }), quoteId });
}

t.test('orders are found by their ids, whatever others have the same last digits', async (t) => {
  const step = fc.record({ id: ids, isAdded: fc.boolean() });
  const property = fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
    const index = new OrderIndex();
    const model = new Map<Hex, BookOrder>();
    for (const { id, isAdded } of steps) {
      const known = model.get(id);
      if (isAdded && known === undefined) {
        const order = orderOf(id);
        index.add(order);
        model.set(id, order);
      } else if (!isAdded && known !== undefined) {
        index.remove(known);
        model.delete(id);
      }
      t.equal(index.get(id), model.get(id));
      t.equal(index.size, model.size);
    }
    for (const [id, order] of model) t.equal(index.get(id), order);
    t.same(new Set(index), new Set(model.values()));
  });
  fc.assert(property, { numRuns: 60 });
});

t.test('what is not there is not found and takes nothing away', async (t) => {
  const index = new OrderIndex();
  const [one, other] = [orderOf(`0x${'1'.repeat(64)}`), orderOf(`0x2${'1'.repeat(63)}`)];
  index.add(one);
  t.equal(index.get(other.quote.quoteId), undefined);
  index.remove(other);
  index.remove(orderOf(`0x${'3'.repeat(64)}`));
  t.strictSame([...index], [one]);
  t.equal(index.size, 1);
});
