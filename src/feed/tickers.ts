import { assert } from '../engine/assert.js';
import type { EngineEvent, QuoteRestated, WithdrawnQuoteRestated } from '../engine/event.js';
import type { OrderBook, LevelTotal } from '../engine/order-book.js';
import { type Hex, isPrivate, type Pool } from '../engine/quote.js';
import type { TickerJson } from '../wire/feed-messages.js';
import type { FillableSizeChange } from './committed-book.js';
import type { EncodingName } from './event-messages.js';
import { FillWindow } from './fill-window.js';
import { SIDES, type Sides } from './level-window.js';
import { type JoinedTopic, type Outlet, Readers } from './topics.js';
import type { TradeVolume } from './trade-volume.js';

type RestatedEvent = QuoteRestated | WithdrawnQuoteRestated;

type BestLevel = Pick<LevelTotal, 'price' | 'size'> | null;

/** A pool at a glance: what is best on each side of its public book, and how much was filled and traded in 24 hours. */
export interface Ticker {
  readonly pool: Pool;
  readonly best: Sides<BestLevel>;
  /** Of quotes in the book, 1e-18 contracts. */
  readonly filledSize: bigint;
  /** Of any quote, 1e-18 contracts; null: not known. */
  readonly volume: bigint | null;
  /** 1e-18 contracts that are held; null: not known. No event says it. */
  readonly openInterest: bigint | null;
}

export interface TickersOptions {
  readonly book: OrderBook;
  /** Those that are deployed. */
  readonly pools: Iterable<Pool>;
  readonly maxRecentFills: number;
  readonly volume: TradeVolume;
  /** Earlier trades are in the log, and will be added: until then volumes are not known. */
  readonly hasPast: boolean;
}

/**
 * The ticker of every pool that is deployed, quoted or was traded in the last day, after the events published so far.
 */
export class Tickers {
  readonly #book: OrderBook;
  readonly #fills: FillWindow;
  readonly #volume: TradeVolume;
  /** The trades from before the start are counted in. */
  #hasPastTrades: boolean;
  readonly #tickers = new Map<Hex, Ticker>();
  readonly #deployed = new Set<Hex>();
  /** By maturity, so that pools that cannot be traded any more go. */
  #nextMaturity = Infinity;
  readonly #touched = new Map<Hex, Pool>();
  #openInterest: ReadonlyMap<Hex, bigint> = new Map();

  /** `book`: of committed events. */
  constructor({ book, pools, maxRecentFills, volume, hasPast }: TickersOptions) {
    this.#book = book;
    this.#fills = new FillWindow(maxRecentFills);
    this.#volume = volume;
    this.#hasPastTrades = !hasPast;
    for (const pool of pools) this.#onPool(pool, true);
    for (const { pool } of book.pools()) this.#touched.set(pool.poolAddress, pool);
    this.#refresh();
  }

  get(poolAddress: Hex): Ticker | undefined {
    return this.#tickers.get(poolAddress);
  }

  get size(): number {
    return this.#tickers.size;
  }

  /** In the order in which they came to be known. */
  all(): Iterable<Ticker> {
    return this.#tickers.values();
  }

  /** Notes what an event did, and `change` to the book; `flush` returns the tickers that it changed. */
  touch(event: EngineEvent, change: FillableSizeChange | null, tsMs: number): void {
    if (event.type === 'TRADE_RECORDED' || event.type === 'TRADES_UNDONE') this.#volume.apply(event);
    if (event.type === 'POOL_DEPLOYED') this.#onPool(event.pool, true);
    if (event.type === 'POOL_WITHDRAWN') this.#onPool(event.pool, false);
    if (!('order' in event)) return;
    const { quote } = event.order;
    const { pool, quoteId } = quote;
    const isEntry = event.type === 'QUOTE_POSTED' || event.type === 'QUOTE_RESTORED';
    if (isEntry) this.#fills.enter(pool.poolAddress, quoteId, quote.size - event.fillableSize);
    const isFill = event.type === 'QUOTE_FILLED' || event.type === 'WITHDRAWN_QUOTE_FILLED';
    if (isFill) {
      const filledBefore = quote.size - event.fillableSize - event.size;
      this.#fills.fill(pool.poolAddress, quoteId, event.size, filledBefore, tsMs);
    }
    const isRestated = event.type === 'QUOTE_RESTATED' || event.type === 'WITHDRAWN_QUOTE_RESTATED';
    if (isRestated) this.#onRestated(event, change, tsMs);
    if (isFill || isRestated || (change !== null && !isPrivate(quote))) this.#touched.set(pool.poolAddress, pool);
  }

