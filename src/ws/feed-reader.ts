import type { Hex } from '../engine/quote.js';
import type { TimedEvent } from '../feed/event-history.js';
import type { Encoding } from '../feed/event-messages.js';
import type { ResyncReason } from '../feed/feed.js';
import type { CoverRequest, TradeSelection } from '../feed/filters.js';
import { type Filter, type FilterPart, filterParts } from '../feed/filters.js';
import { orderbookKey } from '../feed/level-topics.js';
import type { LevelView } from '../feed/level-window.js';
import { LevelReplay, QuoteReplay } from '../feed/replay.js';
import { validateSnapshotSize } from '../feed/snapshots.js';
import { emptyTicker, type Ticker, tickerJson, tickerKey } from '../feed/tickers.js';
import { TradeReplay, tradesKey } from '../feed/trade-topics.js';
import { CloseCode } from '../net/net.js';
import { rowsChargedForReading } from '../system/paced-work.js';
import type { Resync } from '../wire/feed-messages.js';
import type { Channel, FeedChannel } from '../wire/socket.js';
import type { ReaderPace } from './catch-up.js';
import { FollowedChannels, type FollowedChannelsPorts } from './channels.js';
import type { MessageProblem } from './messages.js';
import type { FeedReaderLimits } from './ports.js';

/** Where a reader resumes: it has every event up to `fromSeq` of the log `epoch`. */
export interface ResumePoint {
  readonly epoch: string;
  readonly fromSeq: number;
}

export interface FeedReaderPorts extends FollowedChannelsPorts {
  readonly limits: FeedReaderLimits;
}

/** How a reader of quotes begins. */
export interface FollowStart {
  readonly resume: ResumePoint | null;
  /** Null: not given; the reader gets a snapshot only if it cannot resume. */
  readonly wantsSnapshot: boolean | null;
}

/** An acknowledged subscription: every event after `seq` follows. */
export interface Acknowledged {
  readonly channel: FeedChannel;
  readonly keys: readonly string[];
  readonly seq: number;
}

/** Acknowledges a subscription before its first message; false if the socket can no longer send. */
export type Acknowledge = (acknowledged: Acknowledged) => boolean;

/** Starts or resumes one socket's subscriptions to the feed. */
export class FeedReader {
  readonly #ports: FeedReaderPorts;
  readonly followed: FollowedChannels;

  constructor(ports: FeedReaderPorts) {
    this.#ports = ports;
    this.followed = new FollowedChannels(ports);
  }

  /** Follows QUOTES or RFQ. Returns null, or the problem that left everything as it was. */
  follow(
    channel: Channel,
    filter: Filter,
    { resume, wantsSnapshot }: FollowStart,
    acknowledge: Acknowledge,
  ): MessageProblem | null {
    const { feed, encoding, limits, pace } = this.#ports;
    const parts = filterParts(channel, feed.chainId, filter);
    const keys = parts.map(({ key }) => key);
    const resyncReason = resume && feed.validateResume(resume.epoch, resume.fromSeq);
    const { seq, tsMs } = feed;
    const isAnew = resume === null ? wantsSnapshot === true : resyncReason !== null && wantsSnapshot !== false;
    const snapshot =
      channel === 'QUOTES' && isAnew
        ? feed.snapshots.take(feed.book, filter, parts, { seq, tsMs, pageQuotes: limits.wsSnapshotPageQuotes })
        : null;
    pace.charge(snapshot?.rowsRead ?? 0, 0);
    const problem = snapshot && validateSnapshotSize(snapshot, limits.wsSnapshotQuotes);
    if (problem !== null) return { code: 'snapshot_too_large', message: problem };
    this.followed.drop(channel);
    const start = resume !== null && resyncReason === null ? resume.fromSeq : seq;
    if (!acknowledge({ channel, keys, seq: start })) return null;
    if (resyncReason !== null) this.#resync(channel, keys, resyncReason);
    const replay = new QuoteReplay(channel, filter, parts, start);
    this.followed.catchUp(channel, start, {
      first: charged(snapshot?.messages(encoding) ?? [], pace),
      isAnew: snapshot !== null,
      missed: {
        take: chargedTake(replay, encoding, pace),
        lose: (reason) => this.#startAnew(channel, filter, keys, { reason, wantsSnapshot: wantsSnapshot !== false }),
      },
      arrive: () => {
        if (channel === 'QUOTES') pace.charge(rowsChargedForReading(feed.book.candidates(filter)), 0);
        const join = (part: FilterPart) =>
          feed.quotes.join(channel, filter, part, encoding.name, replay.lastSeq(part.key));
        this.followed.goLive(channel, parts.map(join));
      },
    });
    return null;
  }

