import { HybridLevels } from './array-levels.js';
import { assert } from './assert.js';
import { BTree, type PriceLevels } from './price-levels.js';
import { type Hex, type InvalidReason, isPrivate, type Order, type Pool, type Quote, type Side } from './quote.js';
import { type HashedMember, UNCHANGED } from './state-hash.js';
import { SwapList } from './swap-list.js';

/** The live, invalid and withdrawn quotes of one pool; the live ones are on their side too. */
interface PoolBook {
  readonly pool: Pool;
  readonly bid: BookSide;
  readonly ask: BookSide;
  readonly orders: SwapList<ListedOrder>;
}

/** Orders in no particular order. */
export interface OrderList extends Iterable<ListedOrder> {
  readonly size: number;
}

/**
 * Where the live, the invalid and the withdrawn quotes are: by pool, side, price and age, and by provider. Says nothing of
 * gone ones. Pools and providers without a quote take no room.
 */
export class OrderBook {
  readonly #pools = new Map<Hex, PoolBook>();
  readonly #providers = new Map<Hex, SwapList<ListedOrder>>();

  pool(poolAddress: Hex): PoolBook | undefined {
    return this.#pools.get(poolAddress);
  }

  /** Pools with live, invalid or withdrawn quotes. */
  pools(): Iterable<PoolBook> {
    return this.#pools.values();
  }

  side(poolAddress: Hex, side: Side): BookSide | undefined {
    return this.#pools.get(poolAddress)?.[side];
  }

  provider(provider: Hex): OrderList | undefined {
    return this.#providers.get(provider);
  }

  /** Providers with live, invalid or withdrawn quotes. */
  providers(): Iterable<Hex> {
    return this.#providers.keys();
  }

  /**
   * Moves an order to where its new state belongs: among the gone with nothing fillable, among the withdrawn if it is
   * marked so, in the book without a reason, among the invalid with one.
   */
  set(order: ListedOrder, fillableSize: bigint, reason: InvalidReason | null): void {
    const { quote } = order;
    assert(fillableSize >= 0n && fillableSize <= quote.size, 'what is fillable lies between nothing and the size');
    const state = stateOf(order, fillableSize, reason);
    if (state === 'live' && order.state === 'live') {
      if (fillableSize !== order.fillableSize) this.#sideOf(order).resize(order, fillableSize);
      return;
    }
    if (order.state === 'live') this.#sideOf(order).remove(order);
    if (order.state === 'gone' && state !== 'gone') this.#list(order);
    if (order.state !== 'gone' && state === 'gone') this.#unlist(order);
    order.fillableSize = fillableSize;
    order.reason = state === 'gone' ? null : reason;
    if (state === 'live') this.#sideOf(order).add(order);
  }

  /** Takes an order out while it keeps what was fillable of it: nobody filled or cancelled it. */
  takeOut(order: ListedOrder): void {
    if (order.state === 'gone') return;
    if (order.state === 'live') this.#sideOf(order).remove(order);
    this.#unlist(order);
    order.reason = null;
  }

  /** Returns the number of orders that are not gone. */
  checkInvariants(): number {
    let known = 0;
    for (const [poolAddress, pool] of this.#pools) {
      let live = 0;
      for (const order of pool.orders) {
        assert(order.state !== 'gone', 'gone orders are not listed');
        assert(order.quote.pool.poolAddress === poolAddress, 'an order is listed with its own pool');
        assert(order.isWithdrawn === (order.state === 'withdrawn'), 'just the withdrawn orders are marked so');
        assert(order.reason === null || order.state !== 'live', 'no order of the book has a reason');
        assert(order.reason !== null || order.state !== 'invalid', 'an invalid order has a reason');
        const ofProvider = this.#providers.get(order.quote.provider);
        assert(ofProvider?.at(order.placeOfProvider) === order, 'an order is listed with its provider');
        assert(pool.orders.at(order.placeInPool) === order, 'an order knows its place');
        assert(order.pool === pool && order.ofProvider === ofProvider, 'an order knows where it is listed');
        if (order.state === 'live') live += 1;
      }
      assert(pool.bid.checkInvariants() + pool.ask.checkInvariants() === live, 'every live order is on a side');
      assert(pool.orders.size > 0, 'a pool without orders is not kept');
      known += pool.orders.size;
    }
    let listed = 0;
    for (const orders of this.#providers.values()) {
      assert(orders.size > 0, 'a provider without orders is not kept');
      listed += orders.size;
    }
    assert(known === listed, 'pools and providers list the same orders');
    return known;
  }

