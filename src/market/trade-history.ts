import type { EngineEvent } from '../engine/event.js';
import type { Clock, JournalRecord } from '../engine/ports.js';
import { type EventHistory, missingThrough, type TimedEvent } from '../feed/event-history.js';
import { yieldToEventLoop } from '../system/timers.js';
import { TradeStore } from './trade-store.js';

const DAY_SECONDS = 86_400;

export interface TradeHistoryLimits {
  readonly tradesKept: number;
  readonly tradeDays: number;
  /** Groups of records that are read in one turn of the event loop. */
  readonly pastGroupsPerTurn: number;
}

/**
 * The trades of the log: those from before the start are read from it while the service goes on, later ones come with
 * the committed records. So the log stays their one source, and each gateway has them from its own replica.
 */
export class TradeHistory {
  readonly store: TradeStore;
  readonly #limits: TradeHistoryLimits;
  /** Events since the start, while those before it are read; null: they are in the store. */
  #waiting: EngineEvent[] | null = [];

  constructor(limits: TradeHistoryLimits) {
    this.#limits = limits;
    this.store = new TradeStore(limits.tradesKept, limits.tradeDays * DAY_SECONDS);
  }

  /** The store has the trades of the log. */
  get isComplete(): boolean {
    return this.#waiting === null;
  }

  /** Takes the records of one commit, in order. */
  onRecords(records: readonly JournalRecord[]): void {
    for (const { events } of records) {
      for (const event of events) {
        if (event.type !== 'TRADE_RECORDED' && event.type !== 'TRADES_UNDONE') continue;
        if (this.#waiting === null) this.store.apply(event);
        else this.#waiting.push(event);
      }
    }
    const last = records.at(-1);
    if (last !== undefined) this.store.expire(Math.floor(last.stamp.tsMs / 1000));
  }

  /** Reads what the log has up to the start. Rejects when the log cannot be read. */
  async readPast(
    history: Pick<EventHistory, 'readSince' | 'since'> | null,
    start: { readonly index: number; readonly tsMs: number },
    clock: Pick<Clock, 'after'>,
    isStopped: () => boolean,
  ): Promise<void> {
    const { pastGroupsPerTurn, tradeDays } = this.#limits;
    const sinceMs = start.tsMs - tradeDays * DAY_SECONDS * 1000;
    let groups = 0;
    let first: TimedEvent | undefined;
    for await (const events of history?.readSince(sinceMs, start.index) ?? []) {
      if (isStopped()) return;
      first ??= events[0];
      for (const { event } of events) this.store.apply(event);
      groups += 1;
      if (groups % pastGroupsPerTurn === 0) await yieldToEventLoop(clock);
    }
    const missing = history === null ? null : missingThrough(first, history);
    if (missing !== null) this.store.lose(missing);
    for (const event of this.#waiting ?? []) this.store.apply(event);
    this.#waiting = null;
  }
}
