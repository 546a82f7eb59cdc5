import t from 'tap';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { BookHash, hashText } from '../../src/feed/book-hash.js';
import { CommittedBook } from '../../src/feed/committed-book.js';
import { takeSnapshot } from '../../src/feed/quotes-snapshot.js';
import { filterOf } from '../../src/feed/wire-filter.js';
import { address } from '../ws/hub-fixture.js';
import { eventOf, orderOf, quoteId } from '../ws/event-samples.js';
import { keccak256 } from './keccak.js';

const taker = address(0xc1);
const filter = filterOf('QUOTES', { taker });
const parts = [
  { key: 'public', taker: ZERO_ADDRESS },
  { key: 'own', taker },
];

/** Of public quotes as many, each page of at most two. */
function snapshotOf(quotes: number) {
  const orders = Array.from({ length: quotes }, (_, i) => orderOf({ n: i + 1 }));
  const book = new CommittedBook(orders, new BookHash(keccak256));
  return { book, snapshot: takeSnapshot(book, filter, parts, { seq: 9, tsMs: 1, pageQuotes: 2 }) };
}

function pagesOf({ snapshot }: ReturnType<typeof snapshotOf>) {
  return [...snapshot.pages()].map(({ key, more, held }) => [key, more, held.map(({ quote }) => quote.salt)]);
}

t.test('all quotes are on the pages of their key, of which all but the last say that more follow', async (t) => {
  const nothing = ['own', false, []];
  t.strictSame(pagesOf(snapshotOf(0)), [['public', false, []], nothing]);
  t.strictSame(pagesOf(snapshotOf(2)), [['public', false, [1, 2]], nothing]);
  t.strictSame(pagesOf(snapshotOf(3)), [['public', true, [1, 2]], ['public', false, [3]], nothing]);
  t.strictSame(pagesOf(snapshotOf(4)), [['public', true, [1, 2]], ['public', false, [3, 4]], nothing]);
});

t.test('pages that are read later show the book as it was', async (t) => {
  const { book, snapshot } = snapshotOf(1);
  const hash = hashText(new BookHash(keccak256).quoteTerm(quoteId(1), 10n));
  const order = orderOf({ n: 1 });
  book.apply(eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 4n, size: 6n, valid: true }));
  const [page] = snapshot.pages();
  t.match(page, { hash, held: [{ fillableSize: 10n }] });
});
