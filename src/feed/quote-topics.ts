import { assert } from '../engine/assert.js';
import type { Channel } from '../wire/socket.js';
import { addTerm, type BookHash } from './book-hash.js';
import type { CommittedBook, FillableSizeChange } from './committed-book.js';
import type { TimedEvent } from './event-history.js';
import type { EncodingName } from './event-messages.js';
import { type Filter, type FilterPart, routeOf } from './filters.js';
import { TopicIndex } from './topic-index.js';
import { type JoinedTopic, type NumberedTopic, type Outlet, publishEvent, Readers } from './topics.js';

interface State extends NumberedTopic {
  /** Sum over the quotes it lets through; null on RFQ, which has no book. */
  hash: bigint | null;
}

/** The topics of QUOTES and RFQ that have readers, each with its place in the sequence and the hash of its book. */
export class QuoteTopics {
  readonly outlet: Outlet;
  readonly #index: TopicIndex;
  readonly #states = new Map<string, State>();
  readonly #book: CommittedBook;
  readonly #hash: BookHash;

  constructor(chainId: string, book: CommittedBook, hash: BookHash, outlet: Outlet) {
    this.outlet = outlet;
    this.#index = new TopicIndex(chainId);
    this.#book = book;
    this.#hash = hash;
  }

  /** Distinct filters with at least one reader. */
  get size(): number {
    return this.#states.size;
  }

  /**
   * For a reader that has everything up to `seq`, and everything of its own up to the last event published: so nothing of
   * its own lies between the two, and the next message may follow either.
   */
  join(channel: Channel, filter: Filter, part: FilterPart, encoding: EncodingName, seq: number): JoinedTopic {
    const name = this.#index.join(part.key, filter.narrowing);
    let state = this.#states.get(name);
    if (state === undefined) {
      const hash = channel === 'QUOTES' ? this.#book.sum(filter, part.taker) : null;
      state = { readers: new Readers(this, part.key, name), lastSeq: seq, hash };
      this.#states.set(name, state);
    }
    state.lastSeq = Math.min(state.lastSeq, seq);
    return state.readers.join(encoding);
  }

  leave({ name, encoding }: JoinedTopic): void {
    const { readers } = this.#state(name);
    this.#index.leave(name);
    readers.leave(encoding);
    if (readers.isEmpty) this.#states.delete(name);
  }

  /** Of the book that the topic's readers follow; null: it follows none. */
  hashOf({ name }: JoinedTopic): bigint | null {
    return this.#state(name).hash;
  }

  /** `change`: what the event did to the book. */
  publish(timed: TimedEvent, change: FillableSizeChange | null): void {
    const route = this.size === 0 ? null : routeOf(timed.event);
    if (route === null) return;
    const names = this.#index.match(route);
    if (names.length === 0) return;
    const states = names.map((name) => this.#state(name));
    if (change !== null) this.#move(states, change);
    publishEvent(this.outlet, states, timed);
  }

  #move(states: readonly State[], { quote, before, after }: FillableSizeChange): void {
    const leaving = this.#hash.quoteTerm(quote.quoteId, before);
    const coming = this.#hash.quoteTerm(quote.quoteId, after);
    for (const state of states) if (state.hash !== null) state.hash = addTerm(state.hash, coming - leaving);
  }

  #state(name: string): State {
    const state = this.#states.get(name);
    assert(state !== undefined, 'a topic with readers has a state');
    return state;
  }
}
