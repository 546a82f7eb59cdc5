import { assert } from '../engine/assert.js';
import type { LevelTotal } from '../engine/order-book.js';
import { type Hex, isPrivate, type Side, sideOf } from '../engine/quote.js';
import type { OrderbookSnapshot, OrderbookUpdate, PriceLevelsJson } from '../wire/feed-messages.js';
import { type BookHash, hashText } from './book-hash.js';
import type { FillableSizeChange, CommittedBook } from './committed-book.js';
import type { EncodingName } from './event-messages.js';
import { type LevelView, LevelWindow, SIDES, type Sides } from './level-window.js';
import { type JoinedTopic, type Outlet, Readers } from './topics.js';

type Prices = Sides<Set<bigint>>;

/** A reader that is not sent updates for a while, and what it had by then. */
export interface Laggard {
  readonly joined: JoinedTopic;
  readonly sentSeq: number;
  /** The first update that it was not sent; null: there was none. */
  missedSeq: number | null;
  /** Too much changed to be kept: only a snapshot helps. */
  isLost: boolean;
}

/** Events that a resuming reader lacks: after `fromSeq`, from the event with number `from` on. */
interface Missed {
  readonly fromSeq: number;
  readonly from: number;
  /** The last event published, and its time. */
  readonly seq: number;
  readonly tsMs: number;
}

interface State {
  readonly readers: Readers;
  readonly window: LevelWindow;
  lastSeq: number;
  tsMs: number;
  readonly laggards: Set<Laggard>;
  /**
   * While there are laggards: for each price that shows differently since the first of them, the number of its last
   * update.
   */
  readonly changed: Sides<Map<bigint, number>>;
}

export interface LevelTopicsOptions {
  readonly chainId: string;
  readonly book: CommittedBook;
  readonly hash: BookHash;
  readonly outlet: Outlet;
  /** Levels that an update of many may have beyond those that its view shows; with more, a snapshot is shorter. */
  readonly maxChanged: number;
}

/** The topics of ORDERBOOK that have readers. A record's changes to a book go out as one update. */
export class LevelTopics {
  readonly #options: LevelTopicsOptions;
  readonly #byName = new Map<string, State>();
  readonly #byPool = new Map<Hex, Map<string, State>>();
  /** Prices that the present record has touched so far, by pool and by whose quotes; null: public ones. */
  readonly #touched = new Map<Hex, Map<Hex | null, Prices>>();

  constructor(options: LevelTopicsOptions) {
    this.#options = options;
  }

  get outlet(): Outlet {
    return this.#options.outlet;
  }

  get size(): number {
    return this.#byName.size;
  }

  /**
   * For a reader that has everything up to `seq`, and everything of its own up to the last event published. `tsMs`: that
   * one's time.
   */
  join(view: LevelView, encoding: EncodingName, seq: number, tsMs: number): JoinedTopic {
    const { book, hash, chainId } = this.#options;
    const key = orderbookKey(chainId, view);
    const name = `${key}?depth=${view.depth}`;
    let state = this.#byName.get(name);
    if (state === undefined) {
      state = {
        readers: new Readers(this, key, name),
        window: new LevelWindow(book.book, view, hash),
        lastSeq: seq,
        tsMs,
        laggards: new Set(),
        changed: { bid: new Map(), ask: new Map() },
      };
      this.#byName.set(name, state);
      const ofPool = this.#byPool.get(view.poolAddress) ?? new Map<string, State>();
      this.#byPool.set(view.poolAddress, ofPool.set(name, state));
    }
    state.lastSeq = Math.min(state.lastSeq, seq);
    return state.readers.join(encoding);
  }

  leave({ name, encoding }: JoinedTopic): void {
    const { readers, window } = this.#state(name);
    readers.leave(encoding);
    if (!readers.isEmpty) return;
    this.#byName.delete(name);
    const ofPool = this.#byPool.get(window.view.poolAddress);
    ofPool?.delete(name);
    if (ofPool?.size === 0) this.#byPool.delete(window.view.poolAddress);
  }

