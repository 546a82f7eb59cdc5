import { assert } from '../engine/assert.js';
import { type Hex, isPrivate, type Side, sideOf } from '../engine/quote.js';
import type { CommittedBook, FillableSizeChange } from './committed-book.js';
import { type Cover, coverOf } from './cover.js';
import type { EncodingName } from './event-messages.js';
import type { CoverRequest } from './filters.js';
import { type JoinedTopic, type Outlet, Readers } from './topics.js';

/** A price as its rank on a side: a smaller one is better for the taker. */
function rankOf(side: Side, price: bigint): bigint {
  return side === 'ask' ? price : -price;
}

/** Worse than every price: a change at any price affects a cover that lacks quotes. */
const ANY_PRICE = 1n << 256n;

interface State {
  readonly readers: Readers;
  readonly request: CoverRequest;
  cover: Cover;
  /** A change of a quote with a greater rank leaves the cover as it is. */
  reach: bigint;
}

/** Covers in the order of their reach. */
class ByReach {
  readonly #states: State[] = [];

  get size(): number {
    return this.#states.length;
  }

  add(state: State): void {
    this.#states.splice(this.#firstFrom(state.reach), 0, state);
  }

  remove(state: State): void {
    const place = this.#states.indexOf(state, this.#firstFrom(state.reach));
    assert(place >= 0, 'a followed cover is indexed by its reach');
    this.#states.splice(place, 1);
  }

  /** Adds to `found` the covers that a change at `rank` may affect. */
  collect(rank: bigint, found: Set<State>): void {
    for (let at = this.#firstFrom(rank); at < this.#states.length; at++) {
      const state = this.#states[at];
      if (state !== undefined) found.add(state);
    }
  }

  #firstFrom(reach: bigint): number {
    let low = 0;
    let high = this.#states.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const state = this.#states[middle];
      if (state !== undefined && state.reach < reach) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The covers of one pool and side that a change of a public quote, or of a private one, may affect. */
class SideCovers {
  /** By provider; null: covers of every maker's quotes. */
  readonly #all = new Map<Hex | null, ByReach>();
  readonly #byTaker = new Map<Hex, Map<Hex | null, ByReach>>();

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  add(state: State): void {
    for (const covers of this.#indexesOf(state.request, true)) {
      const ofProvider = covers.get(state.request.provider) ?? new ByReach();
      covers.set(state.request.provider, ofProvider);
      ofProvider.add(state);
    }
  }

