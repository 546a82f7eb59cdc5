import type { EngineEvent } from '../engine/event.js';
import type { Clock } from '../engine/ports.js';
import { yieldToEventLoop } from '../system/timers.js';
import type { EventHistory } from './event-history.js';
import { FillWindow } from './fill-window.js';
import type { Tickers } from './tickers.js';
import { TradeVolume } from './trade-volume.js';

const DAY_MS = 24 * 60 * 60_000;

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
  isStopped(): boolean;
}

/**
 * Counts the fills and trades of the last 24 hours before the start, from the log, while the service goes on. Apart from those
 * that come meanwhile, of which a reorg before the start says nothing.
 */
export async function readPastFills(options: PastFillsOptions): Promise<void> {
  const { history, tickers, start, clock, groupsPerTurn } = options;
  const fills = new FillWindow(options.recentFills);
  const trades = new TradeVolume(options.tradesKept);
  let groups = 0;
  for await (const events of history.readSince(start.tsMs - DAY_MS, start.index)) {
    if (options.isStopped()) return;
    for (const { event, tsMs } of events) {
      count(fills, event, tsMs);
      if (event.type === 'TRADE_RECORDED' || event.type === 'TRADES_UNDONE') trades.apply(event);
    }
    groups += 1;
    if (groups % groupsPerTurn === 0) await yieldToEventLoop(clock);
  }
  tickers.addPast(fills, trades);
}

function count(fills: FillWindow, event: EngineEvent, tsMs: number): void {
  if (!('order' in event)) return;
  const { pool, quoteId, size } = event.order.quote;
  switch (event.type) {
    case 'QUOTE_POSTED':
    case 'QUOTE_RESTORED':
      return fills.enter(pool.poolAddress, quoteId, size - event.fillableSize);
    case 'QUOTE_RESTATED':
    case 'WITHDRAWN_QUOTE_RESTATED':
      return fills.restate(event.order.quote, event.fillableSize, null, tsMs);
    case 'QUOTE_FILLED':
    case 'WITHDRAWN_QUOTE_FILLED':
      return fills.fill(pool.poolAddress, quoteId, event.size, size - event.fillableSize - event.size, tsMs);
    case 'QUOTE_REMOVED':
    case 'QUOTE_INVALIDATED':
    case 'QUOTE_REVALIDATED':
    case 'QUOTE_WITHDRAWN':
      return;
  }
}
