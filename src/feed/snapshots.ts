import { rowsChargedForReading } from '../system/paced-work.js';
import { hashText } from './book-hash.js';
import type { CommittedBook } from './committed-book.js';
import type { Encoding, EncodingName, QuotesPage } from './event-messages.js';
import type { Filter, FilterPart } from './filters.js';

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

/** Filters whose snapshots are shared between two events. */
const MOST_SHARED = 64;

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
