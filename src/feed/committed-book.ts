import { assert } from '../engine/assert.js';
import type { EngineEvent } from '../engine/event.js';
import { OrderIndex } from '../engine/order-index.js';
import { ListedOrder, OrderBook } from '../engine/order-book.js';
import type { Hex, Order, Quote } from '../engine/quote.js';
import { addTerm, type BookHash } from './book-hash.js';
import { type Filter, matchesFilter, quoteRoute } from './filters.js';

/** Effect of one event on the book of valid quotes: 0 means not in it. */
export interface FillableSizeChange {
  readonly quote: Quote;
  /** 1e-18 contracts. */
  readonly before: bigint;
  readonly after: bigint;
}

/** A quote that can be filled, and how much of it. */
export interface HeldQuote {
  readonly quote: Quote;
  readonly fillableSize: bigint;
}

interface TermedQuote extends HeldQuote {
  /** Of the book hash. */
  readonly term: bigint;
}

/** As in the engine. */
class HeldOrder extends ListedOrder {
  /** Shared by all snapshots. Null: nobody asked for it since it changed last. */
  held: TermedQuote | null = null;
}

/**
 * The valid quotes after the events published so far. The engine's own book is ahead of it by what is applied and
 * not yet durable, so that snapshots and hashes that go with a number of the feed are taken here.
 */
export class CommittedBook {
  readonly book = new OrderBook();
  readonly #orders: OrderIndex<HeldOrder>;
  readonly #hash: BookHash;

  /**
   * `orders`: what the engine holds as recovery left it, or any order of it; just the live ones count. `idSalt`: see
   * OrderIndex.
   */
  constructor(orders: Iterable<Order>, hash: BookHash, idSalt = 0) {
    this.#hash = hash;
    this.#orders = new OrderIndex(idSalt);
    for (const { quote, fillableSize, state } of orders) if (state === 'live') this.#set(quote, fillableSize);
  }

  /** Null: the event is about nothing that is, was or comes into the book. */
  apply(event: EngineEvent): FillableSizeChange | null {
    switch (event.type) {
      case 'QUOTE_POSTED':
        return event.reason === null ? this.#set(event.order.quote, event.fillableSize) : null;
      case 'QUOTE_FILLED':
        return event.valid ? this.#set(event.order.quote, event.fillableSize) : null;
      case 'QUOTE_REMOVED':
        return event.valid ? this.#set(event.order.quote, 0n) : null;
      case 'QUOTE_INVALIDATED':
        return this.#set(event.order.quote, 0n);
      case 'QUOTE_REVALIDATED':
        return this.#set(event.order.quote, event.fillableSize);
      case 'QUOTE_RESTATED':
        if (event.reason !== null) return event.wasValid ? this.#set(event.order.quote, 0n) : null;
        return this.#set(event.order.quote, event.fillableSize);
      case 'QUOTE_WITHDRAWN':
        return event.valid ? this.#set(event.order.quote, 0n) : null;
      case 'QUOTE_RESTORED':
        return event.reason === null ? this.#set(event.order.quote, event.fillableSize) : null;
      case 'WITHDRAWN_QUOTE_FILLED':
      case 'WITHDRAWN_QUOTE_RESTATED':
      case 'POOL_DEPLOYED':
      case 'POOL_WITHDRAWN':
      case 'TRADE_RECORDED':
      case 'TRADES_UNDONE':
      case 'RFQ_PUBLISHED':
      case 'RFQ_CHANGED':
        return null;
    }
  }

  /**
   * The quotes that one part of a filter lets through: those for that taker (zero address: public), or for everyone. And
   * the result of `sum`, in the same reading of the book.
   */
  take(filter: Filter, taker: Hex | '*'): { readonly held: HeldQuote[]; readonly sum: bigint } {
    const held: HeldQuote[] = [];
    let sum = 0n;
    for (const order of this.#selected(filter, taker)) {
      const found = this.#heldOf(order);
      held.push(found);
      sum = addTerm(sum, found.term);
    }
    return { held, sum };
  }

  /** The sum of the quotes that `take` gives. */
  sum(filter: Filter, taker: Hex | '*'): bigint {
    let sum = 0n;
    for (const order of this.#selected(filter, taker)) sum = addTerm(sum, this.#heldOf(order).term);
    return sum;
  }

  #heldOf(order: HeldOrder): TermedQuote {
    const { quote, fillableSize } = order;
    order.held ??= { quote, fillableSize, term: this.#hash.quoteTerm(quote.quoteId, fillableSize) };
    return order.held;
  }

  /** How many quotes `take` and `sum` read for a filter. */
  candidates({ poolAddress, narrowing: { provider } }: Filter): number {
    if (poolAddress !== null) return this.book.pool(poolAddress)?.orders.size ?? 0;
    return provider !== null ? (this.book.provider(provider)?.size ?? 0) : this.#orders.size;
  }

  *#selected(filter: Filter, taker: Hex | '*'): Generator<HeldOrder> {
    for (const { quoteId } of this.#candidates(filter)) {
      const order = this.#orders.get(quoteId);
      assert(order !== undefined, 'what is in the book is known');
      if (taker !== '*' && order.quote.taker !== taker) continue;
      if (!matchesFilter(filter, quoteRoute(order.quote))) continue;
      yield order;
    }
  }

  *#candidates({ poolAddress, narrowing: { provider } }: Filter): Generator<Quote> {
    if (poolAddress !== null) for (const { quote } of this.book.pool(poolAddress)?.orders ?? []) yield quote;
    else if (provider !== null) for (const { quote } of this.book.provider(provider) ?? []) yield quote;
    else for (const { quote } of this.#orders) yield quote;
  }

  #set(quote: Quote, after: bigint): FillableSizeChange {
    let order = this.#orders.get(quote.quoteId);
    const before = order?.fillableSize ?? 0n;
    if (order === undefined) {
      if (after === 0n) return { quote, before, after };
      order = new HeldOrder(quote);
      this.#orders.add(order);
    }
    this.book.set(order, after, null);
    order.held = null;
    if (after === 0n) this.#orders.remove(order);
    return { quote, before, after };
  }
}
