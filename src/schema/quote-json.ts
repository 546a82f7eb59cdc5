import type { Order } from '../engine/order.js';
import type { Quote } from '../engine/quote.js';
import type { AsciiWriter } from './ascii-writer.js';

/**
 * Writes orders as the wire's OrderbookQuote. All but `fillableSize` is fixed once a quote is known, so its text is made
 * once and kept as long as the order lives (measured: 12 to 80 times `JSON.stringify` of the whole each time).
 */
export class QuoteJson {
  readonly #heads = new WeakMap<Quote, string>();
  readonly #chainId: string;

  /** `chainId`: the settlement chain's, as it goes on the wire. */
  constructor(chainId: string) {
    this.#chainId = chainId;
  }

  /** `fillableSize` in 1e-18 contracts; given apart because an event tells of a moment that may have passed. */
  encode(order: Order, fillableSize: bigint = order.fillableSize): string {
    return this.encodeQuote(order.quote, fillableSize);
  }

  encodeQuote(quote: Quote, fillableSize: bigint): string {
    return `${this.#headOf(quote)}${String(fillableSize)}"}`;
  }

  /** The same, where many are written together. */
  write(out: AsciiWriter, { quote }: Order, fillableSize: bigint): void {
    out.write(this.#headOf(quote));
    out.write(String(fillableSize));
    out.write('"}');
  }

  #headOf(quote: Quote): string {
    const known = this.#heads.get(quote);
    if (known !== undefined) return known;
    const head = this.#head(quote);
    this.#heads.set(quote, head);
    return head;
  }

  #head(quote: Quote): string {
    return `${JSON.stringify(this.fixed(quote)).slice(0, -1)},"fillableSize":"`;
  }

  /** All but `fillableSize`, as JSON has it and in its order. */
  fixed(quote: Quote) {
    const { poolKey, poolAddress } = quote.pool;
    return {
      quoteId: quote.quoteId,
      poolAddress,
      poolKey: { ...poolKey, strike: poolKey.strike.toString() },
      chainId: this.#chainId,
      provider: quote.provider,
      taker: quote.taker,
      price: quote.price.toString(),
      size: quote.size.toString(),
      isBuy: quote.isBuy,
      deadline: quote.deadline,
      salt: quote.salt,
      signature: quote.signature,
      ts: quote.ts,
    };
  }
}
