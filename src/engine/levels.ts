import { BTree } from './btree.js';
import type { Side } from './quote.js';

/** Whatever is kept by price on one side of a book, best price first: asks rising, bids falling. */
export interface Levels<L extends { readonly price: bigint }> extends Iterable<L> {
  /** Number of levels. */
  readonly size: number;
  at(price: bigint): L | undefined;
  /** Adds a level whose price has none yet. */
  add(level: L): void;
  remove(price: bigint): void;
}

/** Negative when `a` is the better price, which is nearer to the other side. */
export function betterFirst(side: Side): (a: bigint, b: bigint) => number {
  return side === 'ask' ? (a, b) => (a < b ? -1 : a > b ? 1 : 0) : (a, b) => (a > b ? -1 : a < b ? 1 : 0);
}

export class BTreeLevels<L extends { readonly price: bigint }> implements Levels<L> {
  readonly #tree: BTree<bigint, L>;

  constructor(side: Side) {
    this.#tree = new BTree<bigint, L>(undefined, betterFirst(side));
  }

  get size(): number {
    return this.#tree.size;
  }

  at(price: bigint): L | undefined {
    return this.#tree.get(price);
  }

  add(level: L): void {
    this.#tree.set(level.price, level);
  }

  remove(price: bigint): void {
    this.#tree.delete(price);
  }

  [Symbol.iterator](): Iterator<L> {
    return this.#tree.values();
  }
}
