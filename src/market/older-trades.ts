import type { Clock } from '../engine/ports.js';
import { type Logger, isMissing } from '../persistence/disk/disk.js';
import { spanOf, type TradeFilePart, type TradeFiles, type TradeSpan } from '../persistence/trades/trade-files.js';
import { yieldToEventLoop } from '../system/timers.js';
import type { TradeRecorder } from './trade-recorder.js';
import {
  comparePlaces,
  matchesTrade,
  type PlacedTrade,
  type TradeFilter,
  type TradePlace,
  TradeStore,
} from './trade-store.js';

export interface OlderTradesLimits {
  /** Pages that are read or wait. */
  readonly pastReads: number;
  /** Trades that are read in one turn of the event loop. */
  readonly pastGroupsPerTurn: number;
  /** Trades that one page reads, and what is left of one file. */
  readonly tradesSearched: number;
}

export interface OlderTradesOptions {
  readonly files: Pick<TradeFiles, 'parts' | 'readPart'>;
  readonly recorder: Pick<TradeRecorder, 'isWhole' | 'waiting'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly limits: OlderTradesLimits;
  readonly logger: Logger;
  /** A file has lost some: trades up to that Unix second may be missing, or undone. */
  readonly onLost: (throughSeconds: number) => void;
}

/** Trades that match, of places before `before`, the newest first. */
export interface TradePageRequest {
  readonly filter: TradeFilter;
  readonly before: TradePlace;
  readonly most: number;
}

export interface OlderTradePage {
  readonly trades: readonly PlacedTrade[];
  /** Where it ended before it had as many; null: there are no more than these, or as many were found. */
  readonly next: TradePlace | null;
  /** Trades that were read. */
  readonly read: number;
}

/** A stretch of the log's trade events. */
interface Part {
  readonly span: TradeSpan;
  /** Null: what is still to be written. */
  readonly file: TradeFilePart | null;
  /** Highest block of its trades and of all trades earlier in the log. */
  readonly reachesBlock: number;
}

/** One whose trades are being read. */
interface OpenPart {
  readonly trades: Iterator<PlacedTrade, undefined>;
  head: PlacedTrade;
}

const EVERY: TradeFilter = { poolAddress: null, isBuy: null, provider: null, taker: null, from: 0, to: Infinity };

/**
 * Trades that are no longer in memory, from their files. One page is read at a time, and one file is held in memory for
 * it: the pages after it are mostly of the same. Beside it are files whose blocks overlap, as after a late log.
 */
