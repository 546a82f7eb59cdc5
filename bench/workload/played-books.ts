import { BookOrder, BookSide, type ListedOrder } from '../../src/engine/order-book.js';
import { OrderStore } from '../../src/engine/order-store.js';
import { cover, walkBestFirst } from '../../src/engine/queries.js';
import type { Hex, Quote, Side } from '../../src/engine/quote.js';
import type { Contestant } from '../contest.js';
import { type BookScript, Step } from './book-script.js';

/** Stands for the settlement block at which every state was read; nothing is final, so that every index is at work. */
const BLOCK = 500;

/** What the steps of a script are played on. */
interface Played {
  insert(quote: Quote): BookOrder;
  find(quote: Quote): BookOrder | undefined;
  /** Best first, what covers the size. */
  cover(side: Side, size: bigint): readonly { readonly quote: Quote }[];
  fill(order: BookOrder, size: bigint): void;
  remove(order: BookOrder): void;
}

/** As much of our book as `nodejs-order-book` has of its own: orders by id, and each side by price and age. */
class TwoSides implements Played {
  readonly #ids = new Map<Hex, BookOrder>();
  readonly #bid = new BookSide('bid');
  readonly #ask = new BookSide('ask');

  insert(quote: Quote): BookOrder {
    const order = new BookOrder(quote);
    order.fillableSize = quote.size;
    this.#ids.set(quote.quoteId, order);
    this.#sideOf(order).add(order);
    return order;
  }

  find(quote: Quote): BookOrder | undefined {
    return this.#ids.get(quote.quoteId);
  }

  cover(side: Side, size: bigint): readonly ListedOrder[] {
    const found: ListedOrder[] = [];
    let covered = 0n;
    walkBestFirst(side === 'bid' ? this.#bid : this.#ask, null, (order) => {
      found.push(order);
      covered += order.fillableSize;
      return covered < size;
    });
    return found;
  }

  fill(order: BookOrder, size: bigint): void {
    if (size === order.fillableSize) this.remove(order);
    else this.#sideOf(order).resize(order, order.fillableSize - size);
  }

  remove(order: BookOrder): void {
    this.#sideOf(order).remove(order);
    this.#ids.delete(order.quote.quoteId);
  }

  #sideOf(order: BookOrder): BookSide {
    return order.quote.isBuy ? this.#bid : this.#ask;
  }
}

/** All that the engine keeps: also by pool, maker, due time, and the blocks of both chains that a reorg can undo. */
class EveryIndex implements Played {
  readonly #store = new OrderStore();
  readonly #poolAddress: Hex;

  constructor({ pool }: BookScript) {
    this.#poolAddress = pool.poolAddress;
  }

  insert(quote: Quote): BookOrder {
    const order = this.#store.add(quote);
    this.#store.set(order, quote.size, null, BLOCK, true);
    return order;
  }

  find(quote: Quote): BookOrder | undefined {
    return this.#store.get(quote.quoteId);
  }

  cover(side: Side, size: bigint): readonly { readonly quote: Quote }[] {
    return cover(this.#store.book, { poolAddress: this.#poolAddress, side, size });
  }

  fill(order: BookOrder, size: bigint): void {
    if (size === order.fillableSize) this.#store.forget(order);
    else this.#store.set(order, order.fillableSize - size, null, BLOCK, false);
  }

  remove(order: BookOrder): void {
    this.#store.forget(order);
  }
}

export function ourSides(script: BookScript): Contestant {
  return contestant('sides', script, () => new TwoSides());
}

export function ourBook(script: BookScript): Contestant {
  return contestant('book', script, () => new EveryIndex(script));
}

function contestant(name: string, script: BookScript, open: () => Played): Contestant {
  return {
    name,
    prepare() {
      const book = open();
      for (const quote of script.quotes.slice(0, script.resting)) book.insert(quote);
      return () => play(script, book);
    },
  };
}

function play({ steps, subjects, others, quotes }: BookScript, book: Played): number {
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i];
    const subject = quotes[subjects[i] ?? 0];
    const other = quotes[others[i] ?? 0];
    if (step === undefined || subject === undefined || other === undefined) continue;
    switch (step) {
      case Step.Insert:
        book.insert(subject);
        break;
      case Step.Cancel:
        cancel(book, subject);
        break;
      case Step.Replace:
        cancel(book, subject);
        book.insert(other);
        break;
      case Step.Cross:
        // The same in two steps: what comes in is filled whole, and so is what it meets.
        book.fill(book.insert(subject), subject.size);
        take(book, subject.isBuy ? 'ask' : 'bid', subject.size);
        break;
      case Step.InsertAndTake:
        book.insert(subject);
        take(book, subject.isBuy ? 'bid' : 'ask', subject.size);
        break;
    }
  }
  return steps.length;
}

function cancel(book: Played, quote: Quote): void {
  const order = book.find(quote);
  if (order !== undefined) book.remove(order);
}

/** A cover query, and a fill of each quote it names: fills come by id, as the chain's events do. */
function take(book: Played, side: Side, size: bigint): void {
  let rest = size;
  for (const { quote } of book.cover(side, size)) {
    const order = book.find(quote);
    if (order === undefined) continue;
    const part = rest < order.fillableSize ? rest : order.fillableSize;
    rest -= part;
    book.fill(order, part);
  }
}
