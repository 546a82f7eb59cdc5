import type { Channel } from '../wire/socket.js';
import { assert } from '../engine/assert.js';
import { rowsChargedForReading } from '../system/paced-work.js';
import { addTerm, type BookHash, hashText } from './book-hash.js';
import type { FillableSizeChange, CommittedBook } from './committed-book.js';
import type { TimedEvent } from './event-history.js';
import type { Encoding, EncodingName, MessageTemplate, QuotesPage } from './event-messages.js';
import { type Filter, type FilterPart, routeOf } from './filters.js';
import { TopicIndex } from './topic-index.js';

/** `NetServer.publish`: to every socket subscribed to `topic`, in the order of the calls. */
export type Publish = (topic: string, message: Uint8Array, isBinary: boolean) => void;

/** A reader's topic: one key with one narrowing, in one encoding. */
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
   * For a reader that has everything up to `seq`, and everything of its own up to the last event published: so nothing of
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
  publish(timed: TimedEvent, change: FillableSizeChange | null): void {
    const route = this.size === 0 ? null : routeOf(timed.event);
    if (route === null) return;
    const names = this.#index.match(route);
    if (names.length === 0) return;
    const states = names.map((name) => [name, this.#state(name)] as const);
    if (change !== null) this.#move(states, change);
    for (const encoding of this.#encodings) {
      let placedIn: MessageTemplate | null | undefined;
      for (const [name, { key, lastSeq, readers }] of states) {
        if (readers[encoding.name] === 0) continue;
        placedIn ??= encoding.event(timed);
        if (placedIn === null) return;
        this.#publish(networkTopic(encoding.name, name), placedIn({ key, prevSeq: lastSeq }), encoding.isBinary);
      }
    }
    for (const [, state] of states) state.lastSeq = timed.event.seq;
  }

  #move(states: readonly (readonly [string, State])[], { quote, before, after }: FillableSizeChange): void {
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

/** The book at one moment as a filter shows it, in pages that can be sent later. */
export interface QuotesSnapshotPages {
  readonly quotes: number;
  pages(): Generator<QuotesPage>;
}

/** `seq`, `tsMs`: the last event published. Every key has at least one page; all but its last say that more follow. */
export function takeSnapshot(
  book: CommittedBook,
  filter: Filter,
  parts: readonly FilterPart[],
  { seq, tsMs, pageQuotes }: { readonly seq: number; readonly tsMs: number; readonly pageQuotes: number },
): QuotesSnapshotPages {
  const taken = parts.map(({ key, taker }) => {
    const { held, sum } = book.take(filter, taker);
    return { key, hash: hashText(sum), held };
  });
  return {
    quotes: taken.reduce((sum, { held }) => sum + held.length, 0),
    *pages() {
      for (const { key, hash, held } of taken) {
        let start = 0;
        do {
          const page = held.slice(start, start + pageQuotes);
          start += pageQuotes;
          yield { key, seq, tsMs, hash, more: start < held.length, held: page };
        } while (start < held.length);
      }
    },
  };
}

/** In words for clients why such a snapshot is not given; null: it is. */
export function validateSnapshotSize({ quotes }: Pick<QuotesSnapshotPages, 'quotes'>, most: number): string | null {
  return quotes > most ? `Too many quotes for a snapshot: ${quotes}, at most ${most}. Name a pool` : null;
}

/** A snapshot that others who request the same before the next event share. */
export interface SharedSnapshot {
  readonly quotes: number;
  /** Rows that taking it is charged for; 0 where it had been taken already. */
  readonly rowsRead: number;
  /** Its messages, each written by the first reader that comes to it. `rows`: quotes in it. */
  messages(encoding: Encoding): Generator<{ readonly rows: number; readonly message: Uint8Array }, undefined>;
}

/** A snapshot that was taken at one `seq`, under one filter. */
interface Taken {
  readonly pages: readonly QuotesPage[];
  readonly quotes: number;
  /** By the page's place. Emptied when the next event comes: those who are not through write the rest themselves. */
  readonly written: Record<EncodingName, Map<number, Uint8Array>>;
}

/**
 * Snapshots of the present book. Readers that come together, as after a restart, request the same ones: the book is
 * read once for each filter, and each page is written once.
 */
export class SharedSnapshots {
  readonly #maxBytes: number;
  readonly #taken = new Map<string, Taken>();
  #seq = -1;
  #bytes = 0;

  /** `maxBytes`: of all written messages that are kept. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** As `takeSnapshot`. */
  take(
    book: CommittedBook,
    filter: Filter,
    parts: readonly FilterPart[],
    at: { readonly seq: number; readonly tsMs: number; readonly pageQuotes: number },
  ): SharedSnapshot {
    if (at.seq !== this.#seq) this.#forget(at.seq);
    const { narrowing } = filter;
    const name = [at.pageQuotes, narrowing.provider, narrowing.minSize, ...parts.map(({ key }) => key)].join(' ');
    const known = this.#taken.get(name);
    if (known !== undefined) return this.#shared(known, 0);
    const snapshot = takeSnapshot(book, filter, parts, at);
    const taken: Taken = {
      pages: [...snapshot.pages()],
      quotes: snapshot.quotes,
      written: { json: new Map(), msgpack: new Map() },
    };
    if (this.#taken.size < MOST_SHARED) this.#taken.set(name, taken);
    return this.#shared(taken, rowsChargedForReading(parts.length * book.candidates(filter)));
  }

  #shared(taken: Taken, rowsRead: number): SharedSnapshot {
    const { pages, quotes } = taken;
    const write = (place: number, page: QuotesPage, encoding: Encoding) => this.#write(taken, place, page, encoding);
    return {
      quotes,
      rowsRead,
      *messages(encoding) {
        for (const [place, page] of pages.entries()) {
          yield { rows: page.held.length, message: write(place, page, encoding) };
        }
        return undefined;
      },
    };
  }

  #write(taken: Taken, place: number, page: QuotesPage, encoding: Encoding): Uint8Array {
    const written = taken.written[encoding.name];
    const known = written.get(place);
    if (known !== undefined) return known;
    const message = encoding.quotes(page);
    if (page.seq === this.#seq && this.#bytes + message.length <= this.#maxBytes) {
      written.set(place, message);
      this.#bytes += message.length;
    }
    return message;
  }

  #forget(seq: number): void {
    for (const { written } of this.#taken.values()) {
      written.json.clear();
      written.msgpack.clear();
    }
    this.#taken.clear();
    this.#bytes = 0;
    this.#seq = seq;
  }
}

/** Filters whose snapshots are shared between two events. */
const MOST_SHARED = 64;
