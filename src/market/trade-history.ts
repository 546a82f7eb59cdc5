import type { EngineEvent } from '../engine/event.js';
import type { Clock, JournalRecord } from '../engine/ports.js';
import { type EventHistory, missingThrough, type TimedEvent } from '../feed/event-history.js';
import type { Logger } from '../persistence/disk/disk.js';
import { TradeVolume } from '../feed/trade-volume.js';
import type { TradeFiles, TradeLogEvent, TradePoint } from '../persistence/trades/trade-files.js';
import { DAY_MS, DAY_SECONDS, yieldToEventLoop } from '../system/timers.js';
import type { TradeRecorder } from './trade-recorder.js';
import { OlderTrades, type OlderTradesLimits } from './older-trades.js';
import { comparePlaces, type PlacedTrade, type TradeFilter, type TradePlace, TradeStore } from './trade-store.js';

export interface TradeHistoryLimits extends OlderTradesLimits {
  readonly tradesKept: number;
  readonly tradeDays: number;
  /** Groups of records, and trades, that are read in one turn of the event loop. */
  readonly pastGroupsPerTurn: number;
}

/** Where the trades of the log are kept besides. */
export interface KeptTrades {
  readonly files: Pick<TradeFiles, 'read' | 'through' | 'skipTo' | 'parts' | 'readPart'>;
  readonly recorder: Pick<TradeRecorder, 'add' | 'flush' | 'isWhole' | 'waiting'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
}

export interface TradePage {
  /** The newest first. */
  readonly trades: readonly PlacedTrade[];
  /** The page after it has the trades before this place; null: there are none. */
  readonly next: TradePlace | null;
  /** Trades that were read from files. */
  readonly read: number;
}

/** The engine as it was when its events began to come. */
export interface TradeHistoryStart extends TradePoint {
  readonly index: number;
}

interface TimedTrade extends TimedEvent {
  readonly event: TradeLogEvent;
}

/**
 * The trades of the log: those from before the start are read from files of their own while the service goes on, and
 * what these lack from the log; later ones come with the committed records. A gateway has no files: it reads them all
 * from its own replica of the log.
 */
export class TradeHistory {
  readonly store: TradeStore;
  readonly #limits: TradeHistoryLimits;
  readonly #kept: KeptTrades | null;
  readonly #older: OlderTrades | null;
  /** Events since the start, while those before it are read; null: they are in the store. */
  #waiting: TimedTrade[] | null = [];
  /** Of the last record that came, and how many came since the start. */
  #through: TradePoint | null = null;
  #records = 0;

  constructor(limits: TradeHistoryLimits, kept: KeptTrades | null = null) {
    this.#limits = limits;
    this.#kept = kept;
    this.store = new TradeStore(limits.tradesKept, limits.tradeDays * DAY_SECONDS);
    const onLost = (throughSeconds: number): void => this.store.lose(throughSeconds);
    this.#older = kept === null ? null : new OlderTrades({ ...kept, limits, onLost });
  }

  /** Unix seconds: pages have all trades from then on. */
  since(nowSeconds: number): number {
    return this.#older?.isWhole === true ? this.store.recordedSince(nowSeconds) : this.store.since(nowSeconds);
  }

  /**
   * Trades before `before`, at most `limit`, from memory and then from the files. Fewer with a `next` where many were
   * passed over. BUSY: too many requests wait for the files, or these cannot be read.
   */
  async page(
    filter: TradeFilter,
    before: TradePlace | null,
    limit: number,
    nowSeconds: number,
  ): Promise<TradePage | 'BUSY'> {
    const { store } = this;
    const older = this.#older?.isWhole === true ? this.#older : null;
    const dropped = older === null ? null : store.dropped;
    const found: PlacedTrade[] = [];
    for (const trade of store.newest(filter, before)) {
      if (found.length > limit || (dropped !== null && comparePlaces(trade, dropped) <= 0)) break;
      found.push(trade);
    }
    if (older === null || dropped === null || found.length > limit || filter.from >= store.since(nowSeconds)) {
      return pageOf(found, limit, null, 0);
    }
    const { blockNumber, logIndex } = dropped;
    const behind = { blockNumber, logIndex: logIndex + 1 };
    const rest = await older.read({
      filter: { ...filter, from: Math.max(filter.from, this.since(nowSeconds)) },
      before: before === null || comparePlaces(behind, before) < 0 ? behind : before,
      most: limit + 1 - found.length,
    });
    return rest === 'BUSY' ? rest : pageOf([...found, ...rest.trades], limit, rest.next, rest.read);
  }

  /** The store has the trades of the log. */
  get isComplete(): boolean {
    return this.#waiting === null;
  }

