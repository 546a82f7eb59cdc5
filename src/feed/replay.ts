import type { Channel } from '../wire/socket.js';
import { isPrivate, sideOf } from '../engine/quote.js';
import type { TimedEvent } from './event-history.js';
import { type Encoding, messageOf } from './event-messages.js';
import { type Filter, type FilterPart, matchesFilter, routeOf } from './filters.js';
import { noPrices } from './level-topics.js';
import type { LevelView } from './level-window.js';

/** Tells past events to one reader of QUOTES or RFQ: the same messages as when they were new, under the same filter. */
export class QuoteReplay {
  readonly #channel: Channel;
  readonly #filter: Filter;
  readonly #parts: readonly FilterPart[];
  readonly #lastSeq: Map<string, number>;

  /** The reader has everything up to `fromSeq`. */
  constructor(channel: Channel, filter: Filter, parts: readonly FilterPart[], fromSeq: number) {
    this.#channel = channel;
    this.#filter = filter;
    this.#parts = parts;
    this.#lastSeq = new Map(parts.map(({ key }) => [key, fromSeq]));
  }

  /** The next events, in order; those that the filter lets through as messages. */
  take(events: readonly TimedEvent[], encoding: Encoding): Uint8Array[] {
    return events.flatMap((timed) => {
      const key = this.#keyOf(timed);
      const placedIn = key === undefined ? null : encoding.event(timed);
      if (key === undefined || placedIn === null) return [];
      const prevSeq = this.lastSeq(key);
      this.#lastSeq.set(key, timed.event.seq);
      return [placedIn({ key, prevSeq })];
    });
  }

  /** Number of the last message of a key, or where the reader began. */
  lastSeq(key: string): number {
    return this.#lastSeq.get(key) ?? 0;
  }

  #keyOf({ event }: TimedEvent): string | undefined {
    const route = routeOf(event);
    if (route?.channel !== this.#channel || !matchesFilter(this.#filter, route)) return undefined;
    return this.#parts.find(({ taker }) => taker === '*' || taker === route.taker)?.key;
  }
}

/** Gathers the prices at which past events may have changed what a view of a book shows. */
export class LevelReplay {
  readonly prices = noPrices();
  /** Number of the first event that touched one; null: none did. */
  firstSeq: number | null = null;
  readonly #view: LevelView;

  constructor(view: LevelView) {
    this.#view = view;
  }

  /** How many prices they are, of both sides. */
  get size(): number {
    return this.prices.bid.size + this.prices.ask.size;
  }

  take(events: readonly TimedEvent[]): void {
    for (const { event } of events) {
      const published = messageOf(event);
      if (published === null || 'json' in published) continue;
      const { quote } = published;
      if (quote.pool.poolAddress !== this.#view.poolAddress) continue;
      if (isPrivate(quote) && quote.taker !== this.#view.taker) continue;
      this.prices[sideOf(quote)].add(quote.price);
      this.firstSeq ??= event.seq;
    }
  }
}