  /**
   * The fills and trades from before the start, read from the log; the next `flush` returns the tickers that they change.
   * `pools`: those with fills, and others.
   */
  addPast(fills: FillWindow, trades: TradeVolume, pools: Iterable<Pool>): void {
    this.#volume.addEarlier(trades);
    this.#fills.addEarlier(fills);
    this.#hasPastTrades = true;
    // Values that were unknown are known now.
    for (const [poolAddress, { pool }] of this.#tickers) this.#touched.set(poolAddress, pool);
    for (const pool of pools) {
      this.#touched.set(pool.poolAddress, pool);
      this.#nextMaturity = Math.min(this.#nextMaturity, pool.poolKey.maturity);
    }
  }

  /** As the chain says, for the next `flush`. Of all other pools it is not known. */
  setOpenInterest(sizes: ReadonlyMap<Hex, bigint>): void {
    for (const poolAddress of new Set([...this.#openInterest.keys(), ...sizes.keys()])) {
      const ticker = this.#tickers.get(poolAddress);
      const isOther = this.#openInterest.get(poolAddress) !== sizes.get(poolAddress);
      if (isOther && ticker !== undefined) this.#touched.set(poolAddress, ticker.pool);
    }
    this.#openInterest = sizes;
  }

  /** Takes over what was noted, and what time has changed by `tsMs`. Returns the tickers that are others now. */
  flush(tsMs: number): Ticker[] {
    this.#dropMatured(tsMs);
    for (const poolAddress of this.#fills.expire(tsMs)) {
      const ticker = this.#tickers.get(poolAddress);
      if (ticker !== undefined) this.#touched.set(poolAddress, ticker.pool);
    }
    const knewVolumes = this.#volume.isComplete;
    this.#volume.expire(Math.floor(tsMs / 1000));
    for (const [poolAddress, pool] of this.#volume.takeChanged()) {
      if (pool.poolKey.maturity * 1000 > tsMs) this.#touched.set(poolAddress, pool);
    }
    if (knewVolumes !== this.#volume.isComplete) {
      for (const [poolAddress, { pool }] of this.#tickers) this.#touched.set(poolAddress, pool);
    }
    return this.#touched.size === 0 ? [] : this.#refresh();
  }

  /** Of a quote that was in the book it is known how much had been filled, though nothing may be remembered of it. */
  #onRestated({ order, fillableSize }: RestatedEvent, change: FillableSizeChange | null, tsMs: number): void {
    const wasInBook = change !== null && change.before > 0n;
    this.#fills.restate(order.quote, fillableSize, wasInBook ? order.quote.size - change.before : null, tsMs);
  }

  #onPool(pool: Pool, isDeployed: boolean): void {
    if (isDeployed) this.#deployed.add(pool.poolAddress);
    else this.#deployed.delete(pool.poolAddress);
    this.#touched.set(pool.poolAddress, pool);
  }

  #refresh(): Ticker[] {
    const changed: Ticker[] = [];
    for (const [poolAddress, pool] of this.#touched) {
      const ticker = {
        pool,
        best: { bid: this.#best(poolAddress, 'bid'), ask: this.#best(poolAddress, 'ask') },
        filledSize: this.#fills.total(poolAddress),
        volume: this.#hasPastTrades ? this.#volume.total(poolAddress) : null,
        openInterest: this.#openInterest.get(poolAddress) ?? null,
      };
      const before = this.#tickers.get(poolAddress);
      const hasNothing = isEmpty(ticker) && !this.#deployed.has(poolAddress);
      if (hasNothing) this.#tickers.delete(poolAddress);
      if (before === undefined ? hasNothing : isSame(before, ticker)) continue;
      changed.push(ticker);
      if (hasNothing) continue;
      this.#tickers.set(poolAddress, ticker);
      this.#nextMaturity = Math.min(this.#nextMaturity, pool.poolKey.maturity);
    }
    this.#touched.clear();
    return changed;
  }

  #best(poolAddress: Hex, side: 'bid' | 'ask'): BestLevel {
    for (const { price, size } of this.#book.side(poolAddress, side)?.publicLevels ?? []) return { price, size };
    return null;
  }

  #dropMatured(tsMs: number): void {
    if (tsMs < this.#nextMaturity * 1000) return;
    this.#nextMaturity = Infinity;
    const shown = Array.from(this.#tickers.values(), ({ pool }) => pool);
    for (const { poolAddress, poolKey } of [...shown, ...this.#touched.values()]) {
      const { maturity } = poolKey;
      if (maturity * 1000 <= tsMs) {
        this.#tickers.delete(poolAddress);
        this.#deployed.delete(poolAddress);
        this.#touched.delete(poolAddress);
      } else this.#nextMaturity = Math.min(this.#nextMaturity, maturity);
    }
  }
}

/** Of a pool that is not deployed, and where nothing is quoted any more. */
export function emptyTicker(pool: Pool): Ticker {
  return { pool, best: { bid: null, ask: null }, filledSize: 0n, volume: 0n, openInterest: null };
}

export function tickerJson({ pool, best, filledSize, volume, openInterest }: Ticker): TickerJson {
  const { poolAddress, poolKey } = pool;
  const level = (side: BestLevel) => side && { price: side.price.toString(), size: side.size.toString() };
  return {
    poolAddress,
    poolKey: { ...poolKey, strike: poolKey.strike.toString() },
    bid: level(best.bid),
    ask: level(best.ask),
    filledSize24h: filledSize.toString(),
    volume24h: volume?.toString() ?? null,
    openInterest: openInterest?.toString() ?? null,
  };
}

function isEmpty({ best, filledSize, volume }: Ticker): boolean {
  return filledSize === 0n && (volume ?? 0n) === 0n && best.bid === null && best.ask === null;
}

function isSame(a: Ticker, b: Ticker): boolean {
  if (a.filledSize !== b.filledSize || a.volume !== b.volume || a.openInterest !== b.openInterest) return false;
  return SIDES.every(
    (side) => a.best[side]?.price === b.best[side]?.price && a.best[side]?.size === b.best[side]?.size,
  );
}

/** Where the tickers of one pool go, or of all (null). */
export function tickerKey(chainId: string, poolAddress: Hex | null): string {
  return `ticker:${chainId}:${poolAddress ?? '*'}`;
}

/** The topics of TICKER that have readers. Each message is a whole ticker, so that the newest is all that counts. */
export class TickerTopics {
  readonly outlet: Outlet;
  readonly #chainId: string;
  readonly #readers = new Map<string, Readers>();

  constructor(chainId: string, outlet: Outlet) {
    this.outlet = outlet;
    this.#chainId = chainId;
  }

  /** Topics with at least one reader. */
  get size(): number {
    return this.#readers.size;
  }

  isFollowed(poolAddress: Hex): boolean {
    return [poolAddress, null].some((each) => this.#readers.has(tickerKey(this.#chainId, each)));
  }

  join(poolAddress: Hex | null, encoding: EncodingName): JoinedTopic {
    const key = tickerKey(this.#chainId, poolAddress);
    const readers = this.#readers.get(key) ?? new Readers(this, key);
    this.#readers.set(key, readers);
    return readers.join(encoding);
  }

  leave({ key, encoding }: JoinedTopic): void {
    const readers = this.#readers.get(key);
    assert(readers !== undefined, 'who leaves has joined');
    readers.leave(encoding);
    if (readers.isEmpty) this.#readers.delete(key);
  }

  /** Publishes the tickers that changed with the record that ends with event `seq`. */
  publish(tickers: readonly Ticker[], seq: number, tsMs: number): void {
    if (this.#readers.size === 0) return;
    for (const ticker of tickers) {
      for (const poolAddress of [ticker.pool.poolAddress, null]) {
        const readers = this.#readers.get(tickerKey(this.#chainId, poolAddress));
        if (readers === undefined) continue;
        const message = { type: 'TICKER', key: readers.key, seq, tsMs, body: tickerJson(ticker) } as const;
        readers.publish((encoding) => encoding.message(message));
      }
    }
  }
}
