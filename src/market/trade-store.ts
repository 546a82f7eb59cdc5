import type { EngineEvent } from '../engine/event.js';
import type { Hex, Trade } from '../engine/quote.js';

/** A trade with its place on the settlement chain. */
export interface PlacedTrade extends Trade {
  readonly blockNumber: number;
  readonly txHash: Hex;
  readonly logIndex: number;
}

export interface TradeFilter {
  readonly poolAddress: Hex | null;
  /** Null: any. */
  readonly isBuy: boolean | null;
  readonly provider: Hex | null;
  readonly taker: Hex | null;
  /** Unix seconds, both included. */
  readonly from: number;
  readonly to: number;
}

export interface Candle {
  /** Unix seconds: its first. */
  readonly time: number;
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly close: bigint;
  /** 1e-18 contracts. */
  readonly volume: bigint;
  readonly count: number;
}

/** Where a page of trades ended. */
export type TradePlace = Pick<PlacedTrade, 'blockNumber' | 'logIndex'>;

/** Negative: `a` is before `b` on the chain. */
export function comparePlaces(a: TradePlace, b: TradePlace): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
}

/**
 * The newest trades in the chain's order, as the log's events name them. A trade that comes twice is one; a reorg takes
 * those of its blocks out until they are mined again.
 */
export class TradeStore {
  readonly #most: number;
  readonly #keptSeconds: number;
  /** Rising by block and log. */
  #trades: PlacedTrade[] = [];
  /** Unix seconds: of the newest trade that is not here, for want of room or because the log has lost it. */
  #lost = -1;
  /** The same, of those that the log has lost. */
  #gap = -1;
  #dropped: TradePlace | null = null;

  /** `most`: trades that are kept, none longer than `keptSeconds`. */
  constructor(most: number, keptSeconds: number) {
    this.#most = most;
    this.#keptSeconds = keptSeconds;
  }

  get size(): number {
    return this.#trades.length;
  }

  /** Unix seconds: trades from then on are all here. */
  since(nowSeconds: number): number {
    return Math.max(0, nowSeconds - this.#keptSeconds, this.#lost + 1);
  }

  /** Unix seconds: trades from then on are all here or were dropped for want of room. */
  recordedSince(nowSeconds: number): number {
    return Math.max(0, nowSeconds - this.#keptSeconds, this.#gap + 1);
  }

  /** All trades behind this place are here; those up to it may have been dropped for want of room. Null: none was. */
  get dropped(): TradePlace | null {
    return this.#dropped;
  }

  apply(event: EngineEvent): void {
    if (event.type === 'TRADES_UNDONE') this.#undo(event.blockNumber);
    if (event.type !== 'TRADE_RECORDED') return;
    const { blockNumber, txHash, logIndex } = event.cause;
    this.#add({ ...event.trade, blockNumber, txHash, logIndex });
  }

  /** Trades up to that Unix second may be missing. */
  lose(throughSeconds: number): void {
    this.#lost = Math.max(this.#lost, throughSeconds);
    this.#gap = Math.max(this.#gap, throughSeconds);
  }

  /** Begins anew: events up to that Unix second may be missing, also those that undo trades which are here. */
  restart(throughSeconds: number): void {
    this.#trades = [];
    this.#dropped = null;
    this.lose(throughSeconds);
  }

  /** Drops what is older than it is kept. */
  expire(nowSeconds: number): void {
    const oldest = nowSeconds - this.#keptSeconds;
    const kept = this.#trades.findIndex(({ time }) => time >= oldest);
    this.#trades.splice(0, kept < 0 ? this.#trades.length : kept);
  }

  /** The newest first, before `before`. */
  *newest(filter: TradeFilter, before: TradePlace | null): Generator<PlacedTrade, undefined> {
    const start = before === null ? this.#trades.length : this.#placeOf(before);
    for (let place = start - 1; place >= 0; place -= 1) {
      const trade = this.#trades[place];
      if (trade !== undefined && matchesTrade(trade, filter)) yield trade;
    }
    return undefined;
  }

  /** The oldest first; intervals without a trade have none. Each begins at a multiple of `seconds`. */
  candles(filter: TradeFilter, seconds: number): Candle[] {
    const candles: Candle[] = [];
    for (const trade of this.#trades) {
      if (!matchesTrade(trade, filter)) continue;
      const { price, size } = trade;
      const time = trade.time - (trade.time % seconds);
      const last = candles.at(-1);
      // A chain's timestamps never fall, so a candle is complete when the next begins.
      if (last?.time !== time) {
        candles.push({ time, open: price, high: price, low: price, close: price, volume: size, count: 1 });
        continue;
      }
      const high = price > last.high ? price : last.high;
      const low = price < last.low ? price : last.low;
      const volume = last.volume + size;
      candles[candles.length - 1] = { time, open: last.open, high, low, close: price, volume, count: last.count + 1 };
    }
    return candles;
  }

  #add(trade: PlacedTrade): void {
    const place = this.#placeOf(trade);
    const there = this.#trades[place];
    const isThere = there?.blockNumber === trade.blockNumber && there.logIndex === trade.logIndex;
    this.#trades.splice(place, isThere ? 1 : 0, trade);
    if (this.#trades.length <= this.#most) return;
    const dropped = this.#trades.shift();
    if (dropped === undefined) return;
    this.#lost = Math.max(this.#lost, dropped.time);
    if (this.#dropped === null || comparePlaces(this.#dropped, dropped) < 0) this.#dropped = dropped;
  }

  #undo(blockNumber: number): void {
    this.#trades.length = this.#placeOf({ blockNumber: blockNumber + 1, logIndex: 0 });
    if (this.#dropped !== null && this.#dropped.blockNumber > blockNumber) {
      this.#dropped = { blockNumber, logIndex: Infinity };
    }
  }

  /** Of the first trade that is not before this place. */
  #placeOf(searched: TradePlace): number {
    let [low, high] = [0, this.#trades.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const trade = this.#trades[middle];
      if (trade !== undefined && comparePlaces(trade, searched) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Whether it is one of those that are asked for. */
export function matchesTrade(
  trade: PlacedTrade,
  { poolAddress, isBuy, provider, taker, from, to }: TradeFilter,
): boolean {
  if (poolAddress !== null && trade.pool.poolAddress !== poolAddress) return false;
  if (isBuy !== null && trade.isBuy !== isBuy) return false;
  if (provider !== null && trade.provider !== provider) return false;
  if (taker !== null && trade.taker !== taker) return false;
  return trade.time >= from && trade.time <= to;
}
