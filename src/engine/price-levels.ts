import sortedBtree from 'sorted-btree';
import type { Side } from './quote.js';

/** The package is CommonJS with its class under `default`; this is the one place that knows. */
export const BTree = sortedBtree.default;
export type BTree<K, V> = sortedBtree.default<K, V>;

/** An entry that is kept by price. */
export interface Priced {
  /** 1e-18. */
  readonly price: bigint;
  /** Number of quotes; a level that has none is as good as not there. */
  readonly count: number;
}

/** Whatever is kept by price on one side of a book, best price first: asks rising, bids falling. */
export interface PriceLevels<L extends Priced> extends Iterable<L> {
  /** Number of levels. */
  readonly size: number;
  at(price: bigint): L | undefined;
  /** The level of that price, created if absent; the caller puts a quote into it at once. */
  open(price: bigint): L;
  /** Takes out a level that has just lost its last quote. */
  close(level: L): void;
}

/** Negative when `a` is the better price, which is nearer to the other side. */
export function comparePrices(side: Side): (a: bigint, b: bigint) => number {
  return side === 'ask' ? (a, b) => (a < b ? -1 : a > b ? 1 : 0) : (a, b) => (a > b ? -1 : a < b ? 1 : 0);
}

/** In a B-tree: any number of levels, each found, opened and closed in logarithmic time. */
export class BTreeLevels<L extends Priced> implements PriceLevels<L> {
  readonly #tree: BTree<bigint, L>;
  readonly #make: (price: bigint) => L;

  /** `levels`: what it begins with, in any order. */
  constructor(side: Side, make: (price: bigint) => L, levels: Iterable<L> = []) {
    this.#tree = new BTree<bigint, L>(undefined, comparePrices(side));
    this.#make = make;
    for (const level of levels) this.#tree.set(level.price, level);
  }

  get size(): number {
    return this.#tree.size;
  }

  at(price: bigint): L | undefined {
    return this.#tree.get(price);
  }

  open(price: bigint): L {
    const known = this.#tree.get(price);
    if (known !== undefined) return known;
    const level = this.#make(price);
    this.#tree.set(price, level);
    return level;
  }

  close(level: L): void {
    this.#tree.delete(level.price);
  }

  [Symbol.iterator](): Iterator<L> {
    return this.#tree.values();
  }
}
