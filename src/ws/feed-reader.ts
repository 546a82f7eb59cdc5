import type { Encoding } from '../feed/encoding.js';
import { hashText } from '../feed/book-hash.js';
import type { ResyncReason } from '../feed/feed.js';
import { orderbookKey, type Laggard } from '../feed/level-topics.js';
import type { LevelView } from '../feed/level-window.js';
import type { JoinedTopic } from '../feed/quote-topics.js';
import { tickerKey } from '../feed/ticker-topics.js';
import { emptyTicker, tickerJson, type Ticker } from '../feed/tickers.js';
import { takeSnapshot } from '../feed/quotes-snapshot.js';
import { LevelReplay, QuoteReplay } from '../feed/replay.js';
import { filterParts, type Channel, type Filter, type FilterPart } from '../feed/topics.js';
import type { Hex } from '../engine/quote.js';
import type { FeedChannel, Heartbeat, Resync } from '../schema/socket-v2.js';
import { CatchUp, type CatchUpLimits, type CatchUpPorts } from './catch-up.js';

/** Where a reader goes on: it has everything up to `fromSeq` of that log. */
export interface ResumePoint {
  readonly epoch: string;
  readonly fromSeq: number;
}

export interface FeedReaderLimits extends CatchUpLimits {
  readonly wsSnapshotQuotes: number;
  readonly wsSnapshotPageQuotes: number;
  readonly wsSnapshotPageTickers: number;
}

export interface FeedReaderPorts extends Omit<CatchUpPorts, 'isBinary'> {
  readonly encoding: Encoding;
  readonly limits: FeedReaderLimits;
}

/** What a channel's reader is doing: on its way to the present, there, or there and too slow for every update. */
type Following =
  | { readonly phase: 'CATCHING_UP'; readonly catchUp: CatchUp; readonly sentSeq: () => number }
  | { readonly phase: 'LIVE'; readonly topics: readonly JoinedTopic[] }
  | { readonly phase: 'LAGGING'; readonly topics: readonly [JoinedTopic]; readonly laggard: Laggard };

/** A subscription as it is acknowledged: everything after `seq` follows. */
export interface Acknowledged {
  readonly channel: FeedChannel;
  readonly keys: readonly string[];
  readonly seq: number;
}

/** Said to the reader before anything else of a subscription; false when it can't be told any more. */
export type Acknowledge = (acknowledged: Acknowledged) => boolean;

/** What one socket follows of the feed. */
export class FeedReader {
  readonly #ports: FeedReaderPorts;
  readonly #following = new Map<FeedChannel, Following>();

  constructor(ports: FeedReaderPorts) {
    this.#ports = ports;
  }

  get channels(): number {
    return this.#following.size;
  }

  has(channel: FeedChannel): boolean {
    return this.#following.has(channel);
  }

