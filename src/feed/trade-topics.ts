import { assert } from '../engine/assert.js';
import type { EngineEvent } from '../engine/event.js';
import type { TimedEvent } from './event-history.js';
import type { Encoding, EncodingName } from './event-messages.js';
import type { TradeSelection } from './filters.js';
import { type JoinedTopic, type NumberedTopic, type Outlet, publishEvent, Readers } from './topics.js';

export function tradesKey(chainId: string, { poolAddress, provider }: TradeSelection): string {
  return `trades:${chainId}:${poolAddress ?? '*'}:${provider ?? '*'}`;
}

/** Past trades for one reader: the same messages as when they were new. */
export class TradeReplay {
  /** Number of the last message, or where the reader began. */
  lastSeq: number;
  readonly #key: string;
  readonly #selection: TradeSelection;

  /** The reader has everything up to `fromSeq`. */
  constructor(key: string, selection: TradeSelection, fromSeq: number) {
    this.#key = key;
    this.#selection = selection;
    this.lastSeq = fromSeq;
  }

  take(events: readonly TimedEvent[], encoding: Encoding): Uint8Array[] {
    return events.flatMap((timed) => {
      if (!isSelected(timed.event, this.#selection)) return [];
      const placedIn = encoding.event(timed);
      if (placedIn === null) return [];
      const message = placedIn({ key: this.#key, prevSeq: this.lastSeq });
      this.lastSeq = timed.event.seq;
      return [message];
    });
  }
}

/** A reorg names no pool: it concerns every reader. */
function isSelected(event: EngineEvent, { poolAddress, provider }: TradeSelection): boolean {
  if (event.type === 'TRADES_UNDONE') return true;
  if (event.type !== 'TRADE_RECORDED') return false;
  const { trade } = event;
  if (poolAddress !== null && trade.pool.poolAddress !== poolAddress) return false;
  return provider === null || trade.provider === provider;
}

/** The topics of TRADES that have readers, each with its place in the sequence. */
export class TradeTopics {
  readonly outlet: Outlet;
  readonly #chainId: string;
  readonly #states = new Map<string, NumberedTopic>();

  constructor(chainId: string, outlet: Outlet) {
    this.outlet = outlet;
    this.#chainId = chainId;
  }

  /** Topics with at least one reader. */
  get size(): number {
    return this.#states.size;
  }

  /** For a reader that has everything up to `seq`, and every trade of its own that was published. */
  join(selection: TradeSelection, encoding: EncodingName, seq: number): JoinedTopic {
    const key = tradesKey(this.#chainId, selection);
    const state = this.#states.get(key) ?? { readers: new Readers(this, key), lastSeq: seq };
    state.lastSeq = Math.min(state.lastSeq, seq);
    this.#states.set(key, state);
    return state.readers.join(encoding);
  }

  leave({ key, encoding }: JoinedTopic): void {
    const state = this.#states.get(key);
    assert(state !== undefined, 'a topic with readers has a state');
    state.readers.leave(encoding);
    if (state.readers.isEmpty) this.#states.delete(key);
  }

  publish(timed: TimedEvent): void {
    if (this.size === 0) return;
    const joined = this.#keysOf(timed.event).flatMap((key) => this.#states.get(key) ?? []);
    publishEvent(this.outlet, joined, timed);
  }

  /** A trade has at most four keys; a reorg those of every reader. */
  #keysOf(event: EngineEvent): string[] {
    if (event.type === 'TRADES_UNDONE') return [...this.#states.keys()];
    if (event.type !== 'TRADE_RECORDED') return [];
    const { provider, pool } = event.trade;
    return [pool.poolAddress, null].flatMap((poolAddress) =>
      [provider, null].map((each) => tradesKey(this.#chainId, { poolAddress, provider: each })),
    );
  }
}
