import type { EngineEvent } from '../engine/event.js';
import type { Clock } from '../engine/ports.js';
import type { Hex, Pool } from '../engine/quote.js';
import { DAY_MS, yieldToEventLoop } from '../system/timers.js';
import { type EventHistory, missingThrough, type TimedEvent } from './event-history.js';
import { FillWindow } from './fill-window.js';
import type { Tickers } from './tickers.js';
import { TradeVolume } from './trade-volume.js';

export interface PastFillsOptions {
  readonly history: EventHistory;
  readonly tickers: Tickers;
  /** Where the service started: later fills arrive as events. */
  readonly start: { readonly index: number; readonly tsMs: number };
  readonly clock: Pick<Clock, 'after'>;
  /** Groups of records that are read in one turn of the event loop. */
  readonly groupsPerTurn: number;
  /** Filled quotes remembered for a reorg that takes their fills back. */
  readonly recentFills: number;
  /** Trades whose volume is counted. */
  readonly tradesKept: number;
  /** The trades of that day, where they are kept beside the log; absent: they are read from it, too. */
  readonly trades?: Promise<TradeVolume>;
  isStopped(): boolean;
}

/**
 * Counts the fills and trades of the last 24 hours before the start, from the log, while the service goes on. Apart from those
 * that come meanwhile, of which a reorg before the start says nothing.
 */
export async function readPastFills(options: PastFillsOptions): Promise<void> {
  const { history, tickers, start, clock, groupsPerTurn } = options;
  const day = new FilledDay(options);
  let first: TimedEvent | undefined;
  let groups = 0;
  for await (const events of history.readSince(start.tsMs - DAY_MS, start.index)) {
    if (options.isStopped()) return;
    first ??= events[0];
    for (const timed of events) day.count(timed);
    groups += 1;
    if (groups % groupsPerTurn === 0) await yieldToEventLoop(clock);
  }
  const missing = missingThrough(first, history);
  if (missing !== null) day.lose(missing);
  day.addTo(tickers, await options.trades);
}

/** The fills and trades of the day before a moment, from the events of that day in their order. */
export class FilledDay {
  readonly #fills: FillWindow;
  readonly #trades: TradeVolume;
  /** Fillable size of the valid quotes, as far as an event of the day has stated it, 1e-18 contracts. */
  readonly #fillable = new Map<Hex, bigint>();
  readonly #pools = new Map<Hex, Pool>();

  constructor({ recentFills, tradesKept }: Pick<PastFillsOptions, 'recentFills' | 'tradesKept'>) {
    this.#fills = new FillWindow(recentFills);
    this.#trades = new TradeVolume(tradesKept);
  }

  count({ event, tsMs }: TimedEvent): void {
    if (event.type === 'TRADE_RECORDED' || event.type === 'TRADES_UNDONE') this.#trades.apply(event);
    if (!('order' in event)) return;
    this.#count(event, tsMs);
    const { quoteId, pool } = event.order.quote;
    this.#pools.set(pool.poolAddress, pool);
    if (isValidAfter(event) && event.fillableSize > 0n) this.#fillable.set(quoteId, event.fillableSize);
    else this.#fillable.delete(quoteId);
  }

  /** Trades up to that Unix second may be missing: volumes are not known until they are older than a day. */
  lose(throughSeconds: number): void {
    this.#trades.lose(throughSeconds);
  }

  /** `trades`: in place of those that were counted. */
  addTo(tickers: Tickers, trades = this.#trades): void {
    tickers.addPast(this.#fills, trades, this.#pools.values());
  }

  #count(event: OrderEvent, tsMs: number): void {
    const { quote } = event.order;
    const { pool, quoteId, size } = quote;
    const fillableBefore = this.#fillable.get(quoteId);
    switch (event.type) {
      case 'QUOTE_POSTED':
      case 'QUOTE_RESTORED':
        return this.#fills.enter(pool.poolAddress, quoteId, size - event.fillableSize);
      case 'QUOTE_RESTATED':
      case 'WITHDRAWN_QUOTE_RESTATED': {
        const filledBefore = fillableBefore === undefined ? null : size - fillableBefore;
        return this.#fills.restate(quote, event.fillableSize, filledBefore, tsMs);
      }
      case 'QUOTE_FILLED':
      case 'WITHDRAWN_QUOTE_FILLED': {
        const filledBefore = size - event.fillableSize - event.size;
        return this.#fills.fill(pool.poolAddress, quoteId, event.size, filledBefore, tsMs);
      }
      case 'QUOTE_REMOVED':
      case 'QUOTE_INVALIDATED':
      case 'QUOTE_REVALIDATED':
      case 'QUOTE_WITHDRAWN':
        return;
    }
  }
}

type OrderEvent = Extract<EngineEvent, { readonly order: unknown }>;

/** The event leaves the quote in the book, and not among the invalid. */
function isValidAfter(event: OrderEvent): boolean {
  switch (event.type) {
    case 'QUOTE_POSTED':
    case 'QUOTE_RESTATED':
    case 'QUOTE_RESTORED':
      return event.reason === null;
    case 'QUOTE_FILLED':
      return event.valid;
    case 'QUOTE_REVALIDATED':
      return true;
    case 'QUOTE_REMOVED':
    case 'QUOTE_INVALIDATED':
    case 'QUOTE_WITHDRAWN':
    case 'WITHDRAWN_QUOTE_FILLED':
    case 'WITHDRAWN_QUOTE_RESTATED':
      return false;
  }
}
