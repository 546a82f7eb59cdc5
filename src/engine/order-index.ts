import type { BookOrder } from './book-order.js';
import type { Hex } from './quote.js';
import { wordAt } from './word-mixer.js';

/**
 * Orders by their ids. The Map's keys are 32 bits of an id: numbers, which lie in the Map itself. With whole ids as keys
 * each lookup reads the digits of one or two others on its way, and of a large book none of them is in a cache
 * (measured: a tenth of a replay). Orders whose ids have the same bits are linked: one pair in a book of 100,000, and a
 * maker who wants another has to try 2^32 quotes.
 *
 * V8 hashes numbers, unlike strings, by a function that everybody can compute: of 2^17 quotes one would share its bucket
 * of the Map with all others that were tried so, and each lookup would walk past them. The salt is what keeps them apart.
 */
export class OrderIndex implements Iterable<BookOrder> {
  readonly #first = new Map<number, BookOrder>();
  readonly #salt: number;
  #size = 0;

  /** `salt`: 32 bits that no maker knows. Whatever they are, the same orders are found, and in the same order. */
  constructor(salt: number) {
    this.#salt = salt;
  }

  get size(): number {
    return this.#size;
  }

  get(quoteId: Hex): BookOrder | undefined {
    let order = this.#first.get(this.#keyOf(quoteId));
    while (order !== undefined && order.quote.quoteId !== quoteId) order = order.sameKey ?? undefined;
    return order;
  }

  /** One whose id is not there yet. */
  add(order: BookOrder): void {
    const key = this.#keyOf(order.quote.quoteId);
    order.indexKey = key;
    order.sameKey = this.#first.get(key) ?? null;
    this.#first.set(key, order);
    this.#size += 1;
  }

  remove(order: BookOrder): void {
    const key = order.indexKey;
    const first = this.#first.get(key);
    if (first === undefined) return;
    if (first === order) {
      if (order.sameKey === null) this.#first.delete(key);
      else this.#first.set(key, order.sameKey);
    } else {
      let before: BookOrder | null = first;
      while (before !== null && before.sameKey !== order) before = before.sameKey;
      if (before === null) return;
      before.sameKey = order.sameKey;
    }
    order.sameKey = null;
    this.#size -= 1;
  }

  *[Symbol.iterator](): Iterator<BookOrder> {
    for (const first of this.#first.values()) {
      for (let order: BookOrder | null = first; order !== null; order = order.sameKey) yield order;
    }
  }

  #keyOf(id: Hex): number {
    return wordAt(id, id.length - 8) ^ this.#salt;
  }
}