  #sideOf(order: ListedOrder): BookSide {
    assert(order.pool !== null, 'an order that is not gone is listed');
    return order.quote.isBuy ? order.pool.bid : order.pool.ask;
  }

  #list(order: ListedOrder): void {
    const { pool, provider } = order.quote;
    let inPool = this.#pools.get(pool.poolAddress);
    if (inPool === undefined) {
      inPool = { pool, bid: new BookSide('bid'), ask: new BookSide('ask'), orders: new SwapList(movedInPool) };
      this.#pools.set(pool.poolAddress, inPool);
    }
    let ofProvider = this.#providers.get(provider);
    if (ofProvider === undefined) {
      ofProvider = new SwapList(movedOfProvider);
      this.#providers.set(provider, ofProvider);
    }
    order.placeInPool = inPool.orders.add(order);
    order.placeOfProvider = ofProvider.add(order);
    order.pool = inPool;
    order.ofProvider = ofProvider;
  }

  #unlist(order: ListedOrder): void {
    const { pool, ofProvider } = order;
    assert(pool !== null && ofProvider !== null, 'an order that is not gone is listed');
    pool.orders.remove(order.placeInPool);
    if (pool.orders.size === 0) this.#pools.delete(pool.pool.poolAddress);
    ofProvider.remove(order.placeOfProvider);
    if (ofProvider.size === 0) this.#providers.delete(order.quote.provider);
    order.pool = null;
    order.ofProvider = null;
  }
}

function stateOf({ isWithdrawn }: ListedOrder, fillableSize: bigint, reason: InvalidReason | null): Order['state'] {
  if (fillableSize === 0n) return 'gone';
  if (isWithdrawn) return 'withdrawn';
  return reason === null ? 'live' : 'invalid';
}

function movedInPool(order: ListedOrder, place: number): void {
  order.placeInPool = place;
}

function movedOfProvider(order: ListedOrder, place: number): void {
  order.placeOfProvider = place;
}

/**
 * The bids or the asks of one pool. Private quotes are kept beside the public ones, by taker, so that a query for
 * public quotes never meets them; readers merge the two.
 */
export class BookSide {
  readonly side: Side;
  readonly publicLevels: PriceLevels<PriceLevel>;
  readonly #byTaker = new Map<Hex, PriceLevels<PriceLevel>>();

  constructor(side: Side) {
    this.side = side;
    this.publicLevels = new HybridLevels(side, newLevel);
  }

  /** The levels of that taker's private quotes; undefined when it has none. */
  privateLevels(taker: Hex): PriceLevels<PriceLevel> | undefined {
    return this.#byTaker.get(taker);
  }

  add(order: ListedOrder): void {
    const levels = order.isPrivate ? this.#takerLevels(order.quote.taker) : this.publicLevels;
    levels.open(order.quote.price).add(order);
  }

  remove(order: ListedOrder): void {
    const { level } = order;
    assert(level !== null, 'only an order of the book leaves it');
    level.remove(order);
    if (level.count > 0) return;
    if (!order.isPrivate) return this.publicLevels.close(level);
    const levels = this.#takerLevels(order.quote.taker);
    levels.close(level);
    if (levels.size === 0) this.#byTaker.delete(order.quote.taker);
  }

