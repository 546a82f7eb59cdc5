import type { Hex, Pool, Quote } from '../engine/quote.js';

const MINUTE_MS = 60_000;
/** A day: the present minute and those before it. */
const DAY_MINUTES = 24 * 60;

const NO_POOLS: ReadonlySet<Hex> = new Set();

interface RecentFill {
  readonly poolAddress: Hex;
  /** Null: it is not counted. */
  readonly minute: number | null;
  /** 1e-18 contracts. */
  readonly size: bigint;
}

type RestatedQuote = Pick<Quote, 'quoteId' | 'size'> & { readonly pool: Pick<Pool, 'poolAddress'> };

/**
 * How much of each pool was filled in the last 24 hours, to the minute, kept as fills come and as minutes go. The
 * newest fills are also kept by their quote, since a reorg may take them back.
 */
export class FillWindow {
  /** At most a day of minutes, each with what was filled of which pool. */
  readonly #minutes = new Map<number, Map<Hex, bigint>>();
  readonly #totals = new Map<Hex, bigint>();
  readonly #recent = new Map<Hex, readonly RecentFill[]>();
  readonly #maxRecent: number;
  #oldest = -Infinity;

  /** `maxRecent`: quotes whose fills can be taken back. */
  constructor(maxRecent: number) {
    this.#maxRecent = maxRecent;
  }

  /** 1e-18 contracts, as of the last `expire`. */
  total(poolAddress: Hex): bigint {
    return this.#totals.get(poolAddress) ?? 0n;
  }

  /**
   * As `add`, of a quote that may have been filled before this window began. `filledBefore`: how much of it, 1e-18
   * contracts; it matters where none of it is remembered.
   */
  fill(poolAddress: Hex, quoteId: Hex, size: bigint, filledBefore: bigint, tsMs: number): void {
    this.enter(poolAddress, quoteId, filledBefore);
    this.add(poolAddress, quoteId, size, tsMs);
  }

  /** A fill at engine time `tsMs`: `size` in 1e-18 contracts. Fills older than the day are ignored. */
  add(poolAddress: Hex, quoteId: Hex, size: bigint, tsMs: number): void {
    const minute = Math.floor(tsMs / MINUTE_MS);
    if (minute < this.#oldest) return;
    this.#change(poolAddress, minute, size);
    this.#remember(quoteId, [...this.#fillsOf(quoteId), { poolAddress, minute, size }]);
  }

  /** The quote was filled that much before it entered the book. That does not count, and so can't be taken back. */
  enter(poolAddress: Hex, quoteId: Hex, filledBefore: bigint): void {
    if (filledBefore === 0n || this.#recent.has(quoteId)) return;
    this.#remember(quoteId, [{ poolAddress, minute: null, size: filledBefore }]);
  }

  /** Counts in what another window has, all of it from before what this one has. */
  addEarlier(earlier: FillWindow): void {
    for (const [minute, pools] of earlier.#minutes) {
      for (const [poolAddress, size] of pools) this.#change(poolAddress, minute, size);
    }
    const later = [...this.#recent];
    this.#recent.clear();
    for (const [quoteId, fills] of earlier.#recent) this.#remember(quoteId, fills);
    for (const [quoteId, fills] of later) {
      const before = earlier.#recent.get(quoteId);
      // The earlier fills are now known one by one: they replace the entry that stood for their sum.
      const since = before === undefined ? fills : fills.filter(({ minute }) => minute !== null);
      this.#remember(quoteId, [...(before ?? []), ...since]);
    }
  }

  /**
   * The chain says how much of the quote can be filled, and no event told of it: a new branch has filled more of it than
   * the old one, or less. `knownBefore`: how much had been filled, where nothing is remembered of it; null: who knows.
   */
  restate(
    { pool, quoteId, size }: RestatedQuote,
    fillableSize: bigint,
    knownBefore: bigint | null,
    tsMs: number,
  ): void {
    const filled = size - fillableSize;
    const before = this.#filledOf(quoteId) ?? knownBefore;
    // With nothing left to fill it may have been cancelled as well.
    if (before === null || before >= filled || fillableSize === 0n) return this.#takeBackBeyond(quoteId, filled);
    this.fill(pool.poolAddress, quoteId, filled - before, before, tsMs);
  }

  /** How much of the quote has been filled; null: nothing is remembered of it. */
  #filledOf(quoteId: Hex): bigint | null {
    return this.#recent.get(quoteId)?.reduce((sum, { size }) => sum + size, 0n) ?? null;
  }

  /** At most `filled` of the quote has been filled after all; the newest fills go first. */
  #takeBackBeyond(quoteId: Hex, filled: bigint): void {
    const fills = this.#fillsOf(quoteId);
    let allowed = filled;
    const kept = fills.map((fill) => {
      const size = fill.size < allowed ? fill.size : allowed;
      allowed -= size;
      if (size < fill.size) this.#change(fill.poolAddress, fill.minute, size - fill.size);
      return { ...fill, size };
    });
    if (fills.length > 0) this.#recent.set(quoteId, kept);
  }

  /** Lets go of what is older than a day at `tsMs`. Returns the pools whose totals changed. */
  expire(tsMs: number): ReadonlySet<Hex> {
    const oldest = Math.floor(tsMs / MINUTE_MS) - DAY_MINUTES + 1;
    if (oldest <= this.#oldest) return NO_POOLS;
    this.#oldest = oldest;
    const changed = new Set<Hex>();
    for (const [minute, pools] of this.#minutes) {
      if (minute >= oldest) continue;
      for (const [poolAddress, size] of pools) {
        changed.add(poolAddress);
        this.#add(this.#totals, poolAddress, -size);
      }
      this.#minutes.delete(minute);
    }
    return changed;
  }

  #fillsOf(quoteId: Hex): readonly RecentFill[] {
    return this.#recent.get(quoteId) ?? [];
  }

  #remember(quoteId: Hex, fills: readonly RecentFill[]): void {
    this.#recent.delete(quoteId);
    this.#recent.set(quoteId, fills);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > this.#maxRecent && oldest !== undefined) this.#recent.delete(oldest);
  }

  #change(poolAddress: Hex, minute: number | null, by: bigint): void {
    if (minute === null || minute < this.#oldest) return;
    const pools = this.#minutes.get(minute) ?? new Map<Hex, bigint>();
    this.#minutes.set(minute, pools);
    this.#add(pools, poolAddress, by);
    this.#add(this.#totals, poolAddress, by);
  }

  #add(sizes: Map<Hex, bigint>, poolAddress: Hex, by: bigint): void {
    const size = (sizes.get(poolAddress) ?? 0n) + by;
    if (size === 0n) sizes.delete(poolAddress);
    else sizes.set(poolAddress, size);
  }
}
