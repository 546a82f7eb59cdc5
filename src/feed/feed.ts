import type { Stamp } from '../engine/command.js';
import type { JournalRecord } from '../engine/ports.js';
import type { Hex, Order, Pool } from '../engine/quote.js';
import type { RESYNC_REASONS, TickersResult } from '../wire/feed-messages.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { BookHash, type HashFunction } from './book-hash.js';
import { CommittedBook } from './committed-book.js';
import { CoverTopics } from './cover-topics.js';
import { type EventHistory, type PastEventsPage, RecentEvents, type TimedEvent } from './event-history.js';
import { type Encoding, type EncodingName, JsonEncoding, MsgpackEncoding } from './event-messages.js';
import { LevelTopics } from './level-topics.js';
import { QuoteTopics } from './quote-topics.js';
import { SharedSnapshots } from './snapshots.js';
import { type Ticker, tickerJson, Tickers, TickerTopics } from './tickers.js';
import type { Publish } from './topics.js';
import { TradeTopics } from './trade-topics.js';
import { TradeVolume } from './trade-volume.js';

/** The numbers of the configuration's limits that bound what the feed keeps. */
export interface FeedLimits {
  /** Events kept in memory for readers who come back. */
  readonly recentEvents: number;
  /** Levels that an update of many may have beyond those that its reader sees. */
  readonly changedLevels: number;
  /** Filled quotes remembered for a reorg that takes their fills back. */
  readonly recentFills: number;
  /** Trades of the last 24 hours whose volume is counted. */
  readonly tradesKept: number;
  /** Events that wait for the book while nobody follows it. */
  readonly unreadEvents: number;
  /** Quotes whose MessagePack is cached. */
  readonly writtenQuotes: number;
  /** Written messages of snapshots that are kept until the next event. */
  readonly sharedSnapshotBytes: number;
  /** Legs of a cover, and distinct covers that readers may follow at once. */
  readonly coverLegs: number;
  readonly coverTopics: number;
  /** Tickers written between two turns of the event loop. */
  readonly rowsPerSlice: number;
}

export interface FeedOptions {
  /** The settlement chain's, as it goes on the wire. */
  readonly chainId: string;
  /** 16 hex digits that tell this log from every other. */
  readonly epoch: string;
  /** The engine as recovery left it: what it holds, and where its last record and event are. */
  readonly start: {
    readonly index: number;
    readonly seq: number;
    readonly tsMs: number;
    readonly orders: Iterable<Order>;
    /** Those that are deployed. */
    readonly pools: Iterable<Pool>;
    /** The last events up to there, for readers who come back; others are read from the log. */
    readonly recent?: readonly TimedEvent[];
  };
  /** Events from before the start, and those that no longer fit into memory; null: those are gone. */
  readonly older: EventHistory | null;
  readonly quoteJson: QuoteJson;
  readonly keccak256: HashFunction;
  /** See OrderIndex. Absent: 0. */
  readonly idSalt?: number;
  readonly publish: Publish;
  readonly limits: FeedLimits;
}

/**
 * Interval at which the tickers are brought up to date while no client follows them: a request then finds at most one
 * second of events to apply.
 */
const UNFOLLOWED_TICKERS_MS = 1000;

/** Why a reader can't go on where it was. */
export type ResyncReason = (typeof RESYNC_REASONS)[number];

/** Committed events, numbered and published by topic, with the book that they add up to and the way back to those missed. */
export class Feed {
  readonly epoch: string;
  readonly chainId: string;
  readonly encodings: Readonly<Record<EncodingName, Encoding>>;
  readonly snapshots: SharedSnapshots;
  readonly #rowsPerSlice: number;
  readonly #book: CommittedBook;
  readonly #quotes: QuoteTopics;
  readonly #levels: LevelTopics;
  readonly #covers: CoverTopics;
  readonly #tickerTopics: TickerTopics;
  readonly #trades: TradeTopics;
  readonly #tickers: Tickers;
  /**
   * Published events that the book and the tickers have not applied yet: in one batch they take half the time that
   * each takes among all else that an event needs. Empty while anyone follows these.
   */
  #unread: TimedEvent[] = [];
  readonly #maxUnread: number;
  /** Engine time of the last record that they were brought up to date with, and of the last record of all. */
  #tickersMs: number;
  #recordMs: number;
  readonly #recent: RecentEvents;
  readonly #older: EventHistory | null;
  #index: number;
  #seq: number;
  #tsMs: number;

