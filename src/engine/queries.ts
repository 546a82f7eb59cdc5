import {
  type OrderBook,
  type ListedOrder,
  compareAge,
  type PriceLevel,
  type LevelTotal,
  type OrderList,
  type BookSide,
} from './order-book.js';
import type { OrderStore } from './order-store.js';
import { comparePrices, type PriceLevels } from './price-levels.js';
import { type Hex, type Order, type Side, sideOf } from './quote.js';

/** Steps through levels, best price first and older first within each. */
class Cursor {
  order: ListedOrder | null = null;
  readonly #levels: Iterator<PriceLevel>;

  constructor(levels: PriceLevels<PriceLevel>) {
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
function compareBest(side: Side): (a: ListedOrder, b: ListedOrder) => number {
  const comparePrice = comparePrices(side);
  return (a, b) => comparePrice(a.quote.price, b.quote.price) || compareAge(a, b);
}

/**
 * Hands the orders of a side to `visit`, best first, until it answers false: the public ones, and, merged with them,
 * those private to `taker` if there is one. The book must not change meanwhile.
 */
export function walkBestFirst(side: BookSide, taker: Hex | null, visit: (order: ListedOrder) => boolean): void {
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
export function walkPrivate(side: BookSide, taker: Hex, visit: (order: ListedOrder) => boolean): void {
  walk(side.privateLevels(taker) ?? [], visit);
}

function walk(levels: Iterable<PriceLevel>, visit: (order: ListedOrder) => boolean): void {
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
function mergeTotals(side: Side, a: Iterable<LevelTotal>, b: Iterable<LevelTotal>, depth: number): LevelTotal[] {
  const comparePrice = comparePrices(side);
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

/** Addresses are in lower case in every query. */
export interface CoverTarget {
  readonly poolAddress: Hex;
  readonly side: Side;
  /** 1e-18 contracts to cover; 0 needs no quote. */
  readonly size: bigint;
  /** This maker's quotes only. */
  readonly provider?: Hex | undefined;
  /** Quotes private to this taker as well; without it public ones only. */
  readonly taker?: Hex | undefined;
}

export interface PrivateQuery {
  readonly poolAddress: Hex;
  readonly side: Side;
  readonly taker: Hex;
}

/** Every filter that is given must hold. */
export interface OrdersQuery {
  readonly poolAddress?: Hex | undefined;
  readonly side?: Side | undefined;
  readonly provider?: Hex | undefined;
  /**
   * Public quotes and those private to this taker; `*`: to any. Without it a private quote is shown only if `quoteIds`
   * names it.
   */
  readonly taker?: Hex | '*' | undefined;
  /** 1e-18 contracts. */
  readonly minFillableSize?: bigint | undefined;
  readonly quoteIds?: readonly Hex[] | undefined;
  /** Orders older than this alone. */
  readonly olderThan?: Age | undefined;
  /** The newest so many alone, valid and invalid ones together. */
  readonly limit?: number | undefined;
}

/** Where on the stream chain an order was published first. */
export interface Age {
  readonly blockNumber: number;
  readonly logIndex: number;
}

export interface OrdersResult {
  readonly valid: readonly Order[];
  readonly invalid: readonly Order[];
  /** Age of the oldest one here; null when there are no older ones. */
  readonly next: Age | null;
}

export interface LevelsQuery {
  readonly poolAddress: Hex;
  readonly side: Side;
  /** Null: public quotes; an address: those and that taker's. */
  readonly taker: Hex | null;
}

/** Best first, just enough to cover the size, or all there is, at most `maxOrders`; the last one is not cut. */
export function cover(book: OrderBook, query: CoverTarget, maxOrders = Infinity): Order[] {
  const pool = book.pool(query.poolAddress);
  if (pool === undefined) return [];
  const { provider, size, taker = null } = query;
  const found: Order[] = [];
  let covered = 0n;
  const take = (order: ListedOrder): boolean => {
    if (covered >= size) return false;
    if (provider !== undefined && order.quote.provider !== provider) return true;
    found.push(order);
    covered += order.fillableSize;
    return covered < size && found.length < maxOrders;
  };
  const own = provider === undefined ? undefined : book.provider(provider);
  if (provider !== undefined && own === undefined) return [];
  if (own !== undefined && own.size < pool.orders.size) {
    const { poolAddress, side } = query;
    const candidates = [...own].filter(
      (order) => order.state === 'live' && isOn(order, poolAddress, side) && isVisible(order, taker),
    );
    candidates.sort(compareBest(side)).every(take);
  } else walkBestFirst(pool[query.side], taker, take);
  return found;
}

/** The quotes private to that taker, best first. */
export function privateQuotes(book: OrderBook, query: PrivateQuery): Order[] {
  const side = book.side(query.poolAddress, query.side);
  const found: Order[] = [];
  if (side !== undefined) walkPrivate(side, query.taker, (order) => found.push(order) > 0);
  return found;
}

/** How many orders `orders` reads for a query. */
export function candidateCount(store: OrderStore, query: OrdersQuery): number {
  if (query.quoteIds !== undefined) return query.quoteIds.length;
  return candidates(store, query).size;
}

/** Orders of the book and those known as invalid, each newest first. */
export function orders(store: OrderStore, query: OrdersQuery): OrdersResult {
  const { poolAddress, side, provider, taker, minFillableSize = 0n, quoteIds, olderThan, limit = Infinity } = query;
  const valid: ListedOrder[] = [];
  const invalid: ListedOrder[] = [];
  for (const order of candidates(store, query)) {
    if (order.state === 'gone' || order.state === 'withdrawn' || order.fillableSize < minFillableSize) continue;
    if (!isOn(order, poolAddress, side)) continue;
    if (provider !== undefined && order.quote.provider !== provider) continue;
    if ((taker !== undefined || quoteIds === undefined) && !isVisible(order, taker ?? null)) continue;
    if (olderThan !== undefined && !isOlder(order, olderThan)) continue;
    (order.state === 'live' ? valid : invalid).push(order);
  }
  valid.sort(compareAge).reverse();
  invalid.sort(compareAge).reverse();
  return valid.length + invalid.length <= limit ? { valid, invalid, next: null } : newest(valid, invalid, limit);
}

/** The first `limit`, at least one, of two lists that are newest first and longer than that together. */
function newest(valid: readonly ListedOrder[], invalid: readonly ListedOrder[], limit: number): OrdersResult {
  let [taken, takenInvalid] = [0, 0];
  let next: Age | null = null;
  while (taken + takenInvalid < limit) {
    const [a, b] = [valid[taken], invalid[takenInvalid]];
    const isFirst = b === undefined || (a !== undefined && compareAge(a, b) > 0);
    if (isFirst) taken += 1;
    else takenInvalid += 1;
    const { blockNumber, logIndex } = (isFirst ? a : b) ?? NEVER;
    next = { blockNumber, logIndex };
  }
  return { valid: valid.slice(0, taken), invalid: invalid.slice(0, takenInvalid), next };
}

const NEVER: Age = { blockNumber: 0, logIndex: 0 };

function isOlder({ blockNumber, logIndex }: Age, than: Age): boolean {
  return blockNumber === than.blockNumber ? logIndex < than.logIndex : blockNumber < than.blockNumber;
}

/** Price levels, best first, at most `depth` of them. */
export function levels(book: OrderBook, query: LevelsQuery, depth: number): LevelTotal[] {
  const side = book.side(query.poolAddress, query.side);
  if (side === undefined) return [];
  return mergeTotals(query.side, side.publicLevels, ownLevels(side, query.taker) ?? [], depth);
}

/** One price level; size 0 and count 0 if absent. */
export function levelAt(book: OrderBook, query: LevelsQuery, price: bigint): LevelTotal {
  const side = book.side(query.poolAddress, query.side);
  const open = side?.publicLevels.at(price);
  const own = side && ownLevels(side, query.taker)?.at(price);
  return { price, size: (open?.size ?? 0n) + (own?.size ?? 0n), count: (open?.count ?? 0) + (own?.count ?? 0) };
}

function ownLevels(side: BookSide, taker: Hex | null): PriceLevels<PriceLevel> | undefined {
  return taker === null ? undefined : side.privateLevels(taker);
}

const NO_ORDERS: OrderList = new Set<ListedOrder>();

/** The smallest set that holds every order a query can mean; each order once. */
function candidates(store: OrderStore, { quoteIds, poolAddress, provider }: OrdersQuery): OrderList {
  if (quoteIds !== undefined) {
    const named = new Set<ListedOrder>();
    for (const quoteId of quoteIds) {
      const order = store.get(quoteId);
      if (order !== undefined) named.add(order);
    }
    return named;
  }
  const ofPool = poolAddress === undefined ? undefined : (store.book.pool(poolAddress)?.orders ?? NO_ORDERS);
  const ofProvider = provider === undefined ? undefined : (store.book.provider(provider) ?? NO_ORDERS);
  if (ofPool !== undefined && ofProvider !== undefined) return ofPool.size < ofProvider.size ? ofPool : ofProvider;
  return ofPool ?? ofProvider ?? store.all();
}

function isOn(order: ListedOrder, poolAddress: Hex | undefined, side: Side | undefined): boolean {
  if (poolAddress !== undefined && order.quote.pool.poolAddress !== poolAddress) return false;
  return side === undefined || sideOf(order.quote) === side;
}

function isVisible(order: ListedOrder, taker: Hex | '*' | null): boolean {
  return !order.isPrivate || taker === '*' || order.quote.taker === taker;
}
