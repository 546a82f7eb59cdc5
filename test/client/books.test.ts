import fc from 'fast-check';
import t from 'tap';
import { LevelBook } from '../../src/client/level-book.js';
import type { QuoteEvent } from '../../src/client/messages.js';
import { QuoteBook } from '../../src/client/quote-book.js';
import { addTerm, BookHash, hashText } from '../../src/feed/book-hash.js';
import { keccak256 } from '../feed/keccak.js';
import { quotesHash } from '../feed/model-reader.js';
import { quote } from './scripted-server.js';

const serverHash = new BookHash(keccak256);
const price = fc.bigInt({ min: 0n, max: 5n });
const change = fc.record({
  side: fc.constantFrom('bid' as const, 'ask' as const),
  price,
  size: fc.bigInt({ min: 1n, max: 1n << 255n }),
  count: fc.nat(2),
});

t.test(
  'a book of levels has the hash that the server has of the same levels, whatever order they came in',
  async () => {
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const book = new LevelBook();
        for (const { side, price, size, count } of changes) {
          const level = { price: price.toString(), size: count === 0 ? '0' : size.toString(), count };
          book.set({ bids: side === 'bid' ? [level] : [], asks: side === 'ask' ? [level] : [] });
        }
        let sum = 0n;
        for (const level of book.bids) sum = addTerm(sum, serverHash.levelTerm('bid', level));
        for (const level of book.asks) sum = addTerm(sum, serverHash.levelTerm('ask', level));
        return book.hash === hashText(sum);
      }),
    );
  },
);

t.test('bids fall, asks rise, and a level without quotes is gone', async (t) => {
  const book = new LevelBook();
  const level = (price: number, count = 1) => ({ price: String(price), size: '7', count });
  book.set({ bids: [level(1), level(3), level(2)], asks: [level(9), level(10), level(5)] });
  book.set({ bids: [level(3, 0)], asks: [level(4)] });
  t.strictSame(
    [book.bids.map(({ price }) => price), book.asks.map(({ price }) => price)],
    [
      [2n, 1n],
      [4n, 5n, 9n, 10n],
    ],
  );
});

t.test('a book of quotes has the hash that the server has of the same quotes', async () => {
  const key = 'quotes:421613:*:*:*';
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(4), fc.bigInt({ min: 0n, max: 1n << 255n }))), (changes) => {
      const book = new QuoteBook();
      for (const [id, fillable] of changes) book.set(key, quote(id, fillable.toString()));
      let sum = 0n;
      for (const { quoteId, fillableSize } of book.all()) {
        sum = addTerm(sum, serverHash.quoteTerm(quoteId, BigInt(fillableSize)));
      }
      return book.hash(key) === hashText(sum);
    }),
  );
});

t.test('a side of quotes is sorted by price, then by age', async (t) => {
  const book = new QuoteBook();
  const terms = [
    { price: '60', ts: 1 },
    { price: '50', ts: 3 },
    { price: '50', ts: 2 },
    { price: '40', ts: 9, isBuy: true },
  ];
  terms.forEach((each, id) => book.set('quotes', quote(id, '1', each)));
  const pool = quote(0).poolAddress.toUpperCase().replace('0X', '0x') as `0x${string}`;
  t.strictSame(
    book.side(pool, 'ask').map(({ salt }) => salt),
    [2, 1, 0],
  );
  t.strictSame(
    book.side(pool, 'bid').map(({ salt }) => salt),
    [3],
  );
});

t.test('a side is of one pool, whatever else the book has', async (t) => {
  const book = new QuoteBook();
  const { poolAddress, provider: otherPool } = quote(0);
  book.set('quotes', quote(1));
  book.set('quotes', quote(2, '10', { poolAddress: otherPool }));
  t.strictSame(
    [poolAddress, otherPool].map((pool) => book.side(pool, 'ask').map(({ salt }) => salt)),
    [[1], [2]],
  );
});

t.test('a quote that is partly filled keeps its place among those of the same second', async (t) => {
  const book = new QuoteBook();
  for (const id of [1, 2, 3]) book.set('quotes', quote(id, '10'));
  book.set('quotes', quote(1, '4'));
  const { poolAddress } = quote(1);
  t.strictSame(
    book.side(poolAddress, 'ask').map(({ salt, fillableSize }) => [salt, fillableSize]),
    [
      [1, '4'],
      [2, '10'],
      [3, '10'],
    ],
  );
});

t.test('a quote is found by its id, under whichever key it came', async (t) => {
  const book = new QuoteBook();
  book.set('one', quote(1));
  book.set('two', quote(2));
  t.strictSame([book.get(quote(1).quoteId)?.salt, book.get(quote(2).quoteId)?.salt], [1, 2]);
  t.equal(book.get(quote(3).quoteId), undefined);
});

t.test('a side is read as it is each time, after a change and after it was cleared', async (t) => {
  const book = new LevelBook();
  const level = (price: number, count = 1) => ({ price: String(price), size: '7', count });
  const prices = () => [book.bids, book.asks].map((side) => side.map(({ price }) => Number(price)));
  book.set({ bids: [level(2)], asks: [level(5)] });
  t.strictSame(prices(), [[2], [5]]);
  book.set({ bids: [level(3)], asks: [level(4), level(5, 0)] });
  t.strictSame(prices(), [[3, 2], [4]]);
  book.clear();
  t.strictSame([prices(), book.hash], [[[], []], new LevelBook().hash]);
  book.set({ bids: [], asks: [level(6)] });
  t.strictSame(prices(), [[], [6]]);
});

t.test('each event leaves the book as docs/reference/api.md says', async (t) => {
  const event = (type: string, fillableSize: string, more: object = {}): QuoteEvent =>
    ({ type, key: 'quotes', body: quote(1, fillableSize), ...more }) as unknown as QuoteEvent;
  /** What is fillable of the quote after the event; null: it is not in the book. */
  const outcomes: readonly (readonly [QuoteEvent, string | null])[] = [
    [event('POST_QUOTE', '10'), '10'],
    [event('REVALIDATE_QUOTE', '7'), '7'],
    [event('FILL_QUOTE', '4', { size: '6' }), '4'],
    [event('FILL_QUOTE', '0', { size: '10' }), null],
    [event('REMOVE_QUOTE', '0'), null],
    [event('WITHDRAW_QUOTE', '7', { reason: 'REQUESTED' }), null],
    [event('FILL_QUOTE', '0', { size: '2' }), null],
    [event('RESTORE_QUOTE', '5'), '5'],
    [event('CANCEL_QUOTE', '0'), null],
    [event('EXPIRE_QUOTE', '10'), null],
    [event('INVALIDATE_QUOTE', '10', { reason: 'InsufficientCollateralBalance' }), null],
    [event('UNDO_QUOTE', '8', { valid: true }), '8'],
    [event('UNDO_QUOTE', '8', { valid: false }), null],
  ];
  for (const before of [[], [quote(1, '10')]]) {
    for (const [told, fillableSize] of outcomes) {
      const book = new QuoteBook();
      for (const each of before) book.set('quotes', each);
      book.apply(told);
      const about = `${told.type} ${told.body.fillableSize}, ${before.length} before`;
      t.equal(book.get(quote(1).quoteId)?.fillableSize ?? null, fillableSize, about);
      t.equal(book.hash('quotes'), quotesHash([...book.all()]), about);
    }
  }
});