  hashOf({ name }: JoinedTopic): bigint {
    return this.#state(name).window.hash;
  }

  /** The book as its readers see it now, after the event with number `seq`. */
  snapshot({ name }: JoinedTopic, seq: number, tsMs: number): OrderbookSnapshot {
    const { readers, window } = this.#state(name);
    return { type: 'ORDERBOOK_SNAPSHOT', key: readers.key, seq, tsMs, ...levelsOf(window) };
  }

  /** The book under a view, after the last event published. */
  read(view: LevelView): LevelsRead {
    const { book, hash } = this.#options;
    return readLevels(book, view, hash);
  }

  /** Rows that beginning to follow a view is charged for: it hashes and writes all of its levels at once. */
  rowsOf({ poolAddress, taker, depth }: LevelView): number {
    const { book } = this.#options.book;
    const levelsOf = (side: Side): number => {
      const levels = book.side(poolAddress, side);
      const own = taker === null ? undefined : levels?.privateLevels(taker);
      return Math.min(depth, (levels?.publicLevels.size ?? 0) + (own?.size ?? 0));
    };
    return ROWS_PER_LEVEL * (levelsOf('bid') + levelsOf('ask'));
  }

  /** Levels that one update may have for a reader that was away or is slow. */
  mostInUpdate({ depth }: LevelView): number {
    return SIDES.length * depth + this.#options.maxChanged;
  }

  /**
   * For a reader that has everything up to `fromSeq`: all levels that may look different since, `touched` being the
   * prices of every event after it. The levels that a cut side showed at that time, or before those prices went, are not
   * known: the update states such a side anew, and removes as many levels beyond it as could have been pushed out.
   */
  catchUp(joined: JoinedTopic, touched: Prices, { fromSeq, from, seq, tsMs }: Missed): OrderbookUpdate {
    const { window } = this.#state(joined.name);
    const changes = (side: Side): LevelTotal[] => {
      const prices = new Set(touched[side]);
      const beyond = window.isCut(side) ? window.levels(side, prices.size, window.view.depth) : [];
      const shown = window.levels(side);
      const mayHaveBeenCut = window.isCut(side) || shown.length + prices.size > window.view.depth;
      if (prices.size > 0 && mayHaveBeenCut) for (const { price } of shown) prices.add(price);
      for (const { price } of beyond) prices.add(price);
      return [...prices].map((price) => window.shown(side, price));
    };
    const body = levelsJson({ bid: changes('bid'), ask: changes('ask') });
    return { type: 'ORDERBOOK_UPDATE', key: joined.key, seq, prevSeq: fromSeq, from, tsMs, body };
  }

