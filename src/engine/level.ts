import { assert } from './assert.js';
import { compareAge, type BookOrder } from './book-order.js';
import { BTree } from './btree.js';

/**
 * How far an order that comes late is looked for a place by walking from the newest end, and how small a level must get
 * to lose its index again. New quotes are the newest of their level and walk no step.
 */
const WALK_STEPS = 32;
/**
 * Sizes of fewer quotes are added up when somebody asks: a sum of bigints is a call and an object, and most changes are
 * read by nobody.
 */
const SUM_KEPT_FROM = 32;

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
  count = 0;
  oldest: BookOrder | null = null;
  newest: BookOrder | null = null;
  /**
   * Made when an order's place is too far to walk to (a maker's quotes coming back by the thousand), so that such an
   * order costs O(log n) whatever order they come in.
   */
  #byAge: BTree<BookOrder, true> | null = null;
  /** Null while nobody has added it up. */
  #size: bigint | null = 0n;

  constructor(price: bigint) {
    this.price = price;
  }

  get size(): bigint {
    return (this.#size ??= this.#sum());
  }

  add(order: BookOrder): void {
    this.#size = this.count < SUM_KEPT_FROM ? null : this.size + order.fillableSize;
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
    this.count += 1;
  }

  remove(order: BookOrder): void {
    this.#size = this.count <= SUM_KEPT_FROM ? null : this.size - order.fillableSize;
    const { older, newer } = order;
    if (older === null) this.oldest = newer;
    else older.newer = newer;
    if (newer === null) this.newest = older;
    else newer.older = older;
    order.older = null;
    order.newer = null;
    order.level = null;
    this.count -= 1;
    if (this.#byAge === null) return;
    if (this.count <= WALK_STEPS) this.#byAge = null;
    else this.#byAge.delete(order);
  }

  /** Sets what is fillable of an order that stays where it is. */
  resize(order: BookOrder, fillableSize: bigint): void {
    this.#size = this.count <= SUM_KEPT_FROM ? null : this.size + fillableSize - order.fillableSize;
    order.fillableSize = fillableSize;
  }

  checkInvariants(): void {
    let count = 0;
    let older: BookOrder | null = null;
    for (let order = this.oldest; order !== null; order = order.newer) {
      assert(order.level === this && order.older === older, 'a level is linked both ways');
      assert(older === null || compareAge(older, order) < 0, 'a level goes from older to newer');
      assert(order.quote.price === this.price, 'a level holds one price');
      assert(this.#byAge === null || this.#byAge.has(order), 'an index holds the whole level');
      count += 1;
      older = order;
    }
    assert(this.newest === older, 'a level ends at its newest order');
    assert(this.count === count && this.size === this.#sum(), 'a level adds up');
    assert(this.#byAge === null || this.#byAge.size === count, 'an index holds nothing else');
  }

  #sum(): bigint {
    let size = 0n;
    for (let order = this.oldest; order !== null; order = order.newer) size += order.fillableSize;
    return size;
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
