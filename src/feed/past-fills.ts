import type { Clock } from '../engine/ports.js';
import type { EventHistory } from './event-history.js';
import type { Tickers } from './tickers.js';

const DAY_MS = 24 * 60 * 60_000;

export interface PastFillsOptions {
  readonly history: EventHistory;
  readonly tickers: Tickers;
  /** Where the start was: later fills are told anyway. */
  readonly start: { readonly index: number; readonly tsMs: number };
  readonly clock: Pick<Clock, 'after'>;
  /** Groups of records that are read in one turn of the event loop. */
  readonly groupsPerTurn: number;
  isStopped(): boolean;
}

/** Counts the fills of the last 24 hours before the start, from the log, while the service goes on. */
export async function readPastFills(options: PastFillsOptions): Promise<void> {
  const { history, tickers, start, clock, groupsPerTurn } = options;
  let groups = 0;
  for await (const events of history.readSince(start.tsMs - DAY_MS, start.index)) {
    if (options.isStopped()) return;
    for (const { event, tsMs } of events) {
      if (event.type === 'QUOTE_FILLED') tickers.addPast(event.order.quote.pool, event.size, tsMs);
    }
    groups += 1;
    if (groups % groupsPerTurn === 0) await new Promise<void>((resolve) => clock.after(0, resolve));
  }
}