  /** Notes what an event did to the book; `flush` publishes it. */
  touch({ quote }: FillableSizeChange): void {
    const { poolAddress } = quote.pool;
    if (!this.#byPool.has(poolAddress)) return;
    const ofPool = this.#touched.get(poolAddress) ?? new Map<Hex | null, Prices>();
    this.#touched.set(poolAddress, ofPool);
    const whose = isPrivate(quote) ? quote.taker : null;
    const prices = ofPool.get(whose) ?? noPrices();
    ofPool.set(whose, prices);
    prices[sideOf(quote)].add(quote.price);
  }

  /** Publishes what the record that ends with event `seq` changed. */
  flush(seq: number, tsMs: number): void {
    if (this.#touched.size === 0) return;
    for (const [poolAddress, touched] of this.#touched) {
      for (const state of this.#byPool.get(poolAddress)?.values() ?? []) this.#publishTo(state, touched, seq, tsMs);
    }
    this.#touched.clear();
  }

  /** The reader is not sent updates from now on, by its own network subscription; here it is kept what it misses. */
  lag(joined: JoinedTopic): Laggard {
    const { laggards, lastSeq } = this.#state(joined.name);
    const laggard = { joined, sentSeq: lastSeq, missedSeq: null, isLost: false };
    laggards.add(laggard);
    return laggard;
  }

  /** It reads again: everything that it missed, in one message; null: nothing. `seq`: number of the last event published. */
  resume(laggard: Laggard, seq: number, tsMs: number): OrderbookUpdate | OrderbookSnapshot | null {
    const state = this.#state(laggard.joined.name);
    const { sentSeq: prevSeq, missedSeq: from } = laggard;
    const changes = (side: Side): LevelTotal[] =>
      [...state.changed[side]]
        .filter(([, changedSeq]) => changedSeq > prevSeq)
        .map(([price]) => state.window.shown(side, price));
    const body = levelsJson({ bid: changes('bid'), ask: changes('ask') });
    this.forget(laggard);
    if (laggard.isLost) return this.snapshot(laggard.joined, seq, tsMs);
    if (from === null) return null;
    const { key } = laggard.joined;
    return { type: 'ORDERBOOK_UPDATE', key, seq: state.lastSeq, prevSeq, from, tsMs: state.tsMs, body };
  }

  forget(laggard: Laggard): void {
    const state = this.#state(laggard.joined.name);
    state.laggards.delete(laggard);
    if (state.laggards.size === 0) for (const side of SIDES) state.changed[side].clear();
  }

  #publishTo(state: State, touched: ReadonlyMap<Hex | null, Prices>, seq: number, tsMs: number): void {
    const { window, lastSeq: prevSeq, readers } = state;
    const own = window.view.taker === null ? undefined : touched.get(window.view.taker);
    const follow = (side: Side): LevelTotal[] =>
      window.follow(side, new Set([...(touched.get(null)?.[side] ?? []), ...(own?.[side] ?? [])]));
    const changes = { bid: follow('bid'), ask: follow('ask') };
    if (changes.bid.length + changes.ask.length === 0) return;
    const body = levelsJson(changes);
    const update = { type: 'ORDERBOOK_UPDATE', key: readers.key, seq, prevSeq, tsMs, body } as const;
    readers.publish((encoding) => encoding.message(update));
    state.lastSeq = seq;
    state.tsMs = tsMs;
    if (state.laggards.size > 0) this.#remember(state, changes, seq);
  }

  #remember(state: State, changes: Sides<readonly LevelTotal[]>, seq: number): void {
    for (const side of SIDES) for (const { price } of changes[side]) state.changed[side].set(price, seq);
    for (const laggard of state.laggards) laggard.missedSeq ??= seq;
    if (state.changed.bid.size + state.changed.ask.size <= this.mostInUpdate(state.window.view)) return;
    for (const laggard of state.laggards) laggard.isLost = true;
    for (const side of SIDES) state.changed[side].clear();
  }

  #state(name: string): State {
    const state = this.#byName.get(name);
    assert(state !== undefined, 'a topic with readers has a state');
    return state;
  }
}

interface LevelsRead {
  readonly levelsHash: Hex;
  readonly body: PriceLevelsJson;
}

/** The part of a book that a view shows. */
export function readLevels({ book }: Pick<CommittedBook, 'book'>, view: LevelView, hash: BookHash): LevelsRead {
  return levelsOf(new LevelWindow(book, view, hash));
}

function levelsOf(window: LevelWindow): LevelsRead {
  const body = levelsJson({ bid: window.levels('bid'), ask: window.levels('ask') });
  return { levelsHash: hashText(window.hash), body };
}

/** A level costs more than a row of a snapshot, since no slice ends between two of them. */
const ROWS_PER_LEVEL = 3;

export function noPrices(): Prices {
  return { bid: new Set(), ask: new Set() };
}

/** Without a taker the last part is `*`, as in the other channels' keys. */
export function orderbookKey(
  chainId: string,
  { poolAddress, taker }: Pick<LevelView, 'poolAddress' | 'taker'>,
): string {
  return `orderbook:${chainId}:${poolAddress}:${taker ?? '*'}`;
}

function levelsJson({ bid, ask }: Sides<readonly LevelTotal[]>): PriceLevelsJson {
  return { bids: bid.map(levelJson), asks: ask.map(levelJson) };
}

function levelJson({ price, size, count }: LevelTotal): PriceLevelsJson['bids'][number] {
  return { price: price.toString(), size: size.toString(), count };
}
