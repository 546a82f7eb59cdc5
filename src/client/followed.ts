import type { Hex } from 'viem';
import type { CoverJson, TickerJson } from '../wire/feed-messages.js';
import type { TradeJson } from '../wire/market.js';
import { Emitter, type StopListening } from './emitter.js';
import { LevelBook } from './level-book.js';
import {
  type ReplicatedBook,
  type BookSnapshot,
  type BookUpdate,
  type ChannelState,
  type CoverEvent,
  isQuoteEvent,
  type QuoteEvent,
  type RfqEvent,
  type RfqUpdateEvent,
  type TradeEvent,
  type UndoTradesEvent,
} from './messages.js';
import { QuoteBook } from './quote-book.js';
import type { FollowState, ResyncCause, Subscription } from './subscription.js';

/** The common part of all followed channels. */
abstract class Followed {
  readonly #subscription: Subscription;
  readonly #close: () => void;

  /** `close`: gives the channel back to its connection. */
  constructor(subscription: Subscription, close: () => void) {
    this.#subscription = subscription;
    this.#close = close;
  }

  get state(): FollowState {
    return this.#subscription.state;
  }

  onState(listener: (state: FollowState) => void): StopListening {
    return this.#subscription.states.add(listener);
  }

  /** Called when the client begins to repair a gap or a wrong book; the state says when it is live again. */
  onResync(listener: (why: ResyncCause) => void): StopListening {
    return this.#subscription.resyncs.add(listener);
  }

  /** Resolves once it is live; rejects with the server's refusal, or when it is closed before. */
  whenLive(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (state: FollowState): void => {
        if (state === 'LIVE') resolve();
        else if (state === 'REFUSED' || state === 'CLOSED') reject(this.#subscription.refusal ?? new Error('Closed'));
        else return;
        stop();
      };
      const stop = this.onState(settle);
      settle(this.state);
    });
  }

  close(): void {
    this.#close();
  }

  /** Items that `source` emits, as an iterator that ends with the subscription. */
  protected async *iterate<T>(source: Emitter<T>): AsyncGenerator<T, void, void> {
    let waiting: T[] = [];
    const reader = { isTooSlow: false };
    let wake = (): void => undefined;
    const stopListening = source.add((item) => {
      if (waiting.length === MAX_WAITING) {
        reader.isTooSlow = true;
        waiting = [];
        stopListening();
      } else waiting.push(item);
      wake();
    });
    const stopState = this.onState(() => wake());
    try {
      for (;;) {
        const items = waiting;
        waiting = [];
        for (const item of items) {
          if (reader.isTooSlow) break;
          yield item;
        }
        if (reader.isTooSlow) throw new Error(`More than ${MAX_WAITING} events wait for their reader`);
        if (waiting.length > 0) continue;
        if (this.state === 'REFUSED') throw this.#subscription.refusal ?? new Error('Refused');
        if (this.state === 'CLOSED') return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stopListening();
      stopState();
    }
  }
}

/** Events that a slow `for await` loop may leave waiting. */
const MAX_WAITING = 100_000;

/** QUOTES as its messages add up. */
export class QuotesState implements ChannelState {
  readonly quotes = new QuoteBook();
  readonly events = new Emitter<QuoteEvent>();
  readonly wholes = new Emitter<QuoteBook>();
  readonly book: ReplicatedBook = {
    canResume: true,
    clear: () => this.quotes.clear(),
    takeSnapshot: (message) => {
      if (message.type !== 'QUOTES_SNAPSHOT') return 'WRONG';
      const { key, body, more, hash } = message;
      for (const quote of body) this.quotes.set(key, quote);
      if (more) return 'MORE';
      return this.quotes.hash(key) === hash ? 'WHOLE' : 'WRONG';
    },
    hash: (key) => this.quotes.hash(key),
    onWhole: () => this.wholes.emit(this.quotes),
  };

  apply(message: Parameters<ChannelState['apply']>[0]): void {
    if (!isQuoteEvent(message)) return;
    this.quotes.apply(message);
    this.events.emit(message);
  }
}

/** Every quote that a filter shows, and what happens to each. */
export class FollowedQuotes extends Followed {
  readonly #contents: QuotesState;

