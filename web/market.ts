import type { FollowedQuotes, OrderbookQuote, Pool, QuoteFact } from 'quotebook/client';

export interface Best {
  readonly price: bigint;
  /** Fillable at this price. */
  readonly size: bigint;
}

export interface BestOfPool {
  readonly bid: Best | null;
  readonly ask: Best | null;
}

/** Every pool with its best bid and ask, kept from the quotes that are followed. */
export class Market {
  #pools: readonly Pool[] = [];
  readonly #byAddress = new Map<string, Pool>();
  readonly #quotes = new Map<string, Map<string, OrderbookQuote>>();
  readonly #best = new Map<string, BestOfPool>();

  get pools(): readonly Pool[] {
    return this.#pools;
  }

  /** Takes the list of pools as it is now. */
  list(pools: readonly Pool[]): void {
    this.#pools = pools;
    this.#byAddress.clear();
    for (const pool of pools) this.#byAddress.set(pool.poolAddress, pool);
  }

  pool(poolAddress: string): Pool | undefined {
    return this.#byAddress.get(poolAddress);
  }

  /** Replaces all quotes. */
  replace({ book }: FollowedQuotes): void {
    this.#quotes.clear();
    this.#best.clear();
    for (const quote of book.all()) this.#ofPool(quote.poolAddress).set(quote.quoteId, quote);
  }

  /** Takes over one quote as the followed book has it after the fact. */
  apply({ body }: QuoteFact, { book }: FollowedQuotes): void {
    const quotes = this.#ofPool(body.poolAddress);
    const now = book.get(body.quoteId);
    if (now === undefined) quotes.delete(body.quoteId);
    else quotes.set(now.quoteId, now);
    this.#best.delete(body.poolAddress);
  }

  bestOf(poolAddress: string): BestOfPool {
    const known = this.#best.get(poolAddress);
    if (known !== undefined) return known;
    const best = { bid: this.#bestSide(poolAddress, true), ask: this.#bestSide(poolAddress, false) };
    this.#best.set(poolAddress, best);
    return best;
  }

  #bestSide(poolAddress: string, isBuy: boolean): Best | null {
    let best: Best | null = null;
    for (const quote of this.#ofPool(poolAddress).values()) {
      if (quote.isBuy !== isBuy) continue;
      const [price, size] = [BigInt(quote.price), BigInt(quote.fillableSize)];
      if (best === null || (isBuy ? price > best.price : price < best.price)) best = { price, size };
      else if (price === best.price) best = { price, size: best.size + size };
    }
    return best;
  }

  #ofPool(poolAddress: string): Map<string, OrderbookQuote> {
    const quotes = this.#quotes.get(poolAddress) ?? new Map<string, OrderbookQuote>();
    this.#quotes.set(poolAddress, quotes);
    return quotes;
  }
}
