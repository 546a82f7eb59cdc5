import { BTreeLevels, type PriceLevels, type Priced } from './price-levels.js';
import type { Side } from './quote.js';

/** Empty levels that are kept in any case. */
const SPARE_LEVELS = 32;
/**
 * Most levels that are moved one by one: `splice` is the faster for more, but it makes an array of what it takes out
 * (nothing).
 */
const MOVED_SINGLY = 64;
/** Levels that there is room for to begin with. */
const LEAST_ROOM = 8;
/**
 * Places for recent levels, for each level that there is room for: with one a third would miss, and with four they
 * leave the cache.
 */
const RECENT_PER_LEVEL = 2;
/** 2^32 by the golden ratio: multiplied by it, numbers that lie close go far apart (Knuth, volume 3, 6.4). */
const SPREADER = 0x9e3779b1;

/**
 * In one sorted array with the best price at its end, where most comes and goes. Prices are looked for as floats, and
 * two that are the same float (above 2^53 they can be) are compared exactly. A level that loses its last quote stays,
 * unseen, for the next quote of its price: opening one moves all that lie behind it, which is most of what an array
 * costs. The best level is never an empty one, and they are swept out when they outnumber the others.
 */
export class ArrayLevels<L extends Priced> implements PriceLevels<L> {
  /** Worst first. */
  readonly #levels: L[];
  /**
   * Of each level: its price as a float, negated for asks, so that the keys of either side rise. There is room behind
   * them.
   */
  #keys = new Float64Array(0);
  /**
   * Levels that were opened lately, by a hash of their keys, one a hash. A level that has quotes is in `#levels` too.
   */
  #recent: (L | undefined)[] = [];
  /** By so many bits a hash of 32 bits is too long. */
  #surplusBits = 0;
  readonly #sign: 1 | -1;
  readonly #make: (price: bigint) => L;
  #empty = 0;

  /** `levels`: what it begins with, best first. */
  constructor(side: Side, make: (price: bigint) => L, levels: Iterable<L> = []) {
    this.#sign = side === 'ask' ? -1 : 1;
    this.#make = make;
    this.#levels = [...levels].reverse();
    this.#makeRoom();
    for (const [place, { price }] of this.#levels.entries()) this.#keys[place] = this.#sign * floatOf(price);
  }

  get size(): number {
    return this.#levels.length - this.#empty;
  }

  at(price: bigint): L | undefined {
    const place = this.#placeOf(price, this.#sign * floatOf(price));
    const level = place < 0 ? undefined : this.#levels[place];
    return level !== undefined && level.count > 0 ? level : undefined;
  }

  open(price: bigint): L {
    const key = this.#sign * floatOf(price);
    const hash = Math.imul(key, SPREADER) >>> this.#surplusBits;
    const recent = this.#recent[hash];
    if (recent !== undefined && recent.count > 0 && recent.price === price) return recent;
    const place = this.#placeOf(price, key);
    const known = place < 0 ? undefined : this.#levels[place];
    const level = known ?? this.#insert(-1 - place, this.#make(price), key);
    if (known?.count === 0) this.#empty -= 1;
    this.#recent[hash] = level;
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

  /** Where the price is; where it is not, the place that it belongs at, negated, less 1. */
  #placeOf(price: bigint, key: number): number {
    const keys = this.#keys;
    const end = this.#levels.length;
    let low = 0;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((keys[middle] ?? 0) < key) low = middle + 1;
      else high = middle;
    }
    for (; low < end && keys[low] === key; low++) {
      const other = this.#levels[low]?.price ?? price;
      if (other === price) return low;
      if (this.#sign === -1 ? other < price : other > price) break;
    }
    return -1 - low;
  }

  #insert(place: number, level: L, key: number): L {
    const levels = this.#levels;
    const end = levels.length;
    if (end === this.#keys.length) this.#makeRoom();
    const keys = this.#keys;
    if (end - place > MOVED_SINGLY) {
      levels.splice(place, 0, level);
      keys.copyWithin(place + 1, place, end);
    } else {
      levels.push(level);
      for (let at = end; at > place; at--) {
        levels[at] = levels[at - 1] ?? level;
        keys[at] = keys[at - 1] ?? key;
      }
      levels[place] = level;
    }
    keys[place] = key;
    return level;
  }

  /** For twice as many levels as there are. */
  #makeRoom(): void {
    const bits = 32 - Math.clz32(Math.max(LEAST_ROOM, 2 * this.#levels.length) - 1);
    const keys = new Float64Array(2 ** bits);
    keys.set(this.#keys);
    this.#keys = keys;
    this.#recent = new Array<L | undefined>(RECENT_PER_LEVEL * keys.length).fill(undefined);
    this.#surplusBits = Math.clz32(this.#recent.length) + 1;
  }

  #dropEmptyEnd(): void {
    while (this.#levels.at(-1)?.count === 0) {
      this.#levels.pop();
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
    this.#empty = 0;
  }
}

const wide = new BigUint64Array(1);
/** The lower one first, as on every machine that Node and its libraries are built for. */
const halves = new Uint32Array(wide.buffer);

/**
 * The float that is nearest to the price: what `Number(price)` is, which leaves compiled code. Prices take 60 bits
 * (MAX_PRICE).
 */
function floatOf(price: bigint): number {
  wide[0] = price;
  return (halves[1] ?? 0) * 2 ** 32 + (halves[0] ?? 0);
}

/**
 * Levels above which they are kept in a B-tree, and below which in an array again. Where every quote has a price of its
 * own an array costs two thirds of a B-tree at 1,000 levels and twice as much at 8,000 (docs/explanation/adr/0001), and more
 * without end.
 */
const MOST_IN_ARRAY = 2048;
const FEWEST_IN_TREE = 512;

/** In an array while there are few, in a B-tree while there are many. */
export class HybridLevels<L extends Priced> implements PriceLevels<L> {
  readonly #side: Side;
  readonly #make: (price: bigint) => L;
  /** One of the two is in use. Each has a field of its own because calls to a known class are what makes them cheap. */
  #array: ArrayLevels<L> | null;
  #tree: BTreeLevels<L> | null = null;

  constructor(side: Side, make: (price: bigint) => L) {
    this.#side = side;
    this.#make = make;
    this.#array = new ArrayLevels(side, make);
  }

  get size(): number {
    return this.#array?.size ?? this.#tree?.size ?? 0;
  }

  at(price: bigint): L | undefined {
    return this.#array === null ? this.#tree?.at(price) : this.#array.at(price);
  }

  open(price: bigint): L {
    if (this.#array === null) return this.#inTree().open(price);
    return this.#array.size < MOST_IN_ARRAY ? this.#array.open(price) : this.#inTree().open(price);
  }

  close(level: L): void {
    if (this.#array !== null) {
      this.#array.close(level);
      return;
    }
    const tree = this.#inTree();
    tree.close(level);
    if (tree.size >= FEWEST_IN_TREE) return;
    this.#array = new ArrayLevels(this.#side, this.#make, tree);
    this.#tree = null;
  }

  [Symbol.iterator](): Iterator<L> {
    return (this.#array ?? this.#inTree())[Symbol.iterator]();
  }

  /** Moves there what is in the array. */
  #inTree(): BTreeLevels<L> {
    this.#tree ??= new BTreeLevels(this.#side, this.#make, this.#array ?? []);
    this.#array = null;
    return this.#tree;
  }
}
