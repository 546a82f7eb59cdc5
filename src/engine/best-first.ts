import { compareAge, type BookOrder } from './book-order.js';
import type { Level, LevelTotal } from './level.js';
import { betterFirst, type Levels } from './levels.js';
import type { Hex, Side } from './quote.js';
import type { SideBook } from './side-book.js';

/** Steps through levels, best price first and older first within each. */
class Cursor {
  order: BookOrder | null = null;
  readonly #levels: Iterator<Level>;

  constructor(levels: Levels<Level>) {
    this.#levels = levels[Symbol.iterator]();
    this.#enterNextLevel();
  }

  advance(): void {
    this.order = this.order?.newer ?? null;
    if (this.order === null) this.#enterNextLevel();
  }

  #enterNextLevel(): void {
    const next = this.#levels.next();
    this.order = next.done === true ? null : next.value.oldest;
  }
}

/** Negative when `a` is to be taken before `b`: better price, then older. */
export function compareBest(side: Side): (a: BookOrder, b: BookOrder) => number {
  const comparePrice = betterFirst(side);
  return (a, b) => comparePrice(a.quote.price, b.quote.price) || compareAge(a, b);
}

/**
 * Hands the orders of a side to `visit`, best first, until it answers false: the public ones, and, merged with them,
 * those private to `taker` if there is one. The book must not change meanwhile.
 */
export function walkBestFirst(side: SideBook, taker: Hex | null, visit: (order: BookOrder) => boolean): void {
  const ofTaker = taker === null ? undefined : side.privateLevels(taker);
  if (ofTaker === undefined) {
    walk(side.publicLevels, visit);
    return;
  }
  const open = new Cursor(side.publicLevels);
  const own = new Cursor(ofTaker);
  const compare = compareBest(side.side);
  for (;;) {
    const next = own.order !== null && (open.order === null || compare(own.order, open.order) < 0) ? own : open;
    if (next.order === null || !visit(next.order)) return;
    next.advance();
  }
}

/** As walkBestFirst, over the quotes private to `taker` alone. */
export function walkPrivate(side: SideBook, taker: Hex, visit: (order: BookOrder) => boolean): void {
  walk(side.privateLevels(taker) ?? [], visit);
}

function walk(levels: Iterable<Level>, visit: (order: BookOrder) => boolean): void {
  for (const level of levels) {
    for (let order = level.oldest; order !== null; order = order.newer) if (!visit(order)) return;
  }
}

/** A LevelTotal that is still being added up. */
interface Sum {
  price: bigint;
  size: bigint;
  count: number;
}

/** The first `depth` prices of two kinds of level together, best first, each price added up. */
export function mergeTotals(side: Side, a: Iterable<LevelTotal>, b: Iterable<LevelTotal>, depth: number): LevelTotal[] {
  const comparePrice = betterFirst(side);
  const merged: LevelTotal[] = [];
  const left = a[Symbol.iterator]();
  const right = b[Symbol.iterator]();
  let x = nextOf(left);
  let y = nextOf(right);
  while (merged.length < depth && (x !== null || y !== null)) {
    const order = x === null ? 1 : y === null ? -1 : comparePrice(x.price, y.price);
    const total: Sum = { price: 0n, size: 0n, count: 0 };
    if (x !== null && order <= 0) {
      add(total, x);
      x = nextOf(left);
    }
    if (y !== null && order >= 0) {
      add(total, y);
      y = nextOf(right);
    }
    merged.push(total);
  }
  return merged;
}

function nextOf(totals: Iterator<LevelTotal>): LevelTotal | null {
  const next = totals.next();
  return next.done === true ? null : next.value;
}

function add(total: Sum, more: LevelTotal): void {
  total.price = more.price;
  total.size += more.size;
  total.count += more.count;
}
