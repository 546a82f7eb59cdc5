import type { Rfq } from '../engine/command.js';
import type { EngineEvent } from '../engine/event.js';
import type { Hex, Order, Pool, PoolKey } from '../engine/quote.js';
import { routeOf } from '../feed/filters.js';
import type { Publish } from '../feed/topics.js';
import type { TopicIndex } from '../feed/topic-index.js';
import { formatExpiration, parseExpiration } from '../wire/expiration.js';
import { AsciiMessages, type QuoteJson } from '../wire/quote-json.js';
import { type ReadableJson, readPoolKey, tradeSizeText } from '../wire/readable.js';
import type { RfqMessage } from './messages.js';

/** How the pushes of the plain protocol write what they tell of. */
export interface PushForm {
  /** The quote, as JSON. */
  quote(order: Order, fillableSize: bigint): string;
  /** The size that a fill took: the field after its body. */
  fill(size: bigint): string;
  /** The body of a request for quotes; null: this form has none for it. */
  rfq(rfq: Rfq): string | null;
  /** As `quote`, piece by piece; absent: a quote may hold more than ASCII. */
  write?(out: AsciiMessages, order: Order, fillableSize: bigint): void;
}

/** Quotes in smallest units, requests for quotes as they were sent. */
export function plainForm(quotes: Pick<QuoteJson, 'encode' | 'write'>): PushForm {
  return {
    quote: (order, fillableSize) => quotes.encode(order, fillableSize),
    write: (out, order, fillableSize) => quotes.write(out, order, fillableSize),
    fill: (size) => `"size":"${size}"`,
    rfq: ({ body }) => body,
  };
}

/** By symbols and in whole units. `poolAt`: a pool that is deployed or has quotes; undefined for any other. */
export function readableForm(json: ReadableJson, poolAt: (poolAddress: Hex) => Pool | undefined): PushForm {
  /** The one that the request names, by its key or in the older form by its address. */
  function poolKeyOf(body: RfqMessage['body'], poolAddress: Hex): PoolKey | undefined {
    return 'poolKey' in body ? readPoolKey(body.poolKey) : poolAt(poolAddress)?.poolKey;
  }

  return {
    quote: ({ quote }, fillableSize) => json.quote(quote, fillableSize),
    fill: (size) => `"tradeSize":"${tradeSizeText(size)}"`,
    rfq({ body, poolAddress, side, size }) {
      const sent = JSON.parse(body) as RfqMessage['body'];
      const poolKey = poolKeyOf(sent, poolAddress);
      // Takers may ask for any maturity; no pool can have one without an expiration date.
      if (poolKey === undefined || !hasExpiration(poolKey)) return null;
      return json.rfq({ poolKey, side, size, taker: sent.taker });
    },
  };
}

/** Whether the maturity is 08:00 UTC of a day that can be written. */
function hasExpiration({ maturity }: PoolKey): boolean {
  return parseExpiration(formatExpiration(maturity)) === maturity;
}

/**
 * Publishes committed events to the subscribers of the plain protocol in one form. Each event is written once, and only
 * if a subscriber matches.
 */
export class PlainPublisher {
  readonly #topics: TopicIndex;
  readonly #form: PushForm;
  readonly #publish: Publish;
  readonly #ascii = new AsciiMessages();

  constructor(topics: TopicIndex, form: PushForm, publish: Publish) {
    this.#topics = topics;
    this.#form = form;
    this.#publish = publish;
  }

  /** Takes a record's events, in order, in the tick of its commit: one tick's messages leave together. */
  onEvents(events: readonly EngineEvent[]): void {
    if (this.#topics.size === 0) return;
    for (const event of events) this.#publishEvent(event);
  }

  #publishEvent(event: EngineEvent): void {
    const route = routeOf(event);
    if (route === null) return;
    const topics = this.#topics.match(route);
    if (topics.length === 0) return;
    for (const message of messagesOf(event, this.#form)) {
      const bytes = this.#bytesOf(message);
      for (const topic of topics) this.#publish(topic, bytes, false);
    }
  }

  #bytesOf({ head, quote, tail }: PlainMessage): Uint8Array {
    const form = this.#form;
    if (quote === null || form.write === undefined) return Buffer.from(textOf({ head, quote, tail }, form));
    this.#ascii.write(head);
    form.write(this.#ascii, quote.order, quote.fillableSize);
    this.#ascii.write(tail);
    return this.#ascii.take();
  }
}

/** A message in pieces. */
interface PlainMessage {
  readonly head: string;
  /** Between the two; null: nothing. */
  readonly quote: QuoteAtEvent | null;
  readonly tail: string;
}

interface QuoteAtEvent {
  readonly order: Order;
  readonly fillableSize: bigint;
}

function textOf({ head, quote, tail }: PlainMessage, form: PushForm): string {
  return quote === null ? head + tail : `${head}${form.quote(quote.order, quote.fillableSize)}${tail}`;
}

/**
 * The messages of an event on the plain protocol. They follow the book of valid quotes: one that enters or returns is
 * posted, one that leaves is deleted, for any reason. Events of quotes outside the book have no message.
 */
function messagesOf(event: EngineEvent, form: PushForm): PlainMessage[] {
  switch (event.type) {
    case 'QUOTE_POSTED':
      return event.reason === null ? [posted(event)] : [];
    case 'QUOTE_FILLED':
      return event.valid ? [filled(event, event.size, form)] : [];
    case 'QUOTE_REMOVED':
      return event.valid ? [deleted(event)] : [];
    case 'QUOTE_INVALIDATED':
      return [deleted(event)];
    case 'QUOTE_REVALIDATED':
      return [posted(event)];
    case 'QUOTE_RESTATED': {
      const before = event.wasValid ? [deleted(event)] : [];
      const after = event.reason === null ? [posted(event)] : [];
      return [...before, ...after];
    }
    case 'QUOTE_WITHDRAWN':
      return event.valid ? [deleted(event)] : [];
    case 'QUOTE_RESTORED':
      return event.reason === null ? [posted(event)] : [];
    case 'WITHDRAWN_QUOTE_FILLED':
      return [filled({ order: event.order, fillableSize: 0n }, event.size, form)];
    case 'RFQ_PUBLISHED': {
      const body = form.rfq(event.rfq);
      return body === null ? [] : [{ head: `{"type":"RFQ","body":${body}`, quote: null, tail: '}' }];
    }
    case 'RFQ_CHANGED':
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
    case 'TRADE_RECORDED':
    case 'TRADES_UNDONE':
    case 'WITHDRAWN_QUOTE_RESTATED':
      return [];
  }
}

function posted(quote: QuoteAtEvent): PlainMessage {
  return { head: '{"type":"POST_QUOTE","body":', quote, tail: '}' };
}

function filled(quote: QuoteAtEvent, size: bigint, form: PushForm): PlainMessage {
  return { head: '{"type":"FILL_QUOTE","body":', quote, tail: `,${form.fill(size)}}` };
}

function deleted(quote: QuoteAtEvent): PlainMessage {
  return { head: '{"type":"DELETE_QUOTE","body":', quote, tail: '}' };
}
