import t from 'tap';
import { BookOrder, compareAge } from '../../src/engine/book-order.js';
import { sampleQuote, type SampleQuote } from './samples.js';

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