  /** Takes the records of one commit, in order. */
  onRecords(records: readonly JournalRecord[]): void {
    const trades: TimedTrade[] = [];
    for (const { events, stamp } of records) {
      for (const event of events) {
        this.#through = { seq: event.seq, tsMs: stamp.tsMs };
        if (isTrade(event)) trades.push({ event, tsMs: stamp.tsMs });
      }
    }
    if (this.#waiting === null) this.#take(trades, records.length);
    else {
      this.#records += records.length;
      for (const trade of trades) this.#waiting.push(trade);
    }
    const last = records.at(-1);
    if (last !== undefined) this.store.expire(Math.floor(last.stamp.tsMs / 1000));
  }

  /**
   * Reads what there is up to the start, and brings the files up to it. Resolves to the volume of the day before it.
   * Rejects when the log cannot be read.
   */
  async readPast(
    history: Pick<EventHistory, 'readSince' | 'since'> | null,
    start: TradeHistoryStart,
    clock: Pick<Clock, 'after'>,
    isStopped: () => boolean,
  ): Promise<TradeVolume> {
    const { pastGroupsPerTurn, tradesKept } = this.#limits;
    const volume = new TradeVolume(tradesKept);
    volume.expire(Math.floor(start.tsMs / 1000));
    let read = 0;
    for await (const part of this.#past(history, start)) {
      if (isStopped()) return volume;
      if (part.type === 'GAP') {
        this.store.restart(part.throughSeconds);
        volume.lose(part.throughSeconds);
        continue;
      }
      for (const event of part.events) {
        this.store.apply(event);
        volume.apply(event);
      }
      read += 1 + part.events.length;
      if (read < pastGroupsPerTurn) continue;
      read = 0;
      await yieldToEventLoop(clock);
    }
    this.store.expire(Math.floor(start.tsMs / 1000));
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    this.#take(waiting, this.#records);
    return volume;
  }

  #take(trades: readonly TimedTrade[], records: number): void {
    for (const { event } of trades) this.store.apply(event);
    if (this.#through !== null) this.#kept?.recorder.add(trades, this.#through, records);
  }

  async *#past(
    history: Pick<EventHistory, 'readSince' | 'since'> | null,
    start: TradeHistoryStart,
  ): ReturnType<TradeFiles['read']> {
    const { files } = this.#kept ?? {};
    if (files !== undefined) yield* files.read((afterSeq) => history !== null && history.since <= afterSeq);
    const known = files?.through ?? null;
    if (history === null) return;
    yield* known === null ? this.#wholeLog(history, start) : this.#logAfter(known, history, start);
  }

  /** As far back as trades are kept. */
  async *#wholeLog(
    history: Pick<EventHistory, 'readSince' | 'since'>,
    start: TradeHistoryStart,
  ): ReturnType<TradeFiles['read']> {
    const sinceMs = start.tsMs - this.#limits.tradeDays * DAY_MS;
    let first: TimedEvent | undefined;
    for await (const events of history.readSince(sinceMs, start.index)) {
      const [oldest] = events;
      if (first === undefined && oldest !== undefined) {
        first = oldest;
        const { seq } = oldest.event;
        const missing = missingThrough(oldest, history);
        if (missing !== null) yield { type: 'GAP', throughSeconds: missing };
        const before = missing === null ? Math.max(0, sinceMs) : oldest.tsMs;
        await this.#kept?.files.skipTo({ seq: seq - 1, tsMs: seq === 1 ? 0 : before });
      }
      yield* this.#read(events);
    }
    if (first === undefined) await this.#kept?.files.skipTo({ seq: start.seq, tsMs: start.seq === 0 ? 0 : start.tsMs });
    else await this.#bringTo(start);
  }

  async *#logAfter(
    known: TradePoint,
    history: Pick<EventHistory, 'readSince'>,
    start: TradeHistoryStart,
  ): ReturnType<TradeFiles['read']> {
    let { seq } = known;
    for await (const events of history.readSince(known.tsMs, start.index)) {
      const later = events.filter(({ event }) => event.seq > seq);
      const [first] = later;
      if (first === undefined) continue;
      if (first.event.seq > seq + 1) yield* this.#lose({ seq: first.event.seq - 1, tsMs: first.tsMs });
      seq = later.at(-1)?.event.seq ?? seq;
      yield* this.#read(later);
    }
    if (seq < start.seq) yield* this.#lose(start);
    else await this.#bringTo(start);
  }

  /** Neither the files nor the log have the events before this place. */
  async *#lose(point: TradePoint): ReturnType<TradeFiles['read']> {
    await this.#kept?.recorder.flush();
    await this.#kept?.files.skipTo(point);
    yield { type: 'GAP', throughSeconds: Math.floor(point.tsMs / 1000) };
  }

  async *#read(events: readonly TimedEvent[]): ReturnType<TradeFiles['read']> {
    const trades: TimedTrade[] = [];
    for (const { event, tsMs } of events) if (isTrade(event)) trades.push({ event, tsMs });
    const last = events.at(-1);
    if (last !== undefined && trades.length > 0) {
      this.#kept?.recorder.add(trades, { seq: last.event.seq, tsMs: last.tsMs }, 0);
      await this.#kept?.recorder.flush();
    }
    yield { type: 'EVENTS', events: trades.map(({ event }) => event) };
  }

  async #bringTo({ seq, tsMs }: TradePoint): Promise<void> {
    this.#kept?.recorder.add([], { seq, tsMs }, 0);
    await this.#kept?.recorder.flush();
  }
}

/** `end`: where the search ended before it had more than `limit`. */
function pageOf(found: readonly PlacedTrade[], limit: number, end: TradePlace | null, read: number): TradePage {
  const trades = found.slice(0, limit);
  return { trades, next: found.length > limit ? (trades.at(-1) ?? null) : end, read };
}

function isTrade(event: EngineEvent): event is TradeLogEvent {
  return event.type === 'TRADE_RECORDED' || event.type === 'TRADES_UNDONE';
}