  remove(state: State): void {
    const { provider, taker } = state.request;
    for (const covers of this.#indexesOf(state.request, false)) {
      const ofProvider = covers.get(provider);
      assert(ofProvider !== undefined, 'a followed cover is indexed by its provider');
      ofProvider.remove(state);
      if (ofProvider.size === 0) covers.delete(provider);
    }
    if (taker !== null && this.#byTaker.get(taker)?.size === 0) this.#byTaker.delete(taker);
  }

  /** `whose`: the taker of a private quote; null: the quote is public. */
  collect(whose: Hex | null, provider: Hex, rank: bigint, found: Set<State>): void {
    const covers = whose === null ? this.#all : this.#byTaker.get(whose);
    covers?.get(null)?.collect(rank, found);
    covers?.get(provider)?.collect(rank, found);
  }

  #indexesOf({ taker }: CoverRequest, isNew: boolean): Map<Hex | null, ByReach>[] {
    if (taker === null) return [this.#all];
    let ofTaker = this.#byTaker.get(taker);
    if (ofTaker === undefined) {
      assert(isNew, 'a followed cover is indexed by its taker');
      ofTaker = new Map();
      this.#byTaker.set(taker, ofTaker);
    }
    return [this.#all, ofTaker];
  }
}

export interface CoverTopicsOptions {
  readonly chainId: string;
  readonly book: CommittedBook;
  readonly outlet: Outlet;
  /** Most legs of a cover. */
  readonly maxLegs: number;
  /** Most distinct covers that readers may follow at once. */
  readonly maxTopics: number;
}

/**
 * The topics of COVER that have readers. A record that changes a cover publishes the whole of it, so a reader needs
 * only the newest. A change costs the covers that reach its price: the index of each side orders them by their worst
 * price, and a cover that lacks quotes reaches every price.
 */
export class CoverTopics {
  readonly #options: CoverTopicsOptions;
  readonly #byKey = new Map<string, State>();
  readonly #bySide = new Map<string, SideCovers>();
  /** The best rank that the present record touched, by side, taker (null: public) and provider. */
  readonly #touched = new Map<string, Map<Hex | null, Map<Hex, bigint>>>();

  constructor(options: CoverTopicsOptions) {
    this.#options = options;
  }

  get outlet(): Outlet {
    return this.#options.outlet;
  }

  /** Topics with at least one reader. */
  get size(): number {
    return this.#byKey.size;
  }

  keyOf({ poolAddress, side, size, taker, provider }: CoverRequest): string {
    return `cover:${this.#options.chainId}:${poolAddress}:${side}:${size}:${taker ?? '*'}:${provider ?? '*'}`;
  }

  /** Whether one more reader of this cover fits. */
  hasRoom(request: CoverRequest): boolean {
    return this.size < this.#options.maxTopics || this.#byKey.has(this.keyOf(request));
  }

  /** The cover as the events published so far leave it. */
  coverOf(request: CoverRequest): Cover {
    const { book, maxLegs } = this.#options;
    return this.#byKey.get(this.keyOf(request))?.cover ?? coverOf(book.book, request, maxLegs);
  }

  join(request: CoverRequest, encoding: EncodingName): JoinedTopic {
    const key = this.keyOf(request);
    let state = this.#byKey.get(key);
    if (state === undefined) {
      const found = this.coverOf(request);
      state = { readers: new Readers(this, key), request, cover: found, reach: this.#reachOf(request, found) };
      this.#byKey.set(key, state);
      const sideKey = sideKeyOf(request.poolAddress, request.side);
      const covers = this.#bySide.get(sideKey) ?? new SideCovers();
      this.#bySide.set(sideKey, covers);
      covers.add(state);
    }
    return state.readers.join(encoding);
  }

  leave({ key, encoding }: JoinedTopic): void {
    const state = this.#byKey.get(key);
    assert(state !== undefined, 'only a reader that joined leaves');
    state.readers.leave(encoding);
    if (!state.readers.isEmpty) return;
    this.#byKey.delete(key);
    const sideKey = sideKeyOf(state.request.poolAddress, state.request.side);
    const covers = this.#bySide.get(sideKey);
    covers?.remove(state);
    if (covers?.isEmpty === true) this.#bySide.delete(sideKey);
  }

  /** Notes what an event did to the book; `flush` publishes it. */
  touch({ quote }: FillableSizeChange): void {
    const side = sideOf(quote);
    const sideKey = sideKeyOf(quote.pool.poolAddress, side);
    if (!this.#bySide.has(sideKey)) return;
    const ofSide = this.#touched.get(sideKey) ?? new Map<Hex | null, Map<Hex, bigint>>();
    this.#touched.set(sideKey, ofSide);
    const whose = isPrivate(quote) ? quote.taker : null;
    const ofTaker = ofSide.get(whose) ?? new Map<Hex, bigint>();
    ofSide.set(whose, ofTaker);
    const rank = rankOf(side, quote.price);
    const best = ofTaker.get(quote.provider);
    if (best === undefined || rank < best) ofTaker.set(quote.provider, rank);
  }

  /** Publishes the covers that the record which ends with event `seq` changed. */
  flush(seq: number, tsMs: number): void {
    if (this.#touched.size === 0) return;
    const affected = new Set<State>();
    for (const [sideKey, ofSide] of this.#touched) {
      const covers = this.#bySide.get(sideKey);
      if (covers === undefined) continue;
      affected.clear();
      for (const [whose, ofTaker] of ofSide) {
        for (const [provider, rank] of ofTaker) covers.collect(whose, provider, rank, affected);
      }
      for (const state of affected) this.#update(covers, state, seq, tsMs);
    }
    this.#touched.clear();
  }

  #update(covers: SideCovers, state: State, seq: number, tsMs: number): void {
    const { book, maxLegs } = this.#options;
    const { request, readers } = state;
    const found = coverOf(book.book, request, maxLegs);
    if (isSameCover(state.cover, found)) return;
    const reach = this.#reachOf(request, found);
    if (reach !== state.reach) {
      covers.remove(state);
      state.reach = reach;
      covers.add(state);
    }
    state.cover = found;
    const page = { key: readers.key, seq, tsMs, cover: found };
    readers.publish((encoding) => encoding.cover(page));
  }

  /** A cover that lacks quotes reaches every price, unless it was cut at its last leg. */
  #reachOf({ side }: CoverRequest, { legs, shortfall }: Cover): bigint {
    const last = legs.at(-1);
    if (last === undefined || (shortfall > 0n && legs.length < this.#options.maxLegs)) return ANY_PRICE;
    return rankOf(side, last.quote.price);
  }
}

function isSameCover(a: Cover, b: Cover): boolean {
  if (a.legs.length !== b.legs.length) return false;
  return a.legs.every(({ quote, fillableSize }, i) => {
    const other = b.legs[i];
    return other?.quote.quoteId === quote.quoteId && other.fillableSize === fillableSize;
  });
}

function sideKeyOf(poolAddress: Hex, side: Side): string {
  return `${poolAddress}:${side}`;
}
