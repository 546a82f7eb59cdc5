import t from 'tap';
import { walkBestFirst, walkPrivate } from '../../src/engine/best-first.js';
import { BookOrder } from '../../src/engine/book-order.js';
import { SideBook } from '../../src/engine/side-book.js';
import { sampleQuote, TAKER } from './samples.js';

t.test('a walk ends where it is told to, whatever lies behind', async (t) => {
  const side = new SideBook('ask');
  for (const n of [0, 1, 2, 3, 4, 5]) {
    const price = 100n + BigInt(n >> 1);
    for (const more of [{}, { taker: TAKER }]) {
      const order = new BookOrder(sampleQuote({ n: 'taker' in more ? 10 + n : n, price, ...more }));
      order.fillableSize = order.quote.size;
      side.add(order);
    }
  }
  const walked = (walk: (visit: (order: BookOrder) => boolean) => void): number[] => {
    const seen: number[] = [];
    walk(({ quote }) => seen.push(quote.salt) < 3);
    return seen;
  };
  t.same(
    walked((visit) => walkBestFirst(side, null, visit)),
    [0, 1, 2],
  );
  t.same(
    walked((visit) => walkBestFirst(side, TAKER, visit)),
    [0, 1, 10],
  );
  t.same(
    walked((visit) => walkPrivate(side, TAKER, visit)),
    [10, 11, 12],
  );
});
