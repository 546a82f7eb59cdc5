import type { FeedChannel } from '../schema/feed-filters.js';
import type { BookEventsQuery, EventsQuery } from '../schema/feed-queries.js';
import type { TimedEvent } from './event-history.js';
import type { Feed, ResyncReason } from './feed.js';
import { orderbookKey } from './level-topics.js';
import type { LevelView } from './level-window.js';
import { takeSnapshot, whyTooLarge } from './quotes-snapshot.js';
import { LevelReplay, QuoteReplay } from './replay.js';
import { filterParts } from './topics.js';
import { filterOf, viewOf } from './wire-filter.js';

/** Bounds of one page; the numbers come from the configuration's limits. */
export interface EventPagesLimits {
  /** Events that one page of QUOTES or RFQ looks at. */
  readonly eventsPerPage: number;
  /** Missed events that are merged into one update of ORDERBOOK; who missed more gets a snapshot. */
  readonly eventsPerBookPage: number;
  /** Quotes in place of events that are gone, in all and in one message. */
  readonly eventsSnapshotQuotes: number;
  readonly wsSnapshotPageQuotes: number;
  /** Such messages written between two turns of the event loop. */
  readonly wsSnapshotPagesPerTurn: number;
  /** Levels of a side, at most and when nothing else is asked for. */
  readonly wsBookLevels: number;
}

/** JSON text of a page, or why there is none; busy: there may be one later. */
export type EventPageAnswer =
  | { readonly ok: true; readonly page: string }
  | { readonly ok: false; readonly problem: string; readonly busy: boolean };

const BUSY: EventPageAnswer = { ok: false, problem: 'BUSY', busy: true };

/** What a reader of the feed missed, as the messages that its connection would have been sent. */
export class EventPages {
  readonly #feed: Feed;
  readonly #limits: EventPagesLimits;
  readonly #othersTurn: () => Promise<void>;

  /** `othersTurn` resolves when others have had their turn. */
  constructor(feed: Feed, limits: EventPagesLimits, othersTurn: () => Promise<void>) {
    this.#feed = feed;
    this.#limits = limits;
    this.#othersTurn = othersTurn;
  }

  read(query: EventsQuery | BookEventsQuery): Promise<EventPageAnswer> {
    const fromSeq = Number(query.fromSeq);
    const whyNot = this.#feed.whyNotFrom(query.epoch ?? this.#feed.epoch, fromSeq);
    if (query.channel !== 'ORDERBOOK') return this.#quotes(query, fromSeq, whyNot);
    const { wsBookLevels } = this.#limits;
    const depth = Number(query.depth ?? wsBookLevels);
    if (depth > wsBookLevels) {
      return Promise.resolve({ ok: false, problem: `depth is ${depth}, at most ${wsBookLevels}`, busy: false });
    }
    return this.#levels(viewOf(query, depth), fromSeq, whyNot);
  }

  async #quotes(query: EventsQuery, fromSeq: number, whyNot: ResyncReason | null): Promise<EventPageAnswer> {
    const feed = this.#feed;
    const { channel } = query;
    const filter = filterOf(channel, query);
    const parts = filterParts(channel, feed.chainId, filter);
    const events = whyNot === null ? await feed.read(fromSeq, this.#limits.eventsPerPage) : null;
    if (events === 'BUSY') return BUSY;
    if (events !== null) {
      const messages = new QuoteReplay(channel, filter, parts, fromSeq).take(events, feed.encodings.json);
      return this.#page(events.at(-1)?.event.seq ?? fromSeq, messages);
    }
    const { seq, tsMs } = feed;
    const keys = parts.map(({ key }) => key);
    const resync = this.#resync(channel, keys, whyNot ?? 'TOO_OLD');
    if (channel === 'RFQ') return this.#page(seq, [resync]);
    const { eventsSnapshotQuotes, wsSnapshotPageQuotes: pageQuotes } = this.#limits;
    const snapshot = takeSnapshot(feed.book, filter, parts, { seq, tsMs, pageQuotes });
    const problem = whyTooLarge(snapshot, eventsSnapshotQuotes);
    if (problem !== null) return { ok: false, problem, busy: false };
    const messages = [resync];
    for (const page of snapshot.pages()) {
      messages.push(feed.encodings.json.quotes(page));
      if (messages.length % this.#limits.wsSnapshotPagesPerTurn === 0) await this.#othersTurn();
    }
    return this.#page(seq, messages);
  }

  /** Levels are known as they are now alone, so that all that was missed is one message. */
  async #levels(view: LevelView, fromSeq: number, whyNot: ResyncReason | null): Promise<EventPageAnswer> {
    const feed = this.#feed;
    const replay = new LevelReplay(view);
    const replayed = whyNot === null ? await this.#replayAll(fromSeq, (events) => replay.take(events)) : 'NOT_ALL';
    if (replayed === 'BUSY') return BUSY;
    // No await from here on: the book has to be the one at `seq`.
    const { seq, tsMs } = feed;
    const { json } = feed.encodings;
    const joined = feed.levels.join(view, json.name, seq, tsMs);
    try {
      if (replayed === 'NOT_ALL') {
        const resync = this.#resync('ORDERBOOK', [orderbookKey(feed.chainId, view)], whyNot ?? 'TOO_OLD');
        return this.#page(seq, [resync, json.message(feed.levels.snapshot(joined, seq, tsMs))]);
      }
      if (replay.firstSeq === null) return this.#page(seq, []);
      const missed = { fromSeq, from: replay.firstSeq, seq, tsMs };
      return this.#page(seq, [json.message(feed.levels.catchUp(joined, replay.prices, missed))]);
    } finally {
      feed.levels.leave(joined);
    }
  }

  /**
   * Every event up to the present, which is where it stands when this resolves. NOT_ALL: there are too many, or some are
   * gone.
   */
  async #replayAll(
    fromSeq: number,
    take: (events: readonly TimedEvent[]) => void,
  ): Promise<'ALL' | 'NOT_ALL' | 'BUSY'> {
    const { eventsPerBookPage, eventsPerPage } = this.#limits;
    let at = fromSeq;
    while (at < this.#feed.seq) {
      if (this.#feed.seq - fromSeq > eventsPerBookPage) return 'NOT_ALL';
      const events = await this.#feed.read(at, eventsPerPage);
      if (events === 'BUSY') return events;
      const last = events?.at(-1);
      if (events === null || last === undefined) return 'NOT_ALL';
      take(events);
      at = last.event.seq;
    }
    return 'ALL';
  }

  #resync(channel: FeedChannel, keys: string[], reason: ResyncReason): Uint8Array {
    const { seq, epoch, encodings } = this.#feed;
    return encodings.json.message({ type: 'RESYNC', channel, keys, seq, epoch, reason });
  }

  #page(seq: number, messages: readonly Uint8Array[]): EventPageAnswer {
    const texts = messages.map((message) => Buffer.from(message).toString());
    const head = JSON.stringify({ epoch: this.#feed.epoch, seq, more: seq < this.#feed.seq });
    return { ok: true, page: `${head.slice(0, -1)},"messages":[${texts.join(',')}]}` };
  }
}
