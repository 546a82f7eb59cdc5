import type { EngineEvent } from '../engine/event.js';
import type { Order } from '../engine/quote.js';
import { routeOf } from '../feed/filters.js';
import type { Publish } from '../feed/quote-topics.js';
import type { TopicIndex } from '../feed/topic-index.js';
import type { QuoteJson } from '../wire/quote-json.js';

/** Publishes committed events to plain subscribers. Each event is written once, and only if a subscriber matches. */
export class PlainPublisher {
  readonly #topics: TopicIndex;
  readonly #quotes: QuoteJson;
  readonly #publish: Publish;

  constructor(topics: TopicIndex, quotes: QuoteJson, publish: Publish) {
    this.#topics = topics;
    this.#quotes = quotes;
    this.#publish = publish;
  }

  /** Takes a record's events, in order, in the tick of its commit: one tick's messages leave together. */
  onEvents(events: readonly EngineEvent[]): void {
    for (const event of events) this.#publishEvent(event);
  }

  #publishEvent(event: EngineEvent): void {
    const route = routeOf(event);
    if (route === null) return;
    const topics = this.#topics.match(route);
    if (topics.length === 0) return;
    for (const text of plainMessagesOf(event, this.#quotes)) {
      const message = Buffer.from(text);
      for (const topic of topics) this.#publish(topic, message, false);
    }
  }
}

/**
 * The messages of an event on the plain protocol. They follow the book of valid quotes: one that enters or returns is
 * posted, one that leaves is deleted, for any reason. Events of quotes outside the book have no message.
 */
export function plainMessagesOf(event: EngineEvent, quotes: QuoteJson): string[] {
  switch (event.type) {
    case 'QUOTE_POSTED':
      return event.reason === null ? [posted(event, quotes)] : [];
    case 'QUOTE_FILLED':
      return event.valid ? [filled(event, quotes)] : [];
    case 'QUOTE_REMOVED':
      return event.valid ? [deleted(event, quotes)] : [];
    case 'QUOTE_INVALIDATED':
      return [deleted(event, quotes)];
    case 'QUOTE_REVALIDATED':
      return [posted(event, quotes)];
    case 'QUOTE_RESTATED': {
      const before = event.wasValid ? [deleted(event, quotes)] : [];
      const after = event.reason === null ? [posted(event, quotes)] : [];
      return [...before, ...after];
    }
    case 'RFQ_PUBLISHED':
      return [`{"type":"RFQ","body":${event.rfq.body}}`];
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
      return [];
  }
}

interface QuoteAtEvent {
  readonly order: Order;
  readonly fillableSize: bigint;
}

function posted({ order, fillableSize }: QuoteAtEvent, quotes: QuoteJson): string {
  return `{"type":"POST_QUOTE","body":${quotes.encode(order, fillableSize)}}`;
}

function filled({ order, fillableSize, size }: QuoteAtEvent & { readonly size: bigint }, quotes: QuoteJson): string {
  return `{"type":"FILL_QUOTE","body":${quotes.encode(order, fillableSize)},"size":"${size}"}`;
}

function deleted({ order, fillableSize }: QuoteAtEvent, quotes: QuoteJson): string {
  return `{"type":"DELETE_QUOTE","body":${quotes.encode(order, fillableSize)}}`;
}
