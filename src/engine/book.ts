import { assert } from './assert.js';
import type { BookOrder } from './book-order.js';
import type { Hex, InvalidReason, Pool, Side } from './quote.js';
import { Roster } from './roster.js';
import { SideBook } from './side-book.js';

/** The live and invalid quotes of one pool; the live ones are on their side too. */
export interface PoolBook {
  readonly pool: Pool;
  readonly bid: SideBook;
  readonly ask: SideBook;
  readonly orders: Roster<BookOrder>;
}

/** Orders in no particular order. */
export interface OrderList extends Iterable<BookOrder> {
  readonly size: number;
}

/**
 * Where the live and the invalid quotes are: by pool, side, price and age, and by provider. Says nothing of gone ones.
 * Pools and providers without a quote take no room.
 */
export class Book {
  readonly #pools = new Map<Hex, PoolBook>();
  readonly #providers = new Map<Hex, Roster<BookOrder>>();

  pool(poolAddress: Hex): PoolBook | undefined {
    return this.#pools.get(poolAddress);
  }

  /** Pools with live or invalid quotes. */
  pools(): Iterable<PoolBook> {
    return this.#pools.values();
  }

  side(poolAddress: Hex, side: Side): SideBook | undefined {
    return this.#pools.get(poolAddress)?.[side];
  }

  provider(provider: Hex): OrderList | undefined {
    return this.#providers.get(provider);
  }

  /** Providers with live or invalid quotes. */
  providers(): Iterable<Hex> {
    return this.#providers.keys();
  }

  /**
   * Moves an order to where its new state belongs: among the gone with nothing fillable, in the book without a reason,
   * among the invalid with one.
   */
  set(order: BookOrder, fillableSize: bigint, reason: InvalidReason | null): void {
    const { quote } = order;
    assert(fillableSize >= 0n && fillableSize <= quote.size, 'what is fillable lies between nothing and the size');
    const state = fillableSize === 0n ? 'gone' : reason === null ? 'live' : 'invalid';
    if (state === 'live' && order.state === 'live') {
      if (fillableSize !== order.fillableSize) this.#sideOf(order).resize(order, fillableSize);
      return;
    }
    if (order.state === 'live') this.#sideOf(order).remove(order);
    if (order.state === 'gone' && state !== 'gone') this.#list(order);
    if (order.state !== 'gone' && state === 'gone') this.#unlist(order);
    order.state = state;
    order.fillableSize = fillableSize;
    order.reason = state === 'invalid' ? reason : null;
    if (state === 'live') this.#sideOf(order).add(order);
  }

  /** Takes an order out while it keeps what was fillable of it: nobody filled or cancelled it. */
  withdraw(order: BookOrder): void {
    if (order.state === 'gone') return;
    if (order.state === 'live') this.#sideOf(order).remove(order);
    this.#unlist(order);
    order.state = 'gone';
    order.reason = null;
  }

  /** Returns the number of live and invalid orders. */
  checkInvariants(): number {
    let known = 0;
    for (const [poolAddress, pool] of this.#pools) {
      let live = 0;
      for (const order of pool.orders) {
        assert(order.state !== 'gone', 'gone orders are not listed');
        assert(order.quote.pool.poolAddress === poolAddress, 'an order is listed with its own pool');
        assert((order.reason === null) === (order.state === 'live'), 'just the invalid orders have a reason');
        assert((order.level !== null) === (order.state === 'live'), 'just the live orders have a level');
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

  #sideOf(order: BookOrder): SideBook {
    assert(order.pool !== null, 'an order that is not gone is listed');
    return order.quote.isBuy ? order.pool.bid : order.pool.ask;
  }

  #list(order: BookOrder): void {
    const { pool, provider } = order.quote;
    let inPool = this.#pools.get(pool.poolAddress);
    if (inPool === undefined) {
      inPool = { pool, bid: new SideBook('bid'), ask: new SideBook('ask'), orders: new Roster(movedInPool) };
      this.#pools.set(pool.poolAddress, inPool);
    }
    let ofProvider = this.#providers.get(provider);
    if (ofProvider === undefined) {
      ofProvider = new Roster(movedOfProvider);
      this.#providers.set(provider, ofProvider);
    }
    order.placeInPool = inPool.orders.add(order);
    order.placeOfProvider = ofProvider.add(order);
    order.pool = inPool;
    order.ofProvider = ofProvider;
  }

  #unlist(order: BookOrder): void {
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

function movedInPool(order: BookOrder, place: number): void {
  order.placeInPool = place;
}

function movedOfProvider(order: BookOrder, place: number): void {
  order.placeOfProvider = place;
}