  /** Sets what is fillable of an order that stays where it is. */
  resize(order: ListedOrder, fillableSize: bigint): void {
    const { level } = order;
    assert(level !== null, 'only an order of the book counts in a level');
    level.resize(order, fillableSize);
  }

  /** Returns the number of orders. */
  checkInvariants(): number {
    let count = 0;
    for (const level of this.publicLevels) count += checkLevel(level, false);
    for (const [taker, levels] of this.#byTaker) {
      assert(levels.size > 0, 'a taker without private quotes is not kept');
      for (const level of levels) {
        count += checkLevel(level, true);
        assert(level.oldest?.quote.taker === taker, 'private quotes are kept with their taker');
      }
    }
    return count;
  }

  #takerLevels(taker: Hex): PriceLevels<PriceLevel> {
    let levels = this.#byTaker.get(taker);
    if (levels === undefined) {
      levels = new HybridLevels(this.side, newLevel);
      this.#byTaker.set(taker, levels);
    }
    return levels;
  }
}

function checkLevel(level: PriceLevel, isPrivate: boolean): number {
  level.checkInvariants();
  assert(level.count > 0, 'an empty level is not kept');
  for (let order = level.oldest; order !== null; order = order.newer) {
    assert(order.state === 'live' && order.fillableSize > 0n, 'the book holds what can be filled');
    assert(order.isPrivate === isPrivate, 'public and private quotes are kept apart');
  }
  return level.count;
}

function newLevel(price: bigint): PriceLevel {
  return new PriceLevel(price);
}

/** Stands for "no settlement block": below every block number. */
export const NO_BLOCK = -1;

/**
 * An Order with its places in an OrderBook: the same object that readers see. The engine has one for each quote, and so
 * has the feed: to save memory, what follows from other fields is computed when it is read.
 */
export class ListedOrder implements Order {
  readonly quote: Quote;
  fillableSize = 0n;
  reason: InvalidReason | null = null;
  /** Its provider hid it. It stays listed with its pool and its provider, so that its state is followed on. */
  isWithdrawn = false;

  /** Where it is listed while it is not gone, so that moving it looks nothing up. */
  pool: PoolBook | null = null;
  ofProvider: SwapList<ListedOrder> | null = null;
  placeInPool = 0;
  placeOfProvider = 0;
  /** Its place in the book while `live`. */
  level: PriceLevel | null = null;
  older: ListedOrder | null = null;
  newer: ListedOrder | null = null;

  constructor(quote: Quote) {
    this.quote = quote;
  }

  get state(): Order['state'] {
    if (this.level !== null) return 'live';
    if (this.pool === null) return 'gone';
    return this.isWithdrawn ? 'withdrawn' : 'invalid';
  }

  get isPrivate(): boolean {
    return isPrivate(this.quote);
  }

  get blockNumber(): number {
    return this.quote.origin.blockNumber;
  }

  get logIndex(): number {
    return this.quote.origin.logIndex;
  }
}

/** With what only the engine needs. */
export class BookOrder extends ListedOrder implements HashedMember {
  /** Newest settlement block that said something of it; NO_BLOCK when no reorg can undo that block any more. */
  touchedBlock = NO_BLOCK;
  /** Settlement block whose end `fillableSize` was read at; fills up to it are in it already. NO_BLOCK as above. */
  readBlock = NO_BLOCK;

  placeByDue = 0;
  placeByOrigin = 0;
  placeByTouch = 0;

  laneA = 0;
  laneB = 0;
  laneC = 0;
  laneD = 0;
  placeAmongChanged = UNCHANGED;

  /** First Unix second in which it is expired: past its deadline, or at its pool's maturity. */
  get due(): number {
    return dueSecond(this.quote);
  }
}

/** First Unix second in which the quote is expired (`now > deadline`, or `now >= maturity`). */
export function dueSecond(quote: Pick<Quote, 'deadline' | 'pool'>): number {
  return Math.min(quote.deadline + 1, quote.pool.poolKey.maturity);
}

