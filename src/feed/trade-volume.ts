import type { TradeRecorded, TradesUndone } from '../engine/event.js';
import type { Hex, Pool } from '../engine/quote.js';
import { DAY_SECONDS } from '../system/timers.js';

interface CountedTrade {
  readonly blockNumber: number;
  readonly logIndex: number;
  /** Unix seconds of its block. */
  readonly time: number;
  readonly pool: Pool;
  /** 1e-18 contracts. */
  readonly size: bigint;
}

/**
 * How much was traded in each pool in the last 24 hours, by the time of the blocks: kept as trades come, reorgs undo them
 * and time passes.
 */
export class TradeVolume {
  readonly #most: number;
  /** Rising by block and log; so are their times. */
  #trades: CountedTrade[] = [];
  readonly #totals = new Map<Hex, bigint>();
  /** Pools whose totals have changed since they were taken. */
  #changed = new Map<Hex, Pool>();
  /** Unix seconds: older trades do not count. */
  #oldest = 0;
  /** Time of the newest trade that is not here, for want of room or because the log has lost it. */
  #lost = -1;
  /** The lowest block that a reorg went back to. */
  #undoneTo = Infinity;

  /** `most`: trades that are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /** False: more was traded in the day than is kept. */
  get isComplete(): boolean {
    return this.#lost < this.#oldest;
  }

  /** 1e-18 contracts, as of the last `expire`; null: not known. */
  total(poolAddress: Hex): bigint | null {
    return this.isComplete ? (this.#totals.get(poolAddress) ?? 0n) : null;
  }

  takeChanged(): Iterable<[Hex, Pool]> {
    const changed = this.#changed;
    this.#changed = new Map();
    return changed;
  }

  apply(event: TradeRecorded | TradesUndone): void {
    if (event.type === 'TRADES_UNDONE') {
      this.#undoneTo = Math.min(this.#undoneTo, event.blockNumber);
      return this.#undo(event.blockNumber);
    }
    const { pool, size, time } = event.trade;
    const { blockNumber, logIndex } = event.cause;
    this.#add({ blockNumber, logIndex, time, pool, size });
  }

  /** Trades up to that Unix second may be missing. */
  lose(throughSeconds: number): void {
    this.#lost = Math.max(this.#lost, throughSeconds);
  }

  /** Drops what is a day old. */
  expire(nowSeconds: number): void {
    this.#oldest = Math.max(this.#oldest, nowSeconds - DAY_SECONDS + 1);
    const kept = this.#trades.findIndex(({ time }) => time >= this.#oldest);
    this.#drop(0, kept < 0 ? this.#trades.length : kept);
  }

  /** Counts in what another has of before this one began. */
  addEarlier(earlier: TradeVolume): void {
    const own = [...this.#trades];
    this.#drop(0, own.length);
    this.lose(earlier.#lost);
    for (const trade of earlier.#trades) if (trade.blockNumber <= this.#undoneTo) this.#add(trade);
    for (const trade of own) this.#add(trade);
  }

  #add(trade: CountedTrade): void {
    if (trade.time < this.#oldest) return;
    const place = this.#placeOf(trade);
    const known = this.#trades[place];
    if (known?.blockNumber === trade.blockNumber && known.logIndex === trade.logIndex) this.#drop(place, 1);
    this.#trades.splice(place, 0, trade);
    this.#count(trade, trade.size);
    const [first] = this.#trades;
    if (this.#trades.length <= this.#most || first === undefined) return;
    this.lose(first.time);
    this.#drop(0, 1);
  }

  #undo(blockNumber: number): void {
    const place = this.#placeOf({ blockNumber: blockNumber + 1, logIndex: 0 });
    this.#drop(place, this.#trades.length - place);
  }

  #drop(place: number, count: number): void {
    for (const trade of this.#trades.splice(place, count)) this.#count(trade, -trade.size);
  }

  #count({ pool }: CountedTrade, by: bigint): void {
    const { poolAddress } = pool;
    const total = (this.#totals.get(poolAddress) ?? 0n) + by;
    if (total === 0n) this.#totals.delete(poolAddress);
    else this.#totals.set(poolAddress, total);
    this.#changed.set(poolAddress, pool);
  }

  /** Of the first trade that is not before this place. */
  #placeOf({ blockNumber, logIndex }: Pick<CountedTrade, 'blockNumber' | 'logIndex'>): number {
    // New trades come last.
    for (let place = this.#trades.length; place > 0; place -= 1) {
      const trade = this.#trades[place - 1];
      if (trade === undefined || trade.blockNumber < blockNumber) return place;
      if (trade.blockNumber === blockNumber && trade.logIndex < logIndex) return place;
    }
    return 0;
  }
}
