import type { Hex } from 'viem';
import type { SideText } from '../../wire/primitives.js';

/** A quote to be signed and posted. */
export interface Offer {
  /** Lower case. */
  readonly poolAddress: Hex;
  readonly side: SideText;
  /** Null: anyone may fill it. */
  readonly taker: Hex | null;
  /** 1e-18. */
  readonly price: bigint;
  readonly size: bigint;
  /** Unix seconds, the last one in which the quote can be filled. */
  readonly deadline: number;
}

/** A quote whose signature has left this program, or that was in the book before. */
export interface SentQuote extends Offer {
  readonly quoteId: Hex;
}

/** `SENT`: the request is under way. `UNKNOWN`: no answer, so it may be published. */
export type QuoteStatus = 'SENT' | 'UNKNOWN' | 'PUBLISHED';

export interface TrackedQuote extends SentQuote {
  /** Size that may still be filled: the rest in the final state of the chain, 1e-18. */
  readonly mayFill: bigint;
  readonly status: QuoteStatus;
  /** Requests that posted it. */
  readonly attempts: number;
  /** A cancel is under way or mined; the quote counts until that is final. */
  readonly isCancelling: boolean;
  /** Block of the newest event that may have changed `mayFill`; null: none. */
  readonly changedIn: number | null;
}

export interface ChainView {
  readonly head: number;
  /** Timestamp of the newest block that no reorg removes, Unix seconds. */
  readonly finalSeconds: number;
  /** Filled amounts at that block, 1e-18; 2^256 - 1 for a cancelled quote. */
  readonly filled: ReadonlyMap<Hex, bigint>;
}

export interface LedgerOptions {
  /** Blocks on top of an event after which no reorg removes it; default of a manager 20. */
  readonly finalityBlocks: number;
  /**
   * A chain without new blocks says nothing of the time: after so many seconds a deadline has passed all the same;
   * default of a manager 30.
   */
  readonly slackSeconds: number;
}

/**
 * The exposure of one maker's quotes. A quote counts from before its signature leaves the program until the final
 * state of the chain says that it is filled, cancelled or past its deadline. So a lost answer, a quote that the book
 * does not show, or a fill or cancel that a reorg removes never makes the sum too small.
 */
export class QuoteLedger {
  readonly #quotes = new Map<Hex, TrackedQuote>();

  constructor(private readonly options: LedgerOptions) {}

  get size(): number {
    return this.#quotes.size;
  }

  all(): readonly TrackedQuote[] {
    return [...this.#quotes.values()];
  }

  get(quoteId: Hex): TrackedQuote | undefined {
    return this.#quotes.get(quoteId);
  }

  /** Of one side of a pool; `kind` absent: public and private ones together. */
  mayFill(poolAddress: Hex, side: SideText, kind?: 'PUBLIC' | 'PRIVATE'): bigint {
    let sum = 0n;
    for (const quote of this.#quotes.values()) {
      if (quote.poolAddress !== poolAddress || quote.side !== side) continue;
      if (kind !== undefined && kind !== (quote.taker === null ? 'PUBLIC' : 'PRIVATE')) continue;
      sum += quote.mayFill;
    }
    return sum;
  }

  /** Before the request that posts it, also again. */
  sent(quote: SentQuote): void {
    const known = this.#quotes.get(quote.quoteId);
    if (known === undefined) this.#add(quote, 'SENT', null);
    else this.#change(quote.quoteId, { status: 'SENT', attempts: known.attempts + 1 });
  }

  published(quoteId: Hex): void {
    this.#change(quoteId, { status: 'PUBLISHED' });
  }

  /** No answer, or a request that failed after it may have been carried out. A quote that is known stays as it is. */
  unanswered(quoteId: Hex): void {
    if (this.#quotes.get(quoteId)?.status === 'SENT') this.#change(quoteId, { status: 'UNKNOWN' });
  }

  /** The service refused it, and the book does not have it. An earlier request may have published it all the same. */
  refused(quoteId: Hex): void {
    const quote = this.#quotes.get(quoteId);
    if (quote?.status !== 'SENT') return;
    if (quote.attempts === 1) this.#quotes.delete(quoteId);
    else this.#change(quoteId, { status: 'UNKNOWN' });
  }

  /** A quote that the book shows: of an earlier run, or one that a reorg brought back. Counts with its whole size. */
  found(quote: SentQuote, block: number): void {
    if (this.#quotes.has(quote.quoteId)) this.published(quote.quoteId);
    else this.#add(quote, 'PUBLISHED', block);
  }

  /** A fill or cancel in that block, or one that the feed cannot show any more. */
  changed(quoteId: Hex, block: number): void {
    const quote = this.#quotes.get(quoteId);
    if (quote !== undefined) this.#change(quoteId, { changedIn: Math.max(block, quote.changedIn ?? 0) });
  }

  cancelling(quoteId: Hex, isCancelling: boolean): void {
    this.#change(quoteId, { isCancelling });
  }

  /** Quotes whose filled amount has to be read of the chain now. */
  due(head: number): readonly TrackedQuote[] {
    const final = head - this.options.finalityBlocks;
    return this.all().filter(({ changedIn }) => changedIn !== null && changedIn <= final);
  }

  /** Applies the final state, and drops what can never be filled again. Returns the dropped quotes. */
  look({ head, finalSeconds, filled }: ChainView, nowSeconds: number): readonly TrackedQuote[] {
    const final = head - this.options.finalityBlocks;
    const dropped: TrackedQuote[] = [];
    for (const quote of this.all()) {
      const amount = filled.get(quote.quoteId);
      const mayFill = amount === undefined ? quote.mayFill : amount >= quote.size ? 0n : quote.size - amount;
      const isRead = amount !== undefined && quote.changedIn !== null && quote.changedIn <= final;
      // A cancel that the final state does not have was removed by a reorg: it has to be sent again.
      const isCancelling = quote.isCancelling && !(isRead && mayFill > 0n);
      this.#change(quote.quoteId, { mayFill, isCancelling, changedIn: isRead ? null : quote.changedIn });
      const isOver = quote.deadline < finalSeconds || quote.deadline + this.options.slackSeconds < nowSeconds;
      // A request under way still has to be answered.
      if (!isOver && (mayFill > 0n || quote.status === 'SENT')) continue;
      this.#quotes.delete(quote.quoteId);
      dropped.push(quote);
    }
    return dropped;
  }

  #add(quote: SentQuote, status: QuoteStatus, changedIn: number | null): void {
    this.#quotes.set(quote.quoteId, {
      ...quote,
      mayFill: quote.size,
      status,
      attempts: 1,
      isCancelling: false,
      changedIn,
    });
  }

  #change(quoteId: Hex, change: Partial<TrackedQuote>): void {
    const quote = this.#quotes.get(quoteId);
    if (quote !== undefined) this.#quotes.set(quoteId, { ...quote, ...change });
  }
}
