import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { BookOrder } from '../../src/engine/order-book.js';
import { OrderIndex } from '../../src/engine/order-index.js';
import type { Hex } from '../../src/engine/quote.js';
import { sampleQuote } from './samples.js';

const SALT = 0x9abcdef1;
const OTHER_SALT = 0x51ab2c3d;

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
    const index = new OrderIndex<BookOrder>(SALT);
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
      assert.equal(index.get(id), model.get(id));
      assert.equal(index.size, model.size);
    }
    for (const [id, order] of model) assert.equal(index.get(id), order);
    assert.deepEqual(new Set(index), new Set(model.values()));
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 60 }));
});

t.test('what is not there is not found and takes nothing away', async (t) => {
  const index = new OrderIndex<BookOrder>(SALT);
  const [one, other] = [orderOf(`0x${'1'.repeat(64)}`), orderOf(`0x2${'1'.repeat(63)}`)];
  index.add(one);
  t.equal(index.get(other.quote.quoteId), undefined);
  index.remove(orderOf(`0x${'3'.repeat(64)}`));
  index.add(other);
  for (let time = 0; time < 2; time += 1) index.remove(other);
  t.strictSame([...index], [one]);
  t.equal(index.size, 1);
});

const FLOOD = 12_000;

/** The odd number that `odd` times this is 1 (modulo 2^32): each step of Newton's doubles the bits that are right. */
function inverse(odd: number): number {
  let found = odd;
  for (let bits = 3; bits < 32; bits *= 2) found = Math.imul(found, 2 - Math.imul(odd, found));
  return found;
}

/** The shortest of a few tries, in milliseconds. */
function lookUp(index: OrderIndex<BookOrder>, orders: readonly BookOrder[]): number {
  const tries = [1, 2, 3, 4, 5].map(() => {
    const startMs = performance.now();
    for (const { quote } of orders) index.get(quote.quoteId);
    return performance.now() - startMs;
  });
  return Math.min(...tries);
}

t.test('quotes that were made to lie beside each other under one salt slow no lookup down under another', async (t) => {
  const quoteId = (last: number): Hex => `0x${'b'.repeat(56)}${(last >>> 0).toString(16).padStart(8, '0')}`;
  const took = (salt: number, lastOf: (n: number) => number): number => {
    const index = new OrderIndex<BookOrder>(salt);
    const orders = Array.from({ length: FLOOD }, (_, n) => orderOf(quoteId(lastOf(n))));
    for (const order of orders) index.add(order);
    return lookUp(index, orders);
  };
  const made = (n: number): number => Math.imul(n, inverse(SALT));
  const usualMs = took(SALT, (n) => Math.imul(n, 0x9e3779b1));
  const madeMs = took(OTHER_SALT, made);
  // Under the first it takes hundreds of times as long, and on a busy machine ten times now and then.
  t.ok(madeMs < 20 * usualMs + 50, `${madeMs} ms of ${usualMs}`);
});

t.test('an index that has lost most of its orders finds the rest', async (t) => {
  const orders = Array.from({ length: 3000 }, (_, n) => orderOf(`0x${n.toString(16).padStart(64, '0')}`));
  const index = new OrderIndex<BookOrder>(SALT);
  for (const order of orders) index.add(order);
  const kept = orders.filter((_, n) => n % 100 === 0);
  for (const [n, order] of orders.entries()) if (n % 100 !== 0) index.remove(order);
  t.equal(index.size, kept.length);
  t.ok(kept.every((order) => index.get(order.quote.quoteId) === order));
  t.strictSame(new Set(index), new Set(kept));
});