  followBook(view: LevelView, resume: ResumePoint | null, acknowledge: Acknowledge): void {
    const { feed, encoding, pace } = this.#ports;
    const keys = [orderbookKey(feed.chainId, view)];
    const resyncReason = resume && feed.validateResume(resume.epoch, resume.fromSeq);
    this.followed.drop('ORDERBOOK');
    const start = resume !== null && resyncReason === null ? resume.fromSeq : feed.seq;
    if (!acknowledge({ channel: 'ORDERBOOK', keys, seq: start })) return;
    if (resyncReason !== null) this.#resync('ORDERBOOK', keys, resyncReason);
    if (resume === null || resyncReason !== null) return this.#showBook(view);
    const replay = new LevelReplay(view);
    const lose = (reason: ResyncReason): void => {
      this.followed.drop('ORDERBOOK');
      this.#resync('ORDERBOOK', keys, reason);
      this.#showBook(view);
    };
    this.followed.catchUp('ORDERBOOK', start, {
      first: [].values(),
      isAnew: false,
      missed: {
        take(events) {
          replay.take(events);
          pace.charge(rowsChargedForReading(events.length), 0);
          // The update would have at least as many levels: stop reading.
          if (replay.size > feed.levels.mostInUpdate(view)) lose('TOO_OLD');
          return [];
        },
        lose,
      },
      arrive: () => {
        const at = replay.firstSeq === null ? start : feed.seq;
        pace.charge(feed.levels.rowsOf(view), 0);
        const joined = feed.levels.join(view, encoding.name, at, feed.tsMs);
        if (replay.firstSeq !== null) {
          const { seq, tsMs } = feed;
          const missed = feed.levels.catchUp(joined, replay.prices, {
            fromSeq: start,
            from: replay.firstSeq,
            seq,
            tsMs,
          });
          if (missed.body.bids.length + missed.body.asks.length > feed.levels.mostInUpdate(view)) {
            joined.leave();
            return lose('TOO_OLD');
          }
          this.#sendCharged(encoding.message(missed));
        }
        this.followed.goLive('ORDERBOOK', [joined]);
      },
    });
  }

  /**
   * Null: every pool's ticker. Each message is a whole ticker, so that what was missed is made up for by the newest.
   */
  followTickers(poolAddress: Hex | null, acknowledge: Acknowledge): void {
    const { feed, encoding, limits, pace } = this.#ports;
    const key = tickerKey(feed.chainId, poolAddress);
    this.followed.drop('TICKER');
    const { seq, tsMs } = feed;
    if (!acknowledge({ channel: 'TICKER', keys: [key], seq })) return;
    const followed = (): Ticker[] =>
      [...feed.tickers.all()].filter(({ pool }) => poolAddress === null || pool.poolAddress === poolAddress);
    const shown = new Set(followed());
    const send = (ticker: Ticker): void => {
      const body = tickerJson(ticker);
      this.followed.send(encoding.message({ type: 'TICKER', key, seq: feed.seq, tsMs: feed.tsMs, body }));
    };
    function* tickerMessages(): Generator<Written> {
      for (const { tickers, more } of tickerPages([...shown], limits.wsSnapshotPageTickers)) {
        const body = tickers.map(tickerJson);
        const message = encoding.message({ type: 'TICKER_SNAPSHOT', key, seq, tsMs, more, body });
        yield { rows: tickers.length, message };
      }
    }
    this.followed.catchUp('TICKER', seq, {
      first: charged(tickerMessages(), pace),
      // A FILTER always gets all of them.
      isAnew: false,
      missed: null,
      arrive: () => {
        for (const ticker of followed()) if (!shown.has(ticker)) send(ticker);
        // Pools that left the book while the reader was on its way: their tickers are empty now.
        for (const { pool } of shown) if (feed.tickers.get(pool.poolAddress) === undefined) send(emptyTicker(pool));
        this.followed.goLive('TICKER', [feed.tickerTopics.join(poolAddress, encoding.name)]);
      },
    });
  }

  /** Each message is a whole cover. Returns null, or the problem that left everything as it was. */
  followCover(request: CoverRequest, acknowledge: Acknowledge): MessageProblem | null {
    const { feed, encoding, pace } = this.#ports;
    const key = feed.covers.keyOf(request);
    if (!feed.covers.hasRoom(request)) {
      return { code: 'too_many_covers', message: 'Too many covers are followed: try again later' };
    }
    this.followed.drop('COVER');
    if (!acknowledge({ channel: 'COVER', keys: [key], seq: feed.seq })) return null;
    this.followed.catchUp('COVER', feed.seq, {
      first: [].values(),
      isAnew: false,
      missed: null,
      arrive: () => {
        const joined = feed.covers.join(request, encoding.name);
        const cover = feed.covers.coverOf(request);
        pace.charge(1 + cover.legs.length, 0);
        this.#sendCharged(encoding.cover({ key, seq: feed.seq, tsMs: feed.tsMs, cover }));
        this.followed.goLive('COVER', [joined]);
      },
    });
    return null;
  }

