import { type PacedWork, rowsChargedForReading } from '../system/paced-work.js';
import type { BookEventsQuery, EventsQuery, TradeEventsQuery } from '../wire/feed-messages.js';
import type { FeedChannel } from '../wire/socket.js';
import type { TimedEvent } from './event-history.js';
import type { Feed, ResyncReason } from './feed.js';
import { filterOf, filterParts, tradeSelectionOf, viewOf } from './filters.js';
import { orderbookKey } from './level-topics.js';
import type { LevelView } from './level-window.js';
import { LevelReplay, QuoteReplay } from './replay.js';
import { validateSnapshotSize } from './snapshots.js';
import { TradeReplay, tradesKey } from './trade-topics.js';

/** Bounds of one page; the numbers come from the configuration's limits. */
export interface EventPagesLimits {
  /** Events that one page of QUOTES, RFQ or TRADES looks at. */
  readonly eventsPerPage: number;
  /** Missed events that are merged into one update of ORDERBOOK; who missed more gets a snapshot. */
  readonly eventsPerBookPage: number;
  /** Quotes in place of events that are gone, in all and in one message. */
  readonly eventsSnapshotQuotes: number;
  readonly wsSnapshotPageQuotes: number;
  /** Events that one slice of a page looks at. */
  readonly rowsPerSlice: number;
  /** Levels of a side, at most and when nothing else is asked for. */
  readonly wsBookLevels: number;
}

type AnyQuery = EventsQuery | BookEventsQuery | TradeEventsQuery;

/** JSON of a page, or why the feed cannot serve it. */
export type EventPageAnswer =
  | { readonly ok: true; readonly page: Uint8Array }
  | {
      readonly ok: false;
      readonly code: 'busy' | 'invalid_parameter' | 'snapshot_too_large';
      readonly problem: string;
    };

const BUSY: EventPageAnswer = { ok: false, code: 'busy', problem: 'BUSY' };

/** Events that a reader of the feed missed, as the messages that its connection would have received. */
export class EventPages {
  readonly #feed: Feed;
  readonly #limits: EventPagesLimits;

  constructor(feed: Feed, limits: EventPagesLimits) {
    this.#feed = feed;
    this.#limits = limits;
  }

  /** Most rows that a page reads. */
  rows(query: AnyQuery): number {
    const { eventsPerPage, eventsPerBookPage } = this.#limits;
    const fromSeq = Number(query.fromSeq);
    const resyncReason = this.#feed.validateResume(query.epoch ?? this.#feed.epoch, fromSeq);
    const missed = resyncReason === null ? this.#feed.seq - fromSeq : 0;
    if (query.channel === 'ORDERBOOK') return missed > eventsPerBookPage ? Infinity : missed + this.#levelsOf(query);
    if (resyncReason === null) return Math.min(eventsPerPage, missed);
    return query.channel === 'RFQ' || query.channel === 'TRADES' ? 0 : this.#feed.book.candidates(filterOf(query));
  }

  read(query: AnyQuery, work: PacedWork): Promise<EventPageAnswer> {
    const fromSeq = Number(query.fromSeq);
    const resyncReason = this.#feed.validateResume(query.epoch ?? this.#feed.epoch, fromSeq);
    if (query.channel === 'TRADES') return this.#trades(query, fromSeq, resyncReason, work);
    if (query.channel !== 'ORDERBOOK') return this.#quotes(query, fromSeq, resyncReason, work);
    const { wsBookLevels } = this.#limits;
    const depth = Number(query.depth ?? wsBookLevels);
    if (depth > wsBookLevels) {
      const problem = `depth is ${depth}, at most ${wsBookLevels}`;
      return Promise.resolve({ ok: false, code: 'invalid_parameter', problem });
    }
    return this.#levels(viewOf(query, depth), fromSeq, resyncReason, work);
  }

