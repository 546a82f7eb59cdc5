import { ArrayLevels } from './array-levels.js';
import { BTreeLevels, type Levels, type Priced } from './levels.js';
import type { Side } from './quote.js';

/**
 * Levels above which they are kept in a B-tree, and below which in an array again. Where every quote has a price of its
 * own an array costs two thirds of a B-tree at 1,000 levels and twice as much at 8,000 (docs/explanation/adr/0001), and more
 * without end.
 */
const MOST_IN_ARRAY = 2048;
const FEWEST_IN_TREE = 512;

/** In an array while there are few, in a B-tree while there are many. */
export class SizedLevels<L extends Priced> implements Levels<L> {
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
