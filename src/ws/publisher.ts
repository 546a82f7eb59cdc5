import type { EngineEvent } from '../engine/event.js';
import { routeOf } from '../feed/filters.js';
import type { Publish } from '../feed/quote-topics.js';
import type { TopicIndex } from '../feed/topic-index.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { messagesOf } from './event-messages.js';

/**
 * Tells subscribers what was committed: each event is written once, whoever reads it, and not at all if nobody does.
 */
export class Publisher {
  readonly #topics: TopicIndex;
  readonly #quotes: QuoteJson;
  readonly #publish: Publish;

  constructor(topics: TopicIndex, quotes: QuoteJson, publish: Publish) {
    this.#topics = topics;
    this.#quotes = quotes;
    this.#publish = publish;
  }

  /** Takes a record's events, in order, in the tick of its commit: what one tick publishes leaves together. */
  onEvents(events: readonly EngineEvent[]): void {
    for (const event of events) this.#tell(event);
  }

  #tell(event: EngineEvent): void {
    const route = routeOf(event);
    if (route === null) return;
    const topics = this.#topics.match(route);
    if (topics.length === 0) return;
    for (const text of messagesOf(event, this.#quotes)) {
      const message = Buffer.from(text);
      for (const topic of topics) this.#publish(topic, message, false);
    }
  }
}
