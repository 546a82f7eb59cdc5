import type { OrdersResult } from '../engine/queries.js';
import { type Order, reasonName } from '../engine/quote.js';
import { AsciiWriter, type QuoteJson } from './quote-json.js';

/** About the largest size of a quote, to size the buffer ahead. */
const QUOTE_BYTES = 1000;

/** An order as it stood when it was read: it changes while the answer is written. */
type Shown = Pick<Order, 'fillableSize' | 'reason'> & { readonly order: Order };

function asShown(order: Order): Shown {
  return { order, fillableSize: order.fillableSize, reason: order.reason };
}

/** Writes one list of orders as JSON, in slices: the generator of a list yields after each of `rowsPerSlice` orders. */
export class OrderListWriter {
  readonly #out: AsciiWriter;
  readonly #quoteJson: QuoteJson;
  readonly #rowsPerSlice: number;
  readonly #digest: ((text: string) => string) | null;
  #marks = '';

  /** `rows`: orders to make room for ahead. `digest`: as `QuoteJson.mark` takes it; null: no marks are written. */
  constructor(
    quoteJson: QuoteJson,
    rows: number,
    rowsPerSlice: number,
    digest: ((text: string) => string) | null = null,
  ) {
    this.#out = new AsciiWriter(QUOTE_BYTES * (rows + 1));
    this.#quoteJson = quoteJson;
    this.#rowsPerSlice = rowsPerSlice;
    this.#digest = digest;
  }

  get bytes(): number {
    return this.#out.length;
  }

  /** The text so far with a mark in place of each order: two lists have the same just when they are written the same. */
  get marks(): string {
    return this.#marks;
  }

  /** All that was written. */
  finish(): Uint8Array {
    return this.#out.finish();
  }

  /** One array. */
  best(orders: readonly Order[]): Generator<undefined> {
    return this.#writing('[', orders.map(asShown), ']');
  }

  /** The valid and the invalid ones; as a page with the cursor of the next one. */
  newest({ valid, invalid, next }: OrdersResult, isPage: boolean): Generator<undefined> {
    // Clients from before there were pages get the answer that they know.
    const tail = isPage ? `,"nextCursor":${next === null ? 'null' : `"${next.blockNumber}-${next.logIndex}"`}` : '';
    return this.#writingBoth(valid.map(asShown), invalid.map(asShown), tail);
  }

  *#writingBoth(valid: readonly Shown[], invalid: readonly Shown[], tail: string): Generator<undefined> {
    yield* this.#writing('{"validQuotes":[', valid, '],"invalidQuotes":[');
    for (const [i, { order, fillableSize, reason }] of invalid.entries()) {
      this.#text(`${i > 0 ? ',' : ''}{"reason":"${reason === null ? '' : reasonName(reason)}","quote":`);
      this.#order(order, fillableSize);
      this.#text('}');
      if ((i + 1) % this.#rowsPerSlice === 0) yield;
    }
    this.#text(`]${tail}}`);
  }

  *#writing(before: string, orders: readonly Shown[], after: string): Generator<undefined> {
    this.#text(before);
    for (const [i, { order, fillableSize }] of orders.entries()) {
      if (i > 0) this.#text(',');
      this.#order(order, fillableSize);
      if ((i + 1) % this.#rowsPerSlice === 0) yield;
    }
    this.#text(after);
  }

  #text(text: string): void {
    this.#out.write(text);
    if (this.#digest !== null) this.#marks += text;
  }

  #order(order: Order, fillableSize: bigint): void {
    this.#quoteJson.write(this.#out, order, fillableSize);
    if (this.#digest !== null) this.#marks += this.#quoteJson.mark(order, fillableSize, this.#digest);
  }
}

/** Writes all slices of a list one after the other. */
export function writeAll(slices: Generator<undefined>): void {
  while (slices.next().done !== true);
}