export class OlderTrades {
  readonly #options: OlderTradesOptions;
  #held: { readonly part: TradeFilePart; readonly trades: TradeStore } | null = null;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: OlderTradesOptions) {
    this.#options = options;
  }

  /** False: the files lack later trades, and it is not known what these undid. */
  get isWhole(): boolean {
    return this.#options.recorder.isWhole;
  }

  /** As of the moment of the call. BUSY: too many pages wait, or the files cannot be read. */
  async read(request: TradePageRequest): Promise<OlderTradePage | 'BUSY'> {
    const { recorder, limits } = this.#options;
    if (this.#waiting >= limits.pastReads) return 'BUSY';
    const waiting = recorder.waiting();
    const unwritten = new TradeStore(Infinity, Infinity);
    for (const event of waiting) unwritten.apply(event);
    const parts = this.#parts(spanOf(waiting), request.filter);
    this.#waiting += 1;
    const page = this.#last.then(() => this.#search(parts, unwritten, request));
    this.#last = page.catch(() => undefined);
    try {
      return await page;
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'trade file not read');
      return 'BUSY';
    } finally {
      this.#waiting -= 1;
    }
  }

  /** The latest in the log first, as far back as there may be trades of that time. */
  #parts(unwritten: TradeSpan, { from }: TradeFilter): Part[] {
    const files = this.#options.files.parts();
    // A block is no younger than the record that names it.
    const kept = files.filter(({ end }) => end.tsMs >= from * 1000).map((file) => ({ file, span: file.span }));
    const parts: Part[] = [];
    let reachesBlock = -1;
    for (const part of [{ file: null, span: unwritten }, ...kept].reverse()) {
      reachesBlock = Math.max(reachesBlock, part.span.highestBlock);
      parts.unshift({ ...part, reachesBlock });
    }
    return parts;
  }

  async #search(
    parts: readonly Part[],
    unwritten: TradeStore,
    { filter, before, most }: TradePageRequest,
  ): Promise<OlderTradePage> {
    const { clock, limits } = this.#options;
    const trades: PlacedTrade[] = [];
    const count = { read: 0 };
    let passed = 0;
    for await (const trade of this.#newest(parts, unwritten, filter, before, count)) {
      // A chain's timestamps never fall.
      if (trade.time < filter.from) break;
      if (matchesTrade(trade, filter)) trades.push(trade);
      count.read += 1;
      passed += 1;
      if (trades.length >= most) break;
      if (count.read >= limits.tradesSearched) return { trades, next: trade, read: count.read };
      if (passed % limits.pastGroupsPerTurn === 0) await yieldToEventLoop(clock);
    }
    return { trades, next: null, read: count.read };
  }

  /** Each trade that no later event undid, in the chain's order from `before` back, whatever that of the log. */
  async *#newest(
    parts: readonly Part[],
    unwritten: TradeStore,
    { to }: TradeFilter,
    before: TradePlace,
    count: { read: number },
  ): AsyncGenerator<PlacedTrade, undefined> {
    const open: OpenPart[] = [];
    let start = before;
    let last: TradePlace | null = null;
    for (let next = 0; ;) {
      const newest = newestOf(open);
      const part = parts[next];
      if (part !== undefined && part.reachesBlock >= (newest?.head.blockNumber ?? 0)) {
        next += 1;
        const { lowestBlock, lowestTime, lowestUndone } = part.span;
        if (lowestBlock <= start.blockNumber && lowestTime <= to) {
          const store = part.file === null ? unwritten : await this.#load(part.file, count);
          if (store === null) return;
          const trades = store.newest(EVERY, start);
          const head = trades.next().value;
          if (head !== undefined) open.push({ trades, head });
        }
        if (lowestUndone < start.blockNumber) start = { blockNumber: lowestUndone + 1, logIndex: 0 };
        continue;
      }
      if (newest === null) return;
      const trade = newest.head;
      const following = newest.trades.next().value;
      if (following === undefined) open.splice(open.indexOf(newest), 1);
      else newest.head = following;
      // One that comes twice is as the later event has it, whose part is before the other's.
      if (last !== null && comparePlaces(last, trade) === 0) continue;
      last = trade;
      yield trade;
    }
  }

  /** Null: the file has lost some. Rejects where it cannot be read. */
  async #load(part: TradeFilePart, count: { read: number }): Promise<TradeStore | null> {
    const { files, clock, limits } = this.#options;
    const held = this.#held;
    if (held?.part.number === part.number && held.part.end.seq === part.end.seq) return held.trades;
    this.#held = null;
    const trades = new TradeStore(Infinity, Infinity);
    const reading = files.readPart(part);
    let turn = 0;
    for (let read = await nextOf(reading); ; read = await nextOf(reading)) {
      // It was removed meanwhile: what was in it is older than trades are kept.
      if (read === null) return trades;
      if (read.done === true) {
        if (!read.value) {
          this.#options.onLost(Math.floor(part.end.tsMs / 1000));
          return null;
        }
        this.#held = { part, trades };
        return trades;
      }
      for (const event of read.value) trades.apply(event);
      count.read += read.value.length;
      turn += 1 + read.value.length;
      if (turn < limits.pastGroupsPerTurn) continue;
      turn = 0;
      await yieldToEventLoop(clock);
    }
  }
}

/** Null: the file is gone. */
async function nextOf<T, R>(reading: AsyncGenerator<T, R>): Promise<IteratorResult<T, R> | null> {
  try {
    return await reading.next();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The part with the newest head, the first of those with the same. */
function newestOf(open: readonly OpenPart[]): OpenPart | null {
  let newest: OpenPart | null = null;
  for (const part of open) if (newest === null || comparePlaces(part.head, newest.head) > 0) newest = part;
  return newest;
}
