import { ArrayLevels } from './array-levels.js';
import { BTreeLevels, type Levels, type Priced } from './levels.js';
import type { Side } from './quote.js';

/**
 * Levels above which they are kept in a B-tree, and below which in an array again. Where every quote has a price of its
 * own an array costs two thirds of a B-tree at 1,000 levels and twice as much at 8,000 (docs/adr/0001), and more without end.
 */
const MOST_IN_ARRAY = 2048;
const FEWEST_IN_TREE = 512;

/** In an array while there are few, in a B-tree while there are many. */
export class SizedLevels<L extends Priced> implements Levels<L> {
  readonly #side: Side;
  readonly #make: (price: bigint) => L;
  #levels: Levels<L>;
  #isTree = false;

  constructor(side: Side, make: (price: bigint) => L) {
    this.#side = side;
    this.#make = make;
    this.#levels = new ArrayLevels(side, make);
  }

  get size(): number {
    return this.#levels.size;
  }

  at(price: bigint): L | undefined {
    return this.#levels.at(price);
  }

  open(price: bigint): L {
    if (!this.#isTree && this.#levels.size >= MOST_IN_ARRAY) {
      this.#levels = new BTreeLevels(this.#side, this.#make, this.#levels);
      this.#isTree = true;
    }
    return this.#levels.open(price);
  }

  close(level: L): void {
    this.#levels.close(level);
    if (!this.#isTree || this.#levels.size >= FEWEST_IN_TREE) return;
    this.#levels = new ArrayLevels(this.#side, this.#make, this.#levels);
    this.#isTree = false;
  }

  [Symbol.iterator](): Iterator<L> {
    return this.#levels[Symbol.iterator]();
  }
}
