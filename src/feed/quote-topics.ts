import { assert } from '../engine/assert.js';
import { addTerm, type BookHash } from './book-hash.js';
import type { BookChange, CommittedBook } from './committed-book.js';
import type { Encoding, EncodingName, PlacedIn } from './encoding.js';
import type { TimedEvent } from './event-history.js';
import { routeOf } from './route.js';
import { TopicIndex } from './topic-index.js';
import type { Channel, Filter, FilterPart } from './topics.js';

/** `NetServer.publish`: to every socket subscribed to `topic`, in the order of the calls. */
export type Publish = (topic: string, message: Uint8Array, isBinary: boolean) => void;

/** What a reader waits for under one key: a key with one narrowing, in one encoding. */
export interface JoinedTopic {
  /** As the network knows it. */
  readonly topic: string;
  readonly name: string;
  readonly key: string;
  readonly encoding: EncodingName;
}

interface State {
  readonly key: string;
  /** Number of the last message; before the first, of the last event when the topic came to be. */
  lastSeq: number;
  /** Sum over the quotes it lets through; null on RFQ, which has no book. */
  hash: bigint | null;
  readonly readers: Record<EncodingName, number>;
}

/** The topics of QUOTES and RFQ that have readers, each with its place in the sequence and the hash of its book. */
export class QuoteTopics {
  readonly #index: TopicIndex;
  readonly #states = new Map<string, State>();
  readonly #book: CommittedBook;
  readonly #hash: BookHash;
  readonly #encodings: readonly Encoding[];
  readonly #publish: Publish;

  constructor(chainId: string, book: CommittedBook, hash: BookHash, encodings: readonly Encoding[], publish: Publish) {
    this.#index = new TopicIndex(chainId);
    this.#book = book;
    this.#hash = hash;
    this.#encodings = encodings;
    this.#publish = publish;
  }

  /** Distinct filters with at least one reader. */
  get size(): number {
    return this.#states.size;
  }

  /**
   * For a reader that has everything up to `seq`, and everything of its own up to the last event told: so nothing of
   * its own lies between the two, and the next message may follow either.
   */
  join(channel: Channel, filter: Filter, part: FilterPart, encoding: EncodingName, seq: number): JoinedTopic {
    const name = this.#index.join(part.key, filter.narrowing);
    let state = this.#states.get(name);
    if (state === undefined) {
      const hash = channel === 'QUOTES' ? this.#book.sum(filter, part.taker) : null;
      state = { key: part.key, lastSeq: seq, hash, readers: { json: 0, msgpack: 0 } };
      this.#states.set(name, state);
    }
    state.readers[encoding] += 1;
    state.lastSeq = Math.min(state.lastSeq, seq);
    return { topic: networkTopic(encoding, name), name, key: part.key, encoding };
  }

  leave({ name, encoding }: JoinedTopic): void {
    const state = this.#state(name);
    this.#index.leave(name);
    state.readers[encoding] -= 1;
    if (state.readers.json + state.readers.msgpack === 0) this.#states.delete(name);
  }

  /** Of the book that the topic's readers follow; null: it follows none. */
  hashOf({ name }: JoinedTopic): bigint | null {
    return this.#state(name).hash;
  }

  /** `change`: what the event did to the book. */
  tell(timed: TimedEvent, change: BookChange | null): void {
    const route = this.size === 0 ? null : routeOf(timed.event);
    if (route === null) return;
    const names = this.#index.match(route);
    if (names.length === 0) return;
    const states = names.map((name) => [name, this.#state(name)] as const);
    if (change !== null) this.#move(states, change);
    for (const encoding of this.#encodings) {
      let placedIn: PlacedIn | null | undefined;
      for (const [name, { key, lastSeq, readers }] of states) {
        if (readers[encoding.name] === 0) continue;
        placedIn ??= encoding.event(timed);
        if (placedIn === null) return;
        this.#publish(networkTopic(encoding.name, name), placedIn({ key, prevSeq: lastSeq }), encoding.isBinary);
      }
    }
    for (const [, state] of states) state.lastSeq = timed.event.seq;
  }

  #move(states: readonly (readonly [string, State])[], { quote, before, after }: BookChange): void {
    const leaving = this.#hash.quoteTerm(quote.quoteId, before);
    const coming = this.#hash.quoteTerm(quote.quoteId, after);
    for (const [, state] of states) if (state.hash !== null) state.hash = addTerm(state.hash, coming - leaving);
  }

  #state(name: string): State {
    const state = this.#states.get(name);
    assert(state !== undefined, 'a topic with readers has a state');
    return state;
  }
}

/** Plain readers' topics have no such prefix. */
export function networkTopic(encoding: EncodingName, name: string): string {
  return `${encoding}:${name}`;
}
