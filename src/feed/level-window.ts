import type { OrderBook, LevelTotal } from '../engine/order-book.js';
import { comparePrices } from '../engine/price-levels.js';
import { levelAt, levels } from '../engine/queries.js';
import type { Hex, Side } from '../engine/quote.js';
import { addTerm, type BookHash } from './book-hash.js';

/** Which book a reader sees: public quotes, and those private to `taker` where one is named. */
export interface LevelView {
  readonly poolAddress: Hex;
  readonly taker: Hex | null;
  /** Levels of each side, best first. */
  readonly depth: number;
}

export type Sides<T> = Readonly<Record<Side, T>>;

export const SIDES = ['bid', 'ask'] as const;

/**
 * The price levels that a view shows, kept beside the book so that what changed is known: a level that moves out of the
 * `depth` best has changed to nothing, one that moves in has come.
 */
export class LevelWindow {
  readonly view: LevelView;
  /** Sum over the levels shown. */
  hash = 0n;
  readonly #book: OrderBook;
  readonly #hash: BookHash;
  readonly #shown: Sides<Map<bigint, LevelTotal>> = { bid: new Map(), ask: new Map() };
  /** True: the side has no levels beyond those shown. False: it may have some. */
  readonly #isWhole: Record<Side, boolean> = { bid: true, ask: true };

  constructor(book: OrderBook, view: LevelView, hash: BookHash) {
    this.#book = book;
    this.view = view;
    this.#hash = hash;
    for (const side of SIDES) {
      for (const level of this.levels(side)) this.#show(side, level);
      this.#isWhole[side] = this.#fitsWhole(side);
    }
  }

  /** Best first. Of the book as it is now, from its first level or from the one after `skip`. */
  levels(side: Side, most = this.view.depth, skip = 0): LevelTotal[] {
    return levels(this.#book, { ...this.view, side }, skip + most).slice(skip);
  }

  /** A level as it is shown: empty when it is not. */
  shown(side: Side, price: bigint): LevelTotal {
    return this.#shown[side].get(price) ?? { price, size: 0n, count: 0 };
  }

  /** The side may have levels that are not shown. */
  isCut(side: Side): boolean {
    return !this.#isWhole[side];
  }

  /** Takes over from the book what changed at these prices, and says which levels show differently; 0 is gone. */
  follow(side: Side, prices: ReadonlySet<bigint>): LevelTotal[] {
    const wasWhole = this.#isWhole[side];
    this.#isWhole[side] = this.#fitsWhole(side);
    if (wasWhole && this.#isWhole[side]) return this.#followEach(side, prices);
    if (!wasWhole && !this.#mayChange(side, prices)) return [];
    const now = this.levels(side);
    const nowShown = new Set(now.map(({ price }) => price));
    const gone = [...this.#shown[side].keys()].filter((price) => !nowShown.has(price));
    const changed = [...now, ...gone.map((price) => ({ price, size: 0n, count: 0 }))];
    return changed.filter((level) => this.#show(side, level));
  }

  #followEach(side: Side, prices: ReadonlySet<bigint>): LevelTotal[] {
    return [...prices]
      .map((price) => levelAt(this.#book, { ...this.view, side }, price))
      .filter((level) => this.#show(side, level));
  }

  /** There is room for any price, or some price is shown, or better than the worst that is. */
  #mayChange(side: Side, prices: ReadonlySet<bigint>): boolean {
    const shown = [...this.#shown[side].keys()];
    if (shown.length < this.view.depth) return prices.size > 0;
    const compare = comparePrices(side);
    const worst = shown.reduce((a, b) => (compare(a, b) < 0 ? b : a));
    return [...prices].some((price) => compare(price, worst) <= 0);
  }

  /** May be false where it does fit: a price with both public and private quotes counts as two. */
  #fitsWhole(side: Side): boolean {
    const book = this.#book.side(this.view.poolAddress, side);
    if (book === undefined) return true;
    const own = this.view.taker === null ? undefined : book.privateLevels(this.view.taker);
    return book.publicLevels.size + (own?.size ?? 0) <= this.view.depth;
  }

  /** True when it shows differently from now on. */
  #show(side: Side, level: LevelTotal): boolean {
    const before = this.shown(side, level.price);
    if (before.size === level.size && before.count === level.count) return false;
    const change = this.#hash.levelTerm(side, level) - this.#hash.levelTerm(side, before);
    this.hash = addTerm(this.hash, change);
    if (level.count === 0) this.#shown[side].delete(level.price);
    else this.#shown[side].set(level.price, level);
    return true;
  }
}
