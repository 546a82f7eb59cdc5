import type { Rfq } from '../engine/command.js';
import type { EngineEvent } from '../engine/event.js';
import type { Hex, Order, Pool, PoolKey } from '../engine/quote.js';
import { routeOf } from '../feed/filters.js';
import type { Publish } from '../feed/quote-topics.js';
import type { TopicIndex } from '../feed/topic-index.js';
import { formatExpiration, parseExpiration } from '../wire/expiration.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { type ReadableJson, readPoolKey, tradeSizeText } from '../wire/readable.js';
import type { RfqMessage } from './messages.js';

/** How the pushes of the plain protocol write what they tell of. */
export interface PushForm {
  /** The quote, as JSON. */
  quote(order: Order, fillableSize: bigint): string;
  /** What was taken by a fill: the field after its body. */
  fill(size: bigint): string;
  /** The body of a request for quotes; null: this form has none for it. */
  rfq(rfq: Rfq): string | null;
}

/** Quotes in smallest units, requests for quotes as they were sent. */
export function plainForm(quotes: Pick<QuoteJson, 'encode'>): PushForm {
  return {
    quote: (order, fillableSize) => quotes.encode(order, fillableSize),
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
    for (const text of plainMessagesOf(event, this.#form)) {
      const message = Buffer.from(text);
      for (const topic of topics) this.#publish(topic, message, false);
    }
  }
}

/**
 * The messages of an event on the plain protocol. They follow the book of valid quotes: one that enters or returns is
 * posted, one that leaves is deleted, for any reason. Events of quotes outside the book have no message.
 */
export function plainMessagesOf(event: EngineEvent, form: PushForm): string[] {
  switch (event.type) {
    case 'QUOTE_POSTED':
      return event.reason === null ? [posted(event, form)] : [];
    case 'QUOTE_FILLED':
      return event.valid ? [filled(event, form)] : [];
    case 'QUOTE_REMOVED':
      return event.valid ? [deleted(event, form)] : [];
    case 'QUOTE_INVALIDATED':
      return [deleted(event, form)];
    case 'QUOTE_REVALIDATED':
      return [posted(event, form)];
    case 'QUOTE_RESTATED': {
      const before = event.wasValid ? [deleted(event, form)] : [];
      const after = event.reason === null ? [posted(event, form)] : [];
      return [...before, ...after];
    }
    case 'QUOTE_WITHDRAWN':
      return event.valid ? [deleted(event, form)] : [];
    case 'QUOTE_RESTORED':
      return event.reason === null ? [posted(event, form)] : [];
    case 'WITHDRAWN_QUOTE_FILLED':
      return [filled({ ...event, fillableSize: 0n }, form)];
    case 'RFQ_PUBLISHED': {
      const body = form.rfq(event.rfq);
      return body === null ? [] : [`{"type":"RFQ","body":${body}}`];
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

interface QuoteAtEvent {
  readonly order: Order;
  readonly fillableSize: bigint;
}

function posted({ order, fillableSize }: QuoteAtEvent, form: PushForm): string {
  return `{"type":"POST_QUOTE","body":${form.quote(order, fillableSize)}}`;
}

function filled({ order, fillableSize, size }: QuoteAtEvent & { readonly size: bigint }, form: PushForm): string {
  return `{"type":"FILL_QUOTE","body":${form.quote(order, fillableSize)},${form.fill(size)}}`;
}

function deleted({ order, fillableSize }: QuoteAtEvent, form: PushForm): string {
  return `{"type":"DELETE_QUOTE","body":${form.quote(order, fillableSize)}}`;
}
