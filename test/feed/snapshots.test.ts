import t from 'tap';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { BookHash, hashText } from '../../src/feed/book-hash.js';
import { CommittedBook } from '../../src/feed/committed-book.js';
import { type Encoding, JsonEncoding, type QuotesPage } from '../../src/feed/event-messages.js';
import { filterOf } from '../../src/feed/filters.js';
import { type SharedSnapshot, SharedSnapshots, takeSnapshot } from '../../src/feed/snapshots.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { eventOf, orderOf, quoteId } from '../ws/event-samples.js';
import { address } from '../ws/gateway-fixture.js';
import { keccak256 } from './keccak.js';

const json = new JsonEncoding(new QuoteJson('421613', 100));
const taker = address(0xc1);
const filter = filterOf({ taker });
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

t.test('a page is written once for all who take the snapshot before the next event', async (t) => {
  const { book } = snapshotOf(3);
  const writes: number[] = [];
  const counting: Encoding = Object.assign(Object.create(json) as Encoding, {
    quotes(page: QuotesPage) {
      writes.push(page.held.length);
      return json.quotes(page);
    },
  });
  const shared = new SharedSnapshots(1 << 20);
  const take = (seq: number) => shared.take(book, filter, parts, { seq, tsMs: 1, pageQuotes: 2 });
  const textOf = (snapshot: SharedSnapshot) =>
    [...snapshot.messages(counting)].map(({ message }) => Buffer.from(message).toString());
  const [first, second] = [take(9), take(9)];
  t.strictSame([first.rowsRead, second.rowsRead], [1, 0], 'the book is read once');
  const began = second.messages(counting);
  const opening = began.next().value;
  t.strictSame(textOf(first), textOf(take(9)));
  t.strictSame(writes, [2, 1, 0]);
  const order = orderOf({ n: 1 });
  book.apply(eventOf({ type: 'QUOTE_FILLED', order, fillableSize: 4n, size: 6n, valid: true }));
  t.not(textOf(take(10))[0], textOf(first)[0], 'after the next event it is another one');
  const rest = [...began].map(({ message }) => Buffer.from(message).toString());
  const whole = [Buffer.from(opening?.message ?? []).toString(), ...rest];
  t.strictSame(whole, textOf(first), 'a reader that is not through goes on with the moment of its own');
});

t.test('no more messages are kept than there is room for', async (t) => {
  const { book } = snapshotOf(4);
  let writes = 0;
  const counting: Encoding = Object.assign(Object.create(json) as Encoding, {
    quotes(page: QuotesPage) {
      writes++;
      return json.quotes(page);
    },
  });
  const at = { seq: 9, tsMs: 1, pageQuotes: 2 };
  const [first] = [...new SharedSnapshots(0).take(book, filter, parts, at).messages(json)];
  const shared = new SharedSnapshots(first?.message.length ?? 0);
  for (let reader = 0; reader < 2; reader++) Array.from(shared.take(book, filter, parts, at).messages(counting));
  t.equal(writes, 3 + 2, 'the first message alone is kept');
});