  /** QUOTES and RFQ. Null, or why nothing was changed. */
  follow(
    channel: Channel,
    filter: Filter,
    { resume, wantsSnapshot }: { readonly resume: ResumePoint | null; readonly wantsSnapshot: boolean },
    acknowledge: Acknowledge,
  ): string | null {
    const { feed, encoding, limits } = this.#ports;
    const parts = filterParts(channel, feed.chainId, filter);
    const keys = parts.map(({ key }) => key);
    const whyNot = resume && feed.whyNotFrom(resume.epoch, resume.fromSeq);
    const { seq, tsMs } = feed;
    const needsSnapshot = channel === 'QUOTES' && (resume === null ? wantsSnapshot : whyNot !== null);
    const snapshot = needsSnapshot
      ? takeSnapshot(feed.book, filter, parts, { seq, tsMs, pageQuotes: limits.wsSnapshotPageQuotes })
      : null;
    if (snapshot !== null && snapshot.quotes > limits.wsSnapshotQuotes) {
      return `Too many quotes for a snapshot: ${snapshot.quotes}, at most ${limits.wsSnapshotQuotes}. Name a pool`;
    }
    this.drop(channel);
    const start = resume !== null && whyNot === null ? resume.fromSeq : seq;
    if (!acknowledge({ channel, keys, seq: start })) return null;
    if (whyNot !== null) this.#resync(channel, keys, whyNot);
    const replay = new QuoteReplay(channel, filter, parts, start);
    this.#catchUp(channel, start, {
      first: encoded(snapshot?.pages() ?? [], (page) => encoding.quotes(page)),
      take: (events) => replay.take(events, encoding),
      arrive: () => {
        const join = (part: FilterPart) =>
          feed.quotes.join(channel, filter, part, encoding.name, replay.lastSeq(part.key));
        this.#goLive(channel, parts.map(join));
      },
      lose: (reason) => this.#startAnew(channel, filter, keys, reason),
    });
    return null;
  }

  followBook(view: LevelView, resume: ResumePoint | null, acknowledge: Acknowledge): void {
    const { feed, encoding } = this.#ports;
    const keys = [orderbookKey(feed.chainId, view)];
    const whyNot = resume && feed.whyNotFrom(resume.epoch, resume.fromSeq);
    this.drop('ORDERBOOK');
    const start = resume !== null && whyNot === null ? resume.fromSeq : feed.seq;
    if (!acknowledge({ channel: 'ORDERBOOK', keys, seq: start })) return;
    if (whyNot !== null) this.#resync('ORDERBOOK', keys, whyNot);
    if (resume === null || whyNot !== null) return this.#showBook(view);
    const replay = new LevelReplay(view);
    this.#catchUp('ORDERBOOK', start, {
      first: encoded([], () => new Uint8Array()),
      take(events) {
        replay.take(events);
        return [];
      },
      arrive: () => {
        const at = replay.firstSeq === null ? start : feed.seq;
        const joined = feed.levels.join(view, encoding.name, at, feed.tsMs);
        if (replay.firstSeq !== null) {
          this.#send(encoding.message(feed.levels.catchUp(joined, replay.prices, start, replay.firstSeq, feed.seq)));
        }
        this.#goLive('ORDERBOOK', [joined]);
      },
      lose: (reason) => {
        this.#resync('ORDERBOOK', keys, reason);
        this.#showBook(view);
      },
    });
  }

  /**
   * Null: every pool's ticker. Each message is a whole ticker, so that what was missed is made up for by the newest.
   */
  followTickers(poolAddress: Hex | null, acknowledge: Acknowledge): void {
    const { feed, encoding, limits } = this.#ports;
    const key = tickerKey(feed.chainId, poolAddress);
    this.drop('TICKER');
    const { seq, tsMs } = feed;
    if (!acknowledge({ channel: 'TICKER', keys: [key], seq })) return;
    const followed = (): Ticker[] =>
      [...feed.tickers.all()].filter(({ pool }) => poolAddress === null || pool.poolAddress === poolAddress);
    const shown = new Set(followed());
    const tell = (ticker: Ticker): void => {
      const body = tickerJson(ticker);
      this.#send(encoding.message({ type: 'TICKER', key, seq: feed.seq, tsMs: feed.tsMs, body }));
    };
    const arrive = (): void => {
      for (const ticker of followed()) if (!shown.has(ticker)) tell(ticker);
      // What is not in the book any more was emptied while the reader was on its way.
      for (const { pool } of shown) if (feed.tickers.get(pool.poolAddress) === undefined) tell(emptyTicker(pool));
      this.#goLive('TICKER', [feed.tickerTopics.join(poolAddress, encoding.name)]);
    };
    this.#catchUp('TICKER', seq, {
      first: encoded(tickerPages([...shown], limits.wsSnapshotPageTickers), ({ tickers, more }) => {
        return encoding.message({ type: 'TICKER_SNAPSHOT', key, seq, tsMs, more, body: tickers.map(tickerJson) });
      }),
      take: () => [],
      arrive,
      lose: arrive,
    });
  }

  drop(channel: FeedChannel): void {
    this.#forget(channel, (topic) => this.#ports.socket.unsubscribe(topic));
  }

  /** The socket is gone, and its network topics with it. */
  end(): void {
    for (const channel of [...this.#following.keys()]) this.#forget(channel, () => undefined);
  }

  /** The reader has been sent everything up to here, on every channel. */
  get completeSeq(): number {
    const { feed } = this.#ports;
    let seq = feed.seq;
    for (const following of this.#following.values()) {
      if (following.phase === 'CATCHING_UP') seq = Math.min(seq, following.sentSeq());
      if (following.phase === 'LAGGING' && following.laggard.missedSeq !== null) {
        seq = Math.min(seq, following.laggard.sentSeq);
      }
    }
    return seq;
  }

  /** Hashes of the books followed, as they are after the last event; none while the reader is behind. */
  books(): Heartbeat['books'] {
    const { feed } = this.#ports;
    if (this.completeSeq < feed.seq) return [];
    return [...this.#following].flatMap(([channel, following]) => {
      if (following.phase === 'CATCHING_UP') return [];
      if (channel === 'TICKER') return [];
      return following.topics.flatMap((topic) => {
        const hash = channel === 'ORDERBOOK' ? feed.levels.hashOf(topic) : feed.quotes.hashOf(topic);
        return hash === null ? [] : [{ key: topic.key, hash: hashText(hash) }];
      });
    });
  }

  /** Takes a reader of ORDERBOOK that leaves too much unread off its updates, and back on once it has read. */
  look(): void {
    const { socket, feed, limits, encoding } = this.#ports;
    const following = this.#following.get('ORDERBOOK');
    if (following === undefined || following.phase === 'CATCHING_UP' || socket.closed) return;
    const buffered = socket.bufferedBytes();
    const [joined] = following.topics;
    if (following.phase === 'LIVE' && buffered > limits.wsSlowBytes) {
      socket.unsubscribe(joined.topic);
      this.#following.set('ORDERBOOK', { phase: 'LAGGING', topics: [joined], laggard: feed.levels.lag(joined) });
    } else if (following.phase === 'LAGGING' && buffered <= limits.wsSlowBytes / 2) {
      const missed = feed.levels.resume(following.laggard, feed.seq, feed.tsMs);
      if (missed !== null) this.#send(encoding.message(missed));
      this.#goLive('ORDERBOOK', [joined]);
    }
  }

  #catchUp(channel: FeedChannel, start: number, steps: ConstructorParameters<typeof CatchUp>[2]): void {
    const catchUp = new CatchUp({ ...this.#ports, isBinary: this.#ports.encoding.isBinary }, start, steps);
    // Of a book nothing is sent before everything that it missed is known.
    const sentSeq = () => (channel === 'ORDERBOOK' ? start : catchUp.at);
    this.#following.set(channel, { phase: 'CATCHING_UP', catchUp, sentSeq });
    catchUp.run();
  }

  #showBook(view: LevelView): void {
    const { feed, encoding } = this.#ports;
    const joined = feed.levels.join(view, encoding.name, feed.seq, feed.tsMs);
    this.#send(encoding.message(feed.levels.snapshot(joined, feed.seq, feed.tsMs)));
    this.#goLive('ORDERBOOK', [joined]);
  }

  /** It fell further behind than events are kept. */
  #startAnew(channel: Channel, filter: Filter, keys: readonly string[], reason: ResyncReason): void {
    const acknowledge = (): boolean => {
      this.#resync(channel, keys, reason);
      return true;
    };
    const refusal = this.follow(channel, filter, { resume: null, wantsSnapshot: true }, acknowledge);
    if (refusal !== null) this.#ports.socket.close(TRY_AGAIN_LATER, 'Too slow, and too much to start anew');
  }

  #resync(channel: FeedChannel, keys: readonly string[], reason: ResyncReason): void {
    const { feed, encoding } = this.#ports;
    const resync: Resync = { type: 'RESYNC', channel, keys: [...keys], seq: feed.seq, epoch: feed.epoch, reason };
    this.#send(encoding.message(resync));
  }

  #goLive(channel: FeedChannel, topics: readonly JoinedTopic[]): void {
    for (const { topic } of topics) this.#ports.socket.subscribe(topic);
    this.#following.set(channel, { phase: 'LIVE', topics });
  }

  #forget(channel: FeedChannel, unsubscribe: (topic: string) => void): void {
    const { feed } = this.#ports;
    const following = this.#following.get(channel);
    if (following === undefined) return;
    this.#following.delete(channel);
    if (following.phase === 'CATCHING_UP') return following.catchUp.stop();
    if (following.phase === 'LAGGING') feed.levels.forget(following.laggard);
    for (const joined of following.topics) {
      if (following.phase === 'LIVE') unsubscribe(joined.topic);
      if (channel === 'ORDERBOOK') feed.levels.leave(joined);
      else if (channel === 'TICKER') feed.tickerTopics.leave(joined);
      else feed.quotes.leave(joined);
    }
  }

  #send(message: Uint8Array): void {
    this.#ports.socket.send(message, this.#ports.encoding.isBinary);
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

function* encoded<T>(items: Iterable<T>, encode: (item: T) => Uint8Array): Generator<Uint8Array, undefined> {
  for (const item of items) yield encode(item);
  return undefined;
}

/** RFC 6455 / IANA. */
const TRY_AGAIN_LATER = 1013;