  constructor(contents: QuotesState, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  /** Whole only while the state is `LIVE`. */
  get book(): QuoteBook {
    return this.#contents.quotes;
  }

  /** The book is as after the event when the listener is called. */
  onEvent(listener: (event: QuoteEvent) => void): StopListening {
    return this.#contents.events.add(listener);
  }

  /**
   * For `for await`: each event from the loop's first step on. Ends when the subscription is closed; throws the server's
   * refusal, or an Error when more than 100,000 events wait. Leaving the loop stops the listening, not the subscription.
   */
  events(): AsyncGenerator<QuoteEvent, void, void> {
    return this.iterate(this.#contents.events);
  }

  /** The book was replaced by a snapshot, at the start and where events could not be had again. */
  onSnapshot(listener: (book: QuoteBook) => void): StopListening {
    return this.#contents.wholes.add(listener);
  }
}

/** QUOTES without a book. */
export class QuoteEventsState implements ChannelState {
  readonly book = null;
  readonly events = new Emitter<QuoteEvent>();

  apply(message: Parameters<ChannelState['apply']>[0]): void {
    if (isQuoteEvent(message)) this.events.emit(message);
  }
}

/** Events of quotes from now on, however many quotes there are. */
export class FollowedEvents extends Followed {
  readonly #contents: QuoteEventsState;
  /**
   * Follows the private quotes for this taker from now on, in place of those for another; null: public quotes alone. No
   * event of a public quote is lost or comes twice. A refused subscription stays refused.
   */
  readonly setTaker: (taker: Hex | '*' | null) => void;

  constructor(
    contents: QuoteEventsState,
    subscription: Subscription,
    close: () => void,
    setTaker: FollowedEvents['setTaker'],
  ) {
    super(subscription, close);
    this.#contents = contents;
    this.setTaker = setTaker;
  }

  onEvent(listener: (event: QuoteEvent) => void): StopListening {
    return this.#contents.events.add(listener);
  }

  /** For `for await`, as those of `FollowedQuotes`. */
  events(): AsyncGenerator<QuoteEvent, void, void> {
    return this.iterate(this.#contents.events);
  }
}

/** RFQ: requests come and are gone, and add up to nothing. */
export class RfqState implements ChannelState {
  readonly book = null;
  readonly requests = new Emitter<RfqEvent>();
  readonly updates = new Emitter<RfqUpdateEvent>();

  apply(message: Parameters<ChannelState['apply']>[0]): void {
    if (message.type === 'RFQ') this.requests.emit(message);
    else if (message.type === 'RFQ_UPDATE') this.updates.emit(message);
  }
}

/** Takers' requests for quotes. */
export class FollowedRfqs extends Followed {
  readonly #contents: RfqState;
  /**
   * Follows the requests addressed to this maker from now on, in place of those addressed to another; null: those for every
   * maker alone. No request for every maker is lost or comes twice. A refused subscription stays refused.
   */
  readonly setProvider: (provider: Hex | null) => void;

  constructor(
    contents: RfqState,
    subscription: Subscription,
    close: () => void,
    setProvider: FollowedRfqs['setProvider'],
  ) {
    super(subscription, close);
    this.#contents = contents;
    this.setProvider = setProvider;
  }

  onRfq(listener: (rfq: RfqEvent) => void): StopListening {
    return this.#contents.requests.add(listener);
  }

  /** Calls `listener` with each change of the requests: quotes that answer them, fills, and their end. */
  onUpdate(listener: (update: RfqUpdateEvent) => void): StopListening {
    return this.#contents.updates.add(listener);
  }
}

/** TRADES: what was traded before is in `rest.trades`. */
export class TradesState implements ChannelState {
  readonly book = null;
  readonly trades = new Emitter<TradeEvent>();
  readonly undone = new Emitter<UndoTradesEvent>();

  apply(message: Parameters<ChannelState['apply']>[0]): void {
    if (message.type === 'TRADE') this.trades.emit(message);
    else if (message.type === 'UNDO_TRADES') this.undone.emit(message);
  }
}

/** Fills on the settlement chain. After `onResync` some may be missing: `rest.trades` has them. */
export class FollowedTrades extends Followed {
  readonly #contents: TradesState;

  constructor(contents: TradesState, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  onTrade(listener: (trade: TradeJson, event: TradeEvent) => void): StopListening {
    return this.#contents.trades.add((event) => listener(event.body, event));
  }

  /** A reorg undid the trades of all blocks after `blockNumber`; those mined again follow as new ones. */
  onUndo(listener: (blockNumber: number, event: UndoTradesEvent) => void): StopListening {
    return this.#contents.undone.add((event) => listener(event.body.blockNumber, event));
  }
}

/** TICKER as its messages add up: of each pool the newest. */
export class TickersState implements ChannelState {
  readonly tickers = new Map<string, TickerJson>();
  readonly changes = new Emitter<TickerJson>();
  readonly wholes = new Emitter<ReadonlyMap<string, TickerJson>>();
  readonly book: ReplicatedBook = {
    canResume: false,
    clear: () => this.tickers.clear(),
    takeSnapshot: (message) => {
      if (message.type !== 'TICKER_SNAPSHOT') return 'WRONG';
      for (const ticker of message.body) this.tickers.set(ticker.poolAddress, ticker);
      return message.more ? 'MORE' : 'WHOLE';
    },
    hash: () => null,
    onWhole: () => this.wholes.emit(this.tickers),
  };

  apply(message: Parameters<ChannelState['apply']>[0]): void {
    if (message.type !== 'TICKER') return;
    this.tickers.set(message.body.poolAddress, message.body);
    this.changes.emit(message.body);
  }
}

/** Every pool at a glance: the best price of each side, and what was filled in 24 hours. */
export class FollowedTickers extends Followed {
  readonly #contents: TickersState;

  constructor(contents: TickersState, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  /** Undefined: the pool is not deployed, and has no quotes. */
  of(poolAddress: Hex): TickerJson | undefined {
    return this.#contents.tickers.get(poolAddress.toLowerCase());
  }

  /** In no order; pools that have expired since the last snapshot among them. */
  all(): Iterable<TickerJson> {
    return this.#contents.tickers.values();
  }

  onTicker(listener: (ticker: TickerJson) => void): StopListening {
    return this.#contents.changes.add(listener);
  }

  /** All tickers were replaced: at the start, and with every new connection. */
  onSnapshot(listener: () => void): StopListening {
    return this.#contents.wholes.add(listener);
  }
}

/** COVER: the newest message is the whole cover. */
export class CoverState implements ChannelState {
  readonly changes = new Emitter<CoverEvent>();
  cover: CoverEvent | null = null;
  readonly book: ReplicatedBook = {
    canResume: false,
    clear: () => {
      this.cover = null;
    },
    takeSnapshot: (message) => {
      if (message.type !== 'COVER') return 'WRONG';
      this.cover = message;
      return 'WHOLE';
    },
    hash: () => null,
    onWhole: () => {
      if (this.cover !== null) this.changes.emit(this.cover);
    },
  };

  apply(message: Parameters<ChannelState['apply']>[0]): void {
    if (message.type !== 'COVER') return;
    this.cover = message;
    this.changes.emit(message);
  }
}

/** The quotes that cover one size best, as they are now. */
export class FollowedCover extends Followed {
  readonly #contents: CoverState;

  constructor(contents: CoverState, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  /** Null unless the state is `LIVE`: before the first one, and while the connection is being replaced. */
  get cover(): CoverJson | null {
    return this.state === 'LIVE' ? (this.#contents.cover?.body ?? null) : null;
  }

  /** Called with the first cover, and whenever it changes. `seq`: number of the event that changed it. */
  onCover(listener: (cover: CoverJson, seq: number) => void): StopListening {
    return this.#contents.changes.add(({ body, seq }) => listener(body, seq));
  }
}

/** A change: a snapshot is the whole book, an update the levels that differ from before. */
export type BookChange = BookSnapshot | BookUpdate;

/** ORDERBOOK as its messages add up. */
export class LevelBookState implements ChannelState {
  readonly levels = new LevelBook();
  readonly changes = new Emitter<BookChange>();
  readonly book: ReplicatedBook = {
    canResume: true,
    clear: () => this.levels.clear(),
    takeSnapshot: (message) => {
      if (message.type !== 'ORDERBOOK_SNAPSHOT') return 'WRONG';
      this.levels.set(message.body);
      if (this.levels.hash !== message.levelsHash) return 'WRONG';
      this.#snapshot = message;
      return 'WHOLE';
    },
    hash: () => this.levels.hash,
    onWhole: () => {
      if (this.#snapshot !== null) this.changes.emit(this.#snapshot);
      this.#snapshot = null;
    },
  };
  #snapshot: BookSnapshot | null = null;

  apply(message: Parameters<ChannelState['apply']>[0]): void {
    if (message.type !== 'ORDERBOOK_UPDATE') return;
    this.levels.set(message.body);
    this.changes.emit(message);
  }
}

/** One pool's price levels, as they are now. */
export class FollowedBook extends Followed {
  readonly #contents: LevelBookState;

  constructor(contents: LevelBookState, subscription: Subscription, close: () => void) {
    super(subscription, close);
    this.#contents = contents;
  }

  /** Whole only while the state is `LIVE`. */
  get book(): LevelBook {
    return this.#contents.levels;
  }

  /** The book is as after the change when the listener is called. */
  onChange(listener: (change: BookChange) => void): StopListening {
    return this.#contents.changes.add(listener);
  }
}
