import type { Levels, Priced } from './levels.js';
import type { Side } from './quote.js';

/** Empty levels that are kept in any case. */
const SPARE_LEVELS = 32;
/** Most levels that are moved one by one: `splice` is the faster for more, but it makes an array of what it takes out (nothing). */
const MOVED_SINGLY = 64;

/**
 * In one sorted array with the best price at its end, where most comes and goes. Prices are looked for as floats, and
 * two that are the same float (above 2^53 they can be) are told apart exactly. A level that loses its last quote stays,
 * unseen, for the next quote of its price: opening one moves all that lie behind it, which is most of what an array
 * costs. The best level is never an empty one, and they are swept out when they outnumber the others.
 */
export class ArrayLevels<L extends Priced> implements Levels<L> {
  /** Worst first. */
  readonly #levels: L[];
  /** Of each level: its price as a float, negated for asks, so that the keys of either side rise. */
  readonly #keys: number[];
  readonly #sign: 1 | -1;
  readonly #make: (price: bigint) => L;
  #empty = 0;

  /** `levels`: what it begins with, best first. */
  constructor(side: Side, make: (price: bigint) => L, levels: Iterable<L> = []) {
    this.#sign = side === 'ask' ? -1 : 1;
    this.#make = make;
    this.#levels = [...levels].reverse();
    this.#keys = this.#levels.map(({ price }) => this.#sign * Number(price));
  }

  get size(): number {
    return this.#levels.length - this.#empty;
  }

  at(price: bigint): L | undefined {
    const level = this.#levels[this.#placeOf(price, this.#sign * Number(price))];
    return level?.price === price && level.count > 0 ? level : undefined;
  }

  open(price: bigint): L {
    const key = this.#sign * Number(price);
    const place = this.#placeOf(price, key);
    const known = this.#levels[place];
    if (known?.price === price) {
      if (known.count === 0) this.#empty -= 1;
      return known;
    }
    const level = this.#make(price);
    if (this.#levels.length - place > MOVED_SINGLY) {
      this.#levels.splice(place, 0, level);
      this.#keys.splice(place, 0, key);
    } else this.#insertNearEnd(place, level, key);
    return level;
  }

  close(level: L): void {
    this.#empty += 1;
    if (level === this.#levels.at(-1)) this.#dropEmptyEnd();
    if (this.#empty > SPARE_LEVELS + this.size) this.#sweep();
  }

  /** By hand: every cover query begins here, and a generator would cost more than all the rest of it. */
  [Symbol.iterator](): Iterator<L, undefined> {
    const levels = this.#levels;
    let place = levels.length;
    return {
      next(): IteratorResult<L, undefined> {
        for (;;) {
          place -= 1;
          const level = levels[place];
          if (level === undefined) return { done: true, value: undefined };
          if (level.count > 0) return { done: false, value: level };
        }
      },
    };
  }

  /** Where the price is, or where it belongs: the first level that is not worse. */
  #placeOf(price: bigint, key: number): number {
    const keys = this.#keys;
    let low = 0;
    let high = keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((keys[middle] ?? 0) < key) low = middle + 1;
      else high = middle;
    }
    while (keys[low] === key && this.#isWorse(this.#levels[low], price)) low += 1;
    return low;
  }

  #isWorse(level: L | undefined, price: bigint): boolean {
    // Most are the price itself, and every comparison of bigints is a call.
    if (level === undefined || level.price === price) return false;
    return this.#sign === -1 ? level.price > price : level.price < price;
  }

  #insertNearEnd(place: number, level: L, key: number): void {
    let [moving, itsKey] = [level, key];
    for (let at = place; at < this.#levels.length; at++) {
      const [next, nextKey] = [this.#levels[at], this.#keys[at]];
      this.#levels[at] = moving;
      this.#keys[at] = itsKey;
      [moving, itsKey] = [next ?? moving, nextKey ?? itsKey];
    }
    this.#levels.push(moving);
    this.#keys.push(itsKey);
  }

  #dropEmptyEnd(): void {
    while (this.#levels.at(-1)?.count === 0) {
      this.#levels.pop();
      this.#keys.pop();
      this.#empty -= 1;
    }
  }

  #sweep(): void {
    let kept = 0;
    for (const [place, level] of this.#levels.entries()) {
      if (level.count === 0) continue;
      this.#levels[kept] = level;
      this.#keys[kept] = this.#keys[place] ?? NaN;
      kept += 1;
    }
    this.#levels.length = kept;
    this.#keys.length = kept;
    this.#empty = 0;
  }
}
