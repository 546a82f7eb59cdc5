import type { Hex, Quote } from './quote.js';
import { wordAt } from './state-hash.js';

/** Places of an index that holds nothing. */
const LEAST_PLACES = 16;
/** More are made when a greater part of them is taken: long runs without a free one would slow every lookup down. */
const MOST_FULL = 2 / 3;
/** Half of them are given back when a smaller part of them is taken. */
const LEAST_FULL = 1 / 8;

/** An order, as far as the index reads it. */
interface Identified {
  readonly quote: Pick<Quote, 'quoteId'>;
}

/**
 * Orders by their ids, in a hash table with linear probing (Knuth, volume 3, 6.4, algorithms L and R). Beside each order
 * lie 32 bits of its id, so that a lookup reads the digits of no other (one pair in a book of 100,000 has the same bits).
 * An order takes 18 to 36 bytes, and 28 to 56 in a Map; in a Map with whole ids as keys each lookup also reads the digits
 * of one or two others, and of a large book none of them is in a cache.
 *
 * Makers choose what they sign and so, by trying, these 32 bits. Multiplied by a number that no maker knows, no choice of
 * them makes two share a place more often than chance does (Dietzfelbinger et al., A reliable randomized algorithm for
 * the closest-pair problem, 1997).
 */
export class OrderIndex<T extends Identified> implements Iterable<T> {
  readonly #multiplier: number;
  #keys = new Int32Array(LEAST_PLACES);
  #orders = freePlaces<T>(LEAST_PLACES);
  /** By so many bits a hash of 32 bits is too long. */
  #surplusBits = surplusBits(LEAST_PLACES);
  #size = 0;

  /** `salt`: 32 bits that no maker knows. Whatever they are, the same orders are found. */
  constructor(salt: number) {
    this.#multiplier = salt | 1;
  }

  get size(): number {
    return this.#size;
  }

  get(quoteId: Hex): T | undefined {
    const keys = this.#keys;
    const orders = this.#orders;
    const key = keyOf(quoteId);
    for (let place = this.#hashOf(key); ; place = (place + 1) & (keys.length - 1)) {
      const order = orders[place];
      if (order === undefined || (keys[place] === key && order.quote.quoteId === quoteId)) return order;
    }
  }

  /** One whose id is not there yet. */
  add(order: T): void {
    const places = this.#keys.length;
    if (this.#size + 1 > MOST_FULL * places) this.#resize(2 * places);
    this.#put(keyOf(order.quote.quoteId), order);
    this.#size += 1;
  }

  /** Nothing happens when it is not there. */
  remove(order: T): void {
    const orders = this.#orders;
    const places = orders.length;
    let place = this.#hashOf(keyOf(order.quote.quoteId));
    for (; orders[place] !== order; place = (place + 1) & (places - 1)) if (orders[place] === undefined) return;
    this.#free(place);
    this.#size -= 1;
    if (this.#size < LEAST_FULL * places && places > LEAST_PLACES) this.#resize(places / 2);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const order of this.#orders) if (order !== undefined) yield order;
  }

  /** Into the first free place from the one that its key is for. */
  #put(key: number, order: T): void {
    const orders = this.#orders;
    let place = this.#hashOf(key);
    while (orders[place] !== undefined) place = (place + 1) & (orders.length - 1);
    this.#keys[place] = key;
    orders[place] = order;
  }

  /** Moves each order behind the place back to one that its lookup passes sooner. */
  #free(place: number): void {
    const keys = this.#keys;
    const orders = this.#orders;
    const last = keys.length - 1;
    let free = place;
    for (let next = (free + 1) & last; orders[next] !== undefined; next = (next + 1) & last) {
      const key = keys[next] ?? 0;
      const passed = (next - this.#hashOf(key)) & last;
      if (passed < ((next - free) & last)) continue;
      keys[free] = key;
      orders[free] = orders[next];
      free = next;
    }
    orders[free] = undefined;
  }

  #resize(places: number): void {
    const [keys, orders] = [this.#keys, this.#orders];
    this.#keys = new Int32Array(places);
    this.#orders = freePlaces<T>(places);
    this.#surplusBits = surplusBits(places);
    for (let place = 0; place < keys.length; place += 1) {
      const order = orders[place];
      if (order !== undefined) this.#put(keys[place] ?? 0, order);
    }
  }

  #hashOf(key: number): number {
    return Math.imul(key, this.#multiplier) >>> this.#surplusBits;
  }
}

function keyOf(quoteId: Hex): number {
  return wordAt(quoteId, quoteId.length - 8);
}

function freePlaces<T>(places: number): (T | undefined)[] {
  return new Array<T | undefined>(places).fill(undefined);
}

/** `places`: a power of two. */
function surplusBits(places: number): number {
  return Math.clz32(places) + 1;
}