/** Older first. One log makes one quote, so the id decides only between quotes that no chain could have made. */
export function compareAge(a: ListedOrder, b: ListedOrder): number {
  if (a.blockNumber !== b.blockNumber) return a.blockNumber - b.blockNumber;
  if (a.logIndex !== b.logIndex) return a.logIndex - b.logIndex;
  if (a.quote.quoteId === b.quote.quoteId) return 0;
  return a.quote.quoteId < b.quote.quoteId ? -1 : 1;
}

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

/** Sums of a level. */
export interface LevelTotal {
  /** 1e-18. */
  readonly price: bigint;
  /** Sum of the fillable sizes, 1e-18 contracts. */
  readonly size: bigint;
  /** Number of quotes. */
  readonly count: number;
}

/**
 * All orders of one price, linked from the oldest to the newest. Prices may be as many as quotes: private methods would
 * cost each level a word.
 */
export class PriceLevel implements LevelTotal {
  readonly price: bigint;
  count = 0;
  oldest: ListedOrder | null = null;
  newest: ListedOrder | null = null;
  /**
   * Made when an order's place is too far to walk to (a maker's quotes coming back by the thousand), so that such an
   * order costs O(log n) whatever order they come in.
   */
  #byAge: BTree<ListedOrder, true> | null = null;
  /** Null while nobody has added it up, so callers read `size` before they link, unlink or resize an order. */
  #size: bigint | null = 0n;

  constructor(price: bigint) {
    this.price = price;
  }

  get size(): bigint {
    return (this.#size ??= sumOf(this));
  }

  add(order: ListedOrder): void {
    this.#size = this.count < SUM_KEPT_FROM ? null : this.size + order.fillableSize;
    let older = walkToOlder(this, order);
    if (older === undefined) {
      this.#byAge ??= indexedByAge(this);
      older = this.#byAge.getPairOrNextLower(order)?.[0] ?? null;
    }
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

  remove(order: ListedOrder): void {
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
  resize(order: ListedOrder, fillableSize: bigint): void {
    this.#size = this.count <= SUM_KEPT_FROM ? null : this.size + fillableSize - order.fillableSize;
    order.fillableSize = fillableSize;
  }

  checkInvariants(): void {
    let count = 0;
    let older: ListedOrder | null = null;
    for (let order = this.oldest; order !== null; order = order.newer) {
      assert(order.level === this && order.older === older, 'a level is linked both ways');
      assert(older === null || compareAge(older, order) < 0, 'a level goes from older to newer');
      assert(order.quote.price === this.price, 'a level holds one price');
      assert(this.#byAge === null || this.#byAge.has(order), 'an index holds the whole level');
      count += 1;
      older = order;
    }
    assert(this.newest === older, 'a level ends at its newest order');
    assert(this.count === count && this.size === sumOf(this), 'a level adds up');
    assert(this.#byAge === null || this.#byAge.size === count, 'an index holds nothing else');
  }
}

function sumOf({ oldest }: PriceLevel): bigint {
  let size = 0n;
  for (let order = oldest; order !== null; order = order.newer) size += order.fillableSize;
  return size;
}

/** Looks from the newest end for the one that `order` comes after: null when none is older, undefined when it is too far. */
function walkToOlder({ newest }: PriceLevel, order: ListedOrder): ListedOrder | null | undefined {
  let candidate = newest;
  for (let steps = 0; candidate !== null && compareAge(candidate, order) > 0; steps += 1) {
    if (steps === WALK_STEPS) return undefined;
    candidate = candidate.older;
  }
  return candidate;
}

function indexedByAge({ oldest }: PriceLevel): BTree<ListedOrder, true> {
  const byAge = new BTree<ListedOrder, true>(undefined, compareAge);
  for (let order = oldest; order !== null; order = order.newer) byAge.set(order, true);
  return byAge;
}