  constructor({ chainId, epoch, start, older, quoteJson, keccak256, idSalt, publish, limits }: FeedOptions) {
    const hash = new BookHash(keccak256);
    this.epoch = epoch;
    this.chainId = chainId;
    this.#index = start.index;
    this.#seq = start.seq;
    this.#tsMs = start.tsMs;
    this.#recordMs = start.tsMs;
    this.#tickersMs = start.tsMs;
    this.#book = new CommittedBook(start.orders, hash, idSalt);
    const msgpack = new MsgpackEncoding(quoteJson, limits.writtenQuotes);
    this.encodings = { json: new JsonEncoding(quoteJson), msgpack };
    const outlet = { encodings: Object.values(this.encodings), publish };
    this.#quotes = new QuoteTopics(chainId, this.#book, hash, outlet);
    this.#levels = new LevelTopics({
      chainId,
      book: this.#book,
      hash,
      outlet,
      maxChanged: limits.changedLevels,
    });
    this.#covers = new CoverTopics({
      chainId,
      book: this.#book,
      outlet,
      maxLegs: limits.coverLegs,
      maxTopics: limits.coverTopics,
    });
    this.#tickers = new Tickers({
      book: this.#book.book,
      pools: start.pools,
      maxRecentFills: limits.recentFills,
      volume: new TradeVolume(limits.tradesKept),
      hasPast: older !== null,
    });
    this.#tickerTopics = new TickerTopics(chainId, outlet);
    this.#trades = new TradeTopics(chainId, outlet);
    this.#recent = new RecentEvents(limits.recentEvents, start.seq, start.recent);
    this.#older = older;
    this.#maxUnread = limits.unreadEvents;
    this.snapshots = new SharedSnapshots(limits.sharedSnapshotBytes);
    this.#rowsPerSlice = limits.rowsPerSlice;
  }

  /** The valid quotes, after the events published so far. */
  get book(): CommittedBook {
    this.#catchUp();
    return this.#book;
  }

  get quotes(): QuoteTopics {
    this.#catchUp();
    return this.#quotes;
  }

  get levels(): LevelTopics {
    this.#catchUp();
    return this.#levels;
  }

  get covers(): CoverTopics {
    this.#catchUp();
    return this.#covers;
  }

  get tickerTopics(): TickerTopics {
    this.#catchUp();
    return this.#tickerTopics;
  }

  get trades(): TradeTopics {
    this.#catchUp();
    return this.#trades;
  }

  /** Number of the last event of the last record that was published completely. */
  get seq(): number {
    return this.#seq;
  }

  /** Engine time of that record, milliseconds. */
  get tsMs(): number {
    return this.#tsMs;
  }

  /** As the events published so far leave them. */
  get tickers(): Tickers {
    if (this.#tickerTopics.size === 0) this.#refreshTickers(this.#seq);
    return this.#tickers;
  }

  /** Every event with a greater number can be read again. */
  get since(): number {
    return Math.min(this.#recent.since, this.#older?.since ?? Infinity);
  }

  /**
   * Takes the records of one commit, in order, in the tick of that commit. Those from before the start are in it
   * already.
   */
  onRecords(records: readonly JournalRecord[]): void {
    for (const { stamp, events } of records) if (stamp.index > this.#index) this.#onRecord(events, stamp);
  }

  /** Null: a reader that has everything up to `fromSeq` can go on from there. */
  validateResume(epoch: string, fromSeq: number): ResyncReason | null {
    if (epoch !== this.epoch) return 'OTHER_EPOCH';
    if (fromSeq > this.#seq) return 'NOT_YET';
    return fromSeq < this.since ? 'TOO_OLD' : null;
  }

  /**
   * Published events after `afterSeq`, oldest first, at most `limit`: synchronously from memory, else from the log.
   */
  read(afterSeq: number, limit: number): readonly TimedEvent[] | null | Promise<PastEventsPage> {
    const publishedOnly = (events: readonly TimedEvent[]) => events.filter(({ event }) => event.seq <= this.#seq);
    const recent = this.#recent.read(afterSeq, limit);
    if (recent !== null) return publishedOnly(recent);
    if (this.#older === null) return null;
    return this.#older
      .read(afterSeq, limit, this.#index)
      .then((page) => (page === null || page === 'BUSY' ? page : publishedOnly(page)));
  }

  /** Tickers that there are. */
  get tickerCount(): number {
    return this.#tickers.size;
  }

  *tickerPools(): Generator<Pool, undefined> {
    for (const { pool } of this.tickers.all()) yield pool;
    return undefined;
  }

  /** Pools whose tickers are followed. */
  *followedTickerPools(): Generator<Pool, undefined> {
    if (this.#tickerTopics.size === 0) return undefined;
    for (const pool of this.tickerPools()) if (this.#tickerTopics.isFollowed(pool.poolAddress)) yield pool;
    return undefined;
  }

  /** Of the pools that are known, in 1e-18; publishes the tickers that it changes. It is no event and has no number. */
  showOpenInterest(sizes: ReadonlyMap<Hex, bigint>): void {
    this.#tickers.setOpenInterest(sizes);
    this.#refreshTickers(this.#seq);
  }

  /** JSON text of the answer of GET /tickers, of the moment of its first piece, with the tickers in each piece. */
  *tickersJson(
    more?: (ticker: Ticker) => object,
  ): Generator<{ readonly rows: number; readonly text: string }, undefined> {
    const tickers = [...this.tickers.all()];
    const write = more === undefined ? tickerJson : (ticker: Ticker) => ({ ...tickerJson(ticker), ...more(ticker) });
    const head: Omit<TickersResult, 'tickers'> = { epoch: this.epoch, seq: this.#seq, tsMs: this.#tsMs };
    yield { rows: 0, text: `${JSON.stringify(head).slice(0, -1)},"tickers":[` };
    for (let start = 0; start < tickers.length; start += this.#rowsPerSlice) {
      const slice = tickers.slice(start, start + this.#rowsPerSlice);
      const text = JSON.stringify(slice.map(write)).slice(1, -1);
      yield { rows: slice.length, text: start > 0 ? `,${text}` : text };
    }
    yield { rows: 0, text: ']}' };
    return undefined;
  }

  #onRecord(events: JournalRecord['events'], { index, tsMs }: Stamp): void {
    const followed = [this.#quotes, this.#levels, this.#covers, this.#tickerTopics, this.#trades];
    const isFollowed = followed.some(({ size }) => size > 0);
    for (const event of events) {
      const timed = { event, tsMs };
      this.#recent.push(timed);
      if (isFollowed) this.#take(timed);
      else this.#unread.push(timed);
    }
    if (this.#unread.length >= this.#maxUnread) this.#catchUp();
    this.#index = index;
    const last = events.at(-1);
    this.#recordMs = tsMs;
    const isDue = this.#tickerTopics.size > 0 || tsMs >= this.#tickersMs + UNFOLLOWED_TICKERS_MS;
    if (isDue) this.#refreshTickers(last?.seq ?? this.#seq);
    if (last === undefined) return;
    this.#levels.flush(last.seq, tsMs);
    this.#covers.flush(last.seq, tsMs);
    this.#seq = last.seq;
    this.#tsMs = tsMs;
  }

  #catchUp(): void {
    if (this.#unread.length === 0) return;
    const unread = this.#unread;
    this.#unread = [];
    for (const timed of unread) this.#take(timed);
  }

  #take(timed: TimedEvent): void {
    const { event, tsMs } = timed;
    const change = this.#book.apply(event);
    this.#quotes.publish(timed, change);
    this.#trades.publish(timed);
    if (change !== null) {
      this.#levels.touch(change);
      this.#covers.touch(change);
    }
    this.#tickers.touch(event, change, tsMs);
  }

  /** `seq`: number of the last event that they show. */
  #refreshTickers(seq: number): void {
    this.#catchUp();
    this.#tickersMs = this.#recordMs;
    this.#tickerTopics.publish(this.#tickers.flush(this.#recordMs), seq, this.#recordMs);
  }
}