  async #quotes(
    query: EventsQuery,
    fromSeq: number,
    resyncReason: ResyncReason | null,
    work: PacedWork,
  ): Promise<EventPageAnswer> {
    const feed = this.#feed;
    const { channel } = query;
    const filter = filterOf(query);
    const parts = filterParts(channel, feed.chainId, filter);
    const reading = resyncReason === null ? feed.read(fromSeq, this.#limits.eventsPerPage) : null;
    const events = await reading;
    if (events === 'BUSY') return BUSY;
    if (events !== null) {
      const replay = new QuoteReplay(channel, filter, parts, fromSeq);
      if (reading instanceof Promise) work.charge(events.length, 0);
      const messages = await this.#written(events, replay, work);
      return this.#page(events.at(-1)?.event.seq ?? fromSeq, messages);
    }
    const { seq, tsMs } = feed;
    const keys = parts.map(({ key }) => key);
    const resync = this.#resync(channel, keys, resyncReason ?? 'TOO_OLD');
    if (channel === 'RFQ') return this.#page(seq, [resync]);
    const { eventsSnapshotQuotes, wsSnapshotPageQuotes: pageQuotes } = this.#limits;
    const snapshot = feed.snapshots.take(feed.book, filter, parts, { seq, tsMs, pageQuotes });
    work.charge(snapshot.rowsRead, 0);
    const problem = validateSnapshotSize(snapshot, eventsSnapshotQuotes);
    if (problem !== null) return { ok: false, code: 'snapshot_too_large', problem };
    const messages = [resync];
    for (const { rows, message } of snapshot.messages(feed.encodings.json)) {
      messages.push(message);
      work.charge(rows, message.length);
      await work.turn();
    }
    return this.#page(seq, messages);
  }

  /** Trades add up to nothing that could take the place of those that are gone: GET /trades has them. */
  async #trades(
    query: TradeEventsQuery,
    fromSeq: number,
    resyncReason: ResyncReason | null,
    work: PacedWork,
  ): Promise<EventPageAnswer> {
    const feed = this.#feed;
    const selection = tradeSelectionOf(query);
    const key = tradesKey(feed.chainId, selection);
    const reading = resyncReason === null ? feed.read(fromSeq, this.#limits.eventsPerPage) : null;
    const events = await reading;
    if (events === 'BUSY') return BUSY;
    if (events === null) return this.#page(feed.seq, [this.#resync('TRADES', [key], resyncReason ?? 'TOO_OLD')]);
    if (reading instanceof Promise) work.charge(events.length, 0);
    const messages = await this.#written(events, new TradeReplay(key, selection, fromSeq), work);
    return this.#page(events.at(-1)?.event.seq ?? fromSeq, messages);
  }

  async #written(
    events: readonly TimedEvent[],
    replay: Pick<QuoteReplay | TradeReplay, 'take'>,
    work: PacedWork,
  ): Promise<Uint8Array[]> {
    const messages: Uint8Array[] = [];
    const { rowsPerSlice } = this.#limits;
    for (let start = 0; start < events.length; start += rowsPerSlice) {
      if (start > 0) await work.turn();
      const slice = replay.take(events.slice(start, start + rowsPerSlice), this.#feed.encodings.json);
      work.charge(slice.length + rowsChargedForReading(rowsPerSlice), bytesOf(slice));
      for (const message of slice) messages.push(message);
    }
    return messages;
  }

  /** Levels are known as they are now alone, so that all that was missed is one message. */
  async #levels(
    view: LevelView,
    fromSeq: number,
    resyncReason: ResyncReason | null,
    work: PacedWork,
  ): Promise<EventPageAnswer> {
    const feed = this.#feed;
    const replay = new LevelReplay(view);
    const take = (events: readonly TimedEvent[]): void => {
      replay.take(events);
      work.charge(rowsChargedForReading(events.length), 0);
    };
    const replayed = resyncReason === null ? await this.#replayAll(fromSeq, take, work) : 'NOT_ALL';
    if (replayed === 'BUSY') return BUSY;
    // No await from here on: the book has to be the one at `seq`.
    const { seq, tsMs } = feed;
    const { json } = feed.encodings;
    const joined = feed.levels.join(view, json.name, seq, tsMs);
    const page = (messages: readonly Uint8Array[]): EventPageAnswer => {
      work.charge(feed.levels.rowsOf(view), bytesOf(messages));
      return this.#page(seq, messages);
    };
    try {
      if (replayed === 'NOT_ALL') {
        const resync = this.#resync('ORDERBOOK', [orderbookKey(feed.chainId, view)], resyncReason ?? 'TOO_OLD');
        return page([resync, json.message(feed.levels.snapshot(joined, seq, tsMs))]);
      }
      if (replay.firstSeq === null) return page([]);
      const missed = { fromSeq, from: replay.firstSeq, seq, tsMs };
      return page([json.message(feed.levels.catchUp(joined, replay.prices, missed))]);
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
    work: PacedWork,
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
      if (at < this.#feed.seq) await work.turn();
    }
    return 'ALL';
  }

  #resync(channel: FeedChannel, keys: string[], reason: ResyncReason): Uint8Array {
    const { seq, epoch, encodings } = this.#feed;
    return encodings.json.message({ type: 'RESYNC', channel, keys, seq, epoch, reason });
  }

  #levelsOf(query: BookEventsQuery): number {
    return this.#feed.levels.rowsOf(viewOf(query, Number(query.depth ?? this.#limits.wsBookLevels)));
  }

  #page(seq: number, messages: readonly Uint8Array[]): EventPageAnswer {
    const head = JSON.stringify({ epoch: this.#feed.epoch, seq, more: seq < this.#feed.seq });
    const parts: Uint8Array[] = [Buffer.from(`${head.slice(0, -1)},"messages":[`)];
    for (const [i, message] of messages.entries()) parts.push(i > 0 ? COMMA : NOTHING, message);
    parts.push(END);
    return { ok: true, page: Buffer.concat(parts) };
  }
}

const NOTHING = Buffer.alloc(0);
const utf8 = new TextEncoder();
const COMMA = utf8.encode(',');
const END = utf8.encode(']}');

function bytesOf(messages: readonly Uint8Array[]): number {
  return messages.reduce((sum, { length }) => sum + length, 0);
}
