import t from 'tap';
import { type Hex, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { addTerm, BookHash } from '../../src/feed/book-hash.js';
import { CommittedBook } from '../../src/feed/committed-book.js';
import { filterOf, type WireFilter } from '../../src/feed/filters.js';
import { eventOf, orderOf, quoteId } from '../ws/event-samples.js';
import { address } from '../ws/gateway-fixture.js';
import { keccak256 } from './keccak.js';

const [poolAddress, provider, taker] = [address(0xa2), address(0xb2), address(0xc1)];
const orders = [
  orderOf({ n: 1 }),
  orderOf({ n: 2, poolAddress }),
  orderOf({ n: 3, provider }),
  orderOf({ n: 4, poolAddress, provider, isBuy: true }),
  orderOf({ n: 5, poolAddress, provider, taker }),
];

const cases: readonly (readonly [what: string, filter: WireFilter, taker: Hex | '*', numbers: readonly number[]])[] = [
  ['of any', {}, '*', [1, 2, 3, 4, 5]],
  ['of a pool', { poolAddress }, '*', [2, 4, 5]],
  ['of a maker', { provider }, '*', [3, 4, 5]],
  ['of a maker in a pool, for one taker', { poolAddress, provider }, taker, [5]],
  ['of a maker in a pool, public, on one side', { poolAddress, provider, side: 'bid' }, ZERO_ADDRESS, [4]],
];

for (const [what, filter, whose, numbers] of cases) {
  t.test(`quotes ${what} are selected, and their hash is of the same ones`, async (t) => {
    const hash = new BookHash(keccak256);
    const book = new CommittedBook(orders, hash);
    const selected = book.take(filterOf(filter), whose).held.map(({ quote }) => quote.salt);
    t.strictSame(selected.sort(), numbers);
    const sum = numbers.reduce((sum, n) => addTerm(sum, hash.quoteTerm(quoteId(n), 10n)), 0n);
    t.equal(book.sum(filterOf(filter), whose), sum);
  });
}

t.test('a quote is in the book to its last unit, and no longer', async (t) => {
  const order = orderOf({ n: 1 });
  const book = new CommittedBook([order], new BookHash(keccak256));
  const left = (fillableSize: bigint) => {
    book.apply(eventOf({ type: 'QUOTE_FILLED', order, fillableSize, size: 1n, valid: true }));
    return book.take(filterOf({}), '*').held.map((held) => held.fillableSize);
  };
  t.strictSame(left(1n), [1n]);
  t.strictSame(left(0n), []);
  t.strictSame(left(1n), [1n], 'and again once that comes back');
});

t.test('quotes that were selected stay as they were, and are shared until they change', async (t) => {
  const order = orderOf({ n: 1 });
  const book = new CommittedBook([order], new BookHash(keccak256));
  const [before] = book.take(filterOf({}), '*').held;
  t.equal(book.take(filterOf({}), '*').held[0], before);
  book.apply(eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 1n, size: 1n, valid: true }));
  t.equal(before?.fillableSize, 10n);
  const [after, ...others] = book.take(filterOf({}), '*').held;
  t.match(after, { quote: order.quote, fillableSize: 1n });
  t.strictSame(others, []);
});
