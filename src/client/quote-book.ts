import type { Hex } from 'viem';
import type { OrderbookQuote } from '../wire/orderbook.js';
import type { SideText } from '../wire/primitives.js';
import { compareBestFirst } from './level-book.js';
import type { QuoteEvent } from './messages.js';
import { quoteTerm, SetHash } from './set-hash.js';

/** The quotes under one key of a subscription. */
interface KeyedQuotes {
  hash: SetHash;
  readonly byId: Map<Hex, OrderbookQuote>;
}

/** Every quote that a filter shows, with the hash that the server's has to equal: one for each key. */
export class QuoteBook {
  readonly #keys = new Map<string, KeyedQuotes>();

  get size(): number {
    return [...this.#keys.values()].reduce((sum, { byId }) => sum + byId.size, 0);
  }

  get(quoteId: Hex): OrderbookQuote | undefined {
    for (const { byId } of this.#keys.values()) {
      const quote = byId.get(quoteId);
      if (quote !== undefined) return quote;
    }
    return undefined;
  }

  /** In no order. */
  *all(): Generator<OrderbookQuote, undefined> {
    for (const { byId } of this.#keys.values()) yield* byId.values();
    return undefined;
  }

  /**
   * One side of a pool: best price first, of equal prices the one published earlier, as far as `ts` tells: of quotes of
   * one second GET /quotes alone knows.
   */
  side(poolAddress: Hex, side: SideText): OrderbookQuote[] {
    const pool = poolAddress.toLowerCase();
    return [...this.all()]
      .filter((quote) => quote.poolAddress === pool && quote.isBuy === (side === 'bid'))
      .sort((a, b) => compareBestFirst(side, BigInt(a.price), BigInt(b.price)) || a.ts - b.ts);
  }

  /** As on the wire. */
  hash(key: string): Hex {
    return this.#keyed(key).hash.text;
  }

  clear(): void {
    this.#keys.clear();
  }

  /** A quote as it is from now on; one with nothing to fill is gone. */
  set(key: string, quote: OrderbookQuote): void {
    const { quoteId, fillableSize } = quote;
    if (fillableSize === '0') return this.delete(key, quoteId);
    const { hash, byId } = this.#keyed(key);
    const before = byId.get(quoteId);
    if (before !== undefined) hash.remove(quoteTerm(quoteId, BigInt(before.fillableSize)));
    // One that is here keeps its place, and so it does among those of its price and second.
    byId.set(quoteId, quote);
    hash.add(quoteTerm(quoteId, BigInt(fillableSize)));
  }

  delete(key: string, quoteId: Hex): void {
    const { hash, byId } = this.#keyed(key);
    const before = byId.get(quoteId);
    if (before === undefined) return;
    byId.delete(quoteId);
    hash.remove(quoteTerm(quoteId, BigInt(before.fillableSize)));
  }

  apply(event: QuoteEvent): void {
    switch (event.type) {
      case 'POST_QUOTE':
      case 'REVALIDATE_QUOTE':
      case 'RESTORE_QUOTE':
      case 'FILL_QUOTE':
        return this.set(event.key, event.body);
      case 'UNDO_QUOTE':
        return event.valid ? this.set(event.key, event.body) : this.delete(event.key, event.body.quoteId);
      case 'REMOVE_QUOTE':
      case 'CANCEL_QUOTE':
      case 'EXPIRE_QUOTE':
      case 'INVALIDATE_QUOTE':
      case 'WITHDRAW_QUOTE':
        return this.delete(event.key, event.body.quoteId);
    }
  }

  #keyed(key: string): KeyedQuotes {
    const keyed = this.#keys.get(key) ?? { hash: new SetHash(), byId: new Map<Hex, OrderbookQuote>() };
    this.#keys.set(key, keyed);
    return keyed;
  }
}
