import type { OrdersResult } from '../engine/queries.js';
import type { Order } from '../engine/quote.js';
import type { PacedWork } from '../system/paced-work.js';
import { OrderListWriter, writeAll } from '../wire/order-list-json.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { type TaggedResponse, taggedJson, type TextDigest, WrittenLists } from './response-cache.js';

export interface OrderListLimits {
  /** Orders written between two turns of the event loop; lists of more are large answers. */
  readonly rowsPerSlice: number;
  /** Of answers, and again of lists in them, that are given again while the book stands as it did. */
  readonly rememberedAnswerBytes: number;
}

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
    const out = this.#writer(orders.length, true);
    await this.#inSlices(out, out.best(orders), work);
    return this.#answerOf(out, true);
  }

  newest(found: OrdersResult, isPage: boolean, isTagged: boolean): TaggedResponse {
    const out = this.#writer(found.valid.length + found.invalid.length, isTagged);
    writeAll(out.newest(found, isPage));
    return this.#answerOf(out, isTagged);
  }

  /** The same of many orders, in slices. */
  async newestOfMany(
    found: OrdersResult,
    isPage: boolean,
    isTagged: boolean,
    work: PacedWork,
  ): Promise<TaggedResponse> {
    const out = this.#writer(found.valid.length + found.invalid.length, isTagged);
    await this.#inSlices(out, out.newest(found, isPage), work);
    return this.#answerOf(out, isTagged);
  }

  #writer(rows: number, isTagged: boolean): OrderListWriter {
    return new OrderListWriter(this.#quoteJson, rows, this.#rowsPerSlice, isTagged ? this.#digest : null);
  }

  #answerOf(out: OrderListWriter, isTagged: boolean): TaggedResponse {
    return taggedJson(out.finish(), isTagged ? this.#digest(out.marks) : null);
  }

  async #inSlices(out: OrderListWriter, slices: Generator<undefined>, work: PacedWork): Promise<void> {
    for (let isDone = false; !isDone;) {
      const before = out.bytes;
      isDone = slices.next().done === true;
      work.charge(this.#rowsPerSlice, out.bytes - before);
      if (!isDone) await work.turn();
    }
  }
}