  followTrades(selection: TradeSelection, resume: ResumePoint | null, acknowledge: Acknowledge): void {
    const { feed, encoding, pace } = this.#ports;
    const key = tradesKey(feed.chainId, selection);
    const resyncReason = resume && feed.validateResume(resume.epoch, resume.fromSeq);
    this.followed.drop('TRADES');
    const start = resume !== null && resyncReason === null ? resume.fromSeq : feed.seq;
    if (!acknowledge({ channel: 'TRADES', keys: [key], seq: start })) return;
    if (resyncReason !== null) this.#resync('TRADES', [key], resyncReason);
    const replay = new TradeReplay(key, selection, start);
    this.followed.catchUp('TRADES', start, {
      first: [].values(),
      isAnew: false,
      missed: {
        take: chargedTake(replay, encoding, pace),
        lose: (reason) => {
          this.followTrades(selection, null, () => {
            this.#resync('TRADES', [key], reason);
            return true;
          });
        },
      },
      arrive: () => this.followed.goLive('TRADES', [feed.trades.join(selection, encoding.name, replay.lastSeq)]),
    });
  }

  /** Sends the book as it is once the reader has room for it. */
  #showBook(view: LevelView): void {
    const { feed, encoding, pace } = this.#ports;
    this.followed.catchUp('ORDERBOOK', feed.seq, {
      first: [].values(),
      isAnew: true,
      missed: null,
      arrive: () => {
        pace.charge(feed.levels.rowsOf(view), 0);
        const joined = feed.levels.join(view, encoding.name, feed.seq, feed.tsMs);
        this.#sendCharged(encoding.message(feed.levels.snapshot(joined, feed.seq, feed.tsMs)));
        this.followed.goLive('ORDERBOOK', [joined]);
      },
    });
  }

  #sendCharged(message: Uint8Array): void {
    this.#ports.pace.charge(0, message.length);
    this.followed.send(message);
  }

  /** It fell further behind than events are kept. */
  #startAnew(
    channel: Channel,
    filter: Filter,
    keys: readonly string[],
    { reason, wantsSnapshot }: { readonly reason: ResyncReason; readonly wantsSnapshot: boolean },
  ): void {
    const acknowledge = (): boolean => {
      this.#resync(channel, keys, reason);
      return true;
    };
    const refusal = this.follow(channel, filter, { resume: null, wantsSnapshot }, acknowledge);
    if (refusal !== null) this.#ports.socket.close(CloseCode.tryAgainLater, 'Too slow, and too much to start anew');
  }

  #resync(channel: FeedChannel, keys: readonly string[], reason: ResyncReason): void {
    const { feed, encoding } = this.#ports;
    const resync: Resync = { type: 'RESYNC', channel, keys: [...keys], seq: feed.seq, epoch: feed.epoch, reason };
    this.followed.send(encoding.message(resync));
  }
}

/** At least one, so that a reader knows when it has them all. */
function* tickerPages(
  tickers: readonly Ticker[],
  pageSize: number,
): Generator<{ readonly tickers: readonly Ticker[]; readonly more: boolean }> {
  for (let start = 0; start === 0 || start < tickers.length; start += pageSize) {
    yield { tickers: tickers.slice(start, start + pageSize), more: start + pageSize < tickers.length };
  }
}

interface Written {
  readonly rows: number;
  readonly message: Uint8Array;
}

/** Writes the messages of missed events, and charges the reader for them. */
function chargedTake(
  replay: QuoteReplay | TradeReplay,
  encoding: Encoding,
  pace: ReaderPace,
): (events: readonly TimedEvent[]) => Uint8Array[] {
  return (events) => {
    const messages = replay.take(events, encoding);
    const bytes = messages.reduce((sum, { length }) => sum + length, 0);
    pace.charge(messages.length + rowsChargedForReading(events.length), bytes);
    return messages;
  };
}

/** Each message is charged when it is written. */
function* charged(written: Iterable<Written>, pace: ReaderPace): Generator<Uint8Array, undefined> {
  for (const { rows, message } of written) {
    pace.charge(rows, message.length);
    yield message;
  }
  return undefined;
}
