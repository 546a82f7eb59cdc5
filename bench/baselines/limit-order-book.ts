import { OrderBook, Side } from 'nodejs-order-book';
import type { Contestant } from '../contest.js';
import { Step, TICK, type BookScript } from '../workload/book-script.js';
import { CONTRACT, inOnePiece } from '../workload/quotes.js';

/** What `nodejs-order-book` is given for a quote: the same id; price in ticks and size in contracts, as floats. */
interface LimitOrder {
  readonly side: Side;
  readonly id: string;
  readonly size: number;
  readonly price: number;
}

/**
 * The book of the npm package `nodejs-order-book`, given the same steps. Its ids are texts of its own: it makes them
 * names of properties, upon which the engine turns each into a reference to another text, and our map would meet those.
 */
export function limitOrderBook(script: BookScript): Contestant {
  const orders = script.quotes.map(({ quoteId, isBuy, size, price }) => ({
    side: isBuy ? Side.BUY : Side.SELL,
    id: inOnePiece(quoteId),
    size: Number(size / CONTRACT),
    price: Number(price / TICK),
  }));
  return {
    name: 'nodejs-order-book',
    prepare() {
      const book = new OrderBook();
      for (const order of orders.slice(0, script.resting)) book.limit(order);
      return () => play(script, orders, book);
    },
  };
}

function play({ steps, subjects, others }: BookScript, orders: readonly LimitOrder[], book: OrderBook): number {
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i];
    const subject = orders[subjects[i] ?? 0];
    const other = orders[others[i] ?? 0];
    if (step === undefined || subject === undefined || other === undefined) continue;
    switch (step) {
      case Step.Insert:
        book.limit(subject);
        break;
      case Step.Cancel:
        book.cancel(subject.id);
        break;
      case Step.Replace:
        book.cancel(subject.id);
        book.limit(other);
        break;
      case Step.Cross:
        // A price that the whole other side satisfies: it is matched as it comes in.
        book.limit({ ...subject, price: subject.side === Side.BUY ? Number.MAX_SAFE_INTEGER : 1 });
        break;
      case Step.InsertAndTake:
        book.limit(subject);
        book.market({ side: subject.side === Side.BUY ? Side.SELL : Side.BUY, size: subject.size });
        break;
    }
  }
  return steps.length;
}
