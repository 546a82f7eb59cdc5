import { type Order, reasonName } from '../engine/quote.js';
import type { PacedWork } from '../system/timers.js';
import { AsciiWriter, type QuoteJson } from '../wire/quote-json.js';
import { type TaggedResponse, taggedJson, type TextDigest, WrittenLists } from './response-cache.js';

/** Where on the stream chain an order was published first. */
export interface OrderAge {
  readonly blockNumber: number;
  readonly logIndex: number;
}

export interface OrdersFound {
  readonly valid: readonly Order[];
  readonly invalid: readonly Order[];
  /** Age of the oldest one here; null when there are no older ones. */
  readonly next: OrderAge | null;
}

export interface OrderListLimits {
  /** Orders written between two turns of the event loop; lists of more are large answers. */
  readonly rowsPerSlice: number;
  /** Of answers, and again of lists in them, that are given again while the book stands as it did. */
  readonly rememberedAnswerBytes: number;
}

/** About the largest size of a quote, to size the buffer ahead. */
const QUOTE_BYTES = 1000;

/**
 * Writes orders for the answers to GET /quotes, /rfq_quotes and /orders. The digest of an answer covers the same text
 * with a short mark in place of each order, a tenth as long: hashing the full text would take longer than all else.
 */
export class OrderLists {
  readonly #quoteJson: QuoteJson;
  readonly #digest: TextDigest;
  readonly #rowsPerSlice: number;
  readonly #written: WrittenLists;

  constructor(quoteJson: QuoteJson, digest: TextDigest, limits: OrderListLimits) {
    this.#quoteJson = quoteJson;
    this.#digest = digest;
    this.#rowsPerSlice = limits.rowsPerSlice;
    this.#written = new WrittenLists(limits.rememberedAnswerBytes);
  }

  /** Best first: most often a short list. `index`: of the last record that it shows. */
  best(orders: readonly Order[], index: number): TaggedResponse {
    const known = this.#written.find(orders, index);
    if (known !== undefined) return known;
    // A text, which costs less to make than bytes do, and less to forget.
    let body = '[';
    let marks = '';
    for (const order of orders) {
      if (marks !== '') body += ',';
      body += this.#quoteJson.encode(order);
      marks += `${this.#quoteJson.mark(order, order.fillableSize, this.#digest)},`;
    }
    const written = taggedJson(`${body}]`, this.#digest(marks));
    this.#written.keep(orders, written);
    return written;
  }

  /** The same of a long list, in slices. */
  async bestOfMany(orders: readonly Order[], index: number, work: PacedWork): Promise<TaggedResponse> {
    const known = this.#written.find(orders, index);
    if (known !== undefined) {
      work.charge(0, known.answer.body.length);
      return known;
    }
    const out = new ListWriter(QUOTE_BYTES * (orders.length + 1), this.#quoteJson, this.#digest);
    await this.#inSlices(out, this.#writing(out, '[', orders.map(asShown), ']'), work);
    return out.finish();
  }

  newest(found: OrdersFound, isPage: boolean, isTagged: boolean): TaggedResponse {
    const { out, slices } = this.#newest(found, isPage, isTagged);
    while (slices.next().done !== true);
    return out.finish();
  }

  /** The same of many orders, in slices. */
  async newestOfMany(found: OrdersFound, isPage: boolean, isTagged: boolean, work: PacedWork): Promise<TaggedResponse> {
    const { out, slices } = this.#newest(found, isPage, isTagged);
    await this.#inSlices(out, slices, work);
    return out.finish();
  }

  #newest({ valid, invalid, next }: OrdersFound, isPage: boolean, isTagged: boolean) {
    // Clients from before there were pages get the answer that they know.
    const tail = isPage ? `,"nextCursor":${next === null ? 'null' : `"${next.blockNumber}-${next.logIndex}"`}` : '';
    const count = valid.length + invalid.length;
    const out = new ListWriter(QUOTE_BYTES * (count + 1), this.#quoteJson, isTagged ? this.#digest : null);
    return { out, slices: this.#writingBoth(out, valid.map(asShown), invalid.map(asShown), tail) };
  }

  *#writingBoth(
    out: ListWriter,
    valid: readonly Shown[],
    invalid: readonly Shown[],
    tail: string,
  ): Generator<undefined> {
    yield* this.#writing(out, '{"validQuotes":[', valid, '],"invalidQuotes":[');
    for (const [i, { order, fillableSize, reason }] of invalid.entries()) {
      out.text(`${i > 0 ? ',' : ''}{"reason":"${reason === null ? '' : reasonName(reason)}","quote":`);
      out.order(order, fillableSize);
      out.text('}');
      if ((i + 1) % this.#rowsPerSlice === 0) yield;
    }
    out.text(`]${tail}}`);
  }

  *#writing(out: ListWriter, before: string, orders: readonly Shown[], after: string): Generator<undefined> {
    out.text(before);
    for (const [i, { order, fillableSize }] of orders.entries()) {
      if (i > 0) out.text(',');
      out.order(order, fillableSize);
      if ((i + 1) % this.#rowsPerSlice === 0) yield;
    }
    out.text(after);
  }

  async #inSlices(out: ListWriter, slices: Generator<undefined>, work: PacedWork): Promise<void> {
    for (let isDone = false; !isDone;) {
      const before = out.bytes;
      isDone = slices.next().done === true;
      work.charge(this.#rowsPerSlice, out.bytes - before);
      if (!isDone) await work.turn();
    }
  }
}

/** An order as it stood when it was read: it changes while the answer is written. */
type Shown = Pick<Order, 'fillableSize' | 'reason'> & { readonly order: Order };

function asShown(order: Order): Shown {
  return { order, fillableSize: order.fillableSize, reason: order.reason };
}

/** An answer, with an entity tag where a digest is given. */
class ListWriter {
  readonly #out: AsciiWriter;
  readonly #quoteJson: QuoteJson;
  readonly #digest: TextDigest | null;
  #marks = '';

  /** `capacity`: bytes to begin with. */
  constructor(capacity: number, quoteJson: QuoteJson, digest: TextDigest | null) {
    this.#out = new AsciiWriter(capacity);
    this.#quoteJson = quoteJson;
    this.#digest = digest;
  }

  get bytes(): number {
    return this.#out.length;
  }

  text(text: string): void {
    this.#out.write(text);
    if (this.#digest !== null) this.#marks += text;
  }

  order(order: Order, fillableSize: bigint): void {
    this.#quoteJson.write(this.#out, order, fillableSize);
    if (this.#digest !== null) this.#marks += this.#quoteJson.mark(order, fillableSize, this.#digest);
  }

  finish(): TaggedResponse {
    return taggedJson(this.#out.finish(), this.#digest && this.#digest(this.#marks));
  }
}
