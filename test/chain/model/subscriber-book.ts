import type { Engine } from '../../../src/engine/engine.js';
import type { EngineEvent } from '../../../src/engine/event.js';
import { QuoteJson } from '../../../src/wire/quote-json.js';
import { type PushForm, plainForm } from '../../../src/ws/publisher.js';
import { plainMessagesOf } from '../../ws/plain-messages.js';

interface Message {
  readonly type: 'POST_QUOTE' | 'FILL_QUOTE' | 'DELETE_QUOTE' | 'RFQ';
  readonly body: { readonly quoteId: string; readonly fillableSize: string; readonly ts: number };
}

/**
 * The book as a subscriber keeps it: from the messages alone. Throws at a message that does not fit what came before.
 */
export class SubscriberBook {
  readonly #quotes = new Map<string, string>();
  readonly #form: PushForm;

  constructor(chainId: number) {
    this.#form = plainForm(new QuoteJson(String(chainId), 100));
  }

  /** A subscriber that comes anew asks for the book first. */
  begin(engine: Engine): void {
    this.#quotes.clear();
    for (const order of engine.known()) {
      if (order.state === 'live') this.#quotes.set(order.quote.quoteId, String(order.fillableSize));
    }
  }

  hear(events: readonly EngineEvent[]): void {
    for (const event of events) {
      for (const text of plainMessagesOf(event, this.#form)) this.#take(JSON.parse(text) as Message);
    }
  }

  get quotes(): unknown[] {
    return [...this.#quotes].sort();
  }

  /** What the messages should have told. */
  static of(engine: Engine): unknown[] {
    return [...engine.known()]
      .filter(({ state }) => state === 'live')
      .map(({ quote, fillableSize }) => [quote.quoteId, String(fillableSize)])
      .sort();
  }

  #take({ type, body: { quoteId, fillableSize } }: Message): void {
    const isKnown = this.#quotes.has(quoteId);
    if (isKnown === (type === 'POST_QUOTE'))
      throw new Error(`${type} of a quote that is ${isKnown ? '' : 'not '}there`);
    if (type === 'DELETE_QUOTE') this.#quotes.delete(quoteId);
    else this.#quotes.set(quoteId, fillableSize);
  }
}
