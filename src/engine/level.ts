import { assert } from './assert.js';
import { compareAge, type BookOrder } from './book-order.js';
import { BTree } from './btree.js';

/**
 * How far an order that comes late is looked for a place by walking from the newest end, and how small a level must get
 * to lose its index again. New quotes are the newest of their level and walk no step.
 */
const WALK_STEPS = 32;

/** What a level adds up to. */
export interface LevelTotal {
  /** 1e-18. */
  readonly price: bigint;
  /** Sum of the fillable sizes, 1e-18 contracts. */
  readonly size: bigint;
  /** Number of quotes. */
  readonly count: number;
}

/** All orders of one price, linked from the oldest to the newest. */
export class Level implements LevelTotal {
  readonly price: bigint;
  size = 0n;
  count = 0;
  oldest: BookOrder | null = null;
  newest: BookOrder | null = null;
  /**
   * Made when an order's place is too far to walk to (a maker's quotes coming back by the thousand), so that such an
   * order costs O(log n) whatever order they come in.
   */
  #byAge: BTree<BookOrder, true> | null = null;

  constructor(price: bigint) {
    this.price = price;
  }

  add(order: BookOrder): void {
    const older = this.#newestOlderThan(order);
    const newer = older === null ? this.oldest : older.newer;
    order.older = older;
    order.newer = newer;
    if (older === null) this.oldest = order;
    else older.newer = order;
    if (newer === null) this.newest = order;
    else newer.older = order;
    order.level = this;
    this.#byAge?.set(order, true);
    // Most levels hold one quote, and a sum of bigints is an allocation.
    this.size = this.count === 0 ? order.fillableSize : this.size + order.fillableSize;
    this.count += 1;
  }

  remove(order: BookOrder): void {
    const { older, newer } = order;
    if (older === null) this.oldest = newer;
    else older.newer = newer;
    if (newer === null) this.newest = older;
    else newer.older = older;
    order.older = null;
    order.newer = null;
    order.level = null;
    this.count -= 1;
    this.size = this.count === 0 ? 0n : this.size - order.fillableSize;
    if (this.#byAge === null) return;
    if (this.count <= WALK_STEPS) this.#byAge = null;
    else this.#byAge.delete(order);
  }

  checkInvariants(): void {
    let count = 0;
    let size = 0n;
    let older: BookOrder | null = null;
    for (let order = this.oldest; order !== null; order = order.newer) {
      assert(order.level === this && order.older === older, 'a level is linked both ways');
      assert(older === null || compareAge(older, order) < 0, 'a level goes from older to newer');
      assert(order.quote.price === this.price, 'a level holds one price');
      assert(this.#byAge === null || this.#byAge.has(order), 'an index holds the whole level');
      count += 1;
      size += order.fillableSize;
      older = order;
    }
    assert(this.newest === older, 'a level ends at its newest order');
    assert(this.count === count && this.size === size, 'a level adds up');
    assert(this.#byAge === null || this.#byAge.size === count, 'an index holds nothing else');
  }

  #newestOlderThan(order: BookOrder): BookOrder | null {
    let candidate = this.newest;
    for (let steps = 0; candidate !== null && compareAge(candidate, order) > 0; steps += 1) {
      if (steps === WALK_STEPS) return this.#indexed().getPairOrNextLower(order)?.[0] ?? null;
      candidate = candidate.older;
    }
    return candidate;
  }

  #indexed(): BTree<BookOrder, true> {
    if (this.#byAge === null) {
      this.#byAge = new BTree<BookOrder, true>(undefined, compareAge);
      for (let order = this.oldest; order !== null; order = order.newer) this.#byAge.set(order, true);
    }
    return this.#byAge;
  }
}
