import { hashText } from './book-hash.js';
import type { CommittedBook, HeldQuote } from './committed-book.js';
import type { QuotesPage } from './encoding.js';
import type { Filter, FilterPart } from './topics.js';

/** What a filter shows of the book at one moment, in pages that can be sent later on. */
export interface QuotesSnapshotPages {
  readonly quotes: number;
  pages(): Generator<QuotesPage>;
}

/** `seq`, `tsMs`: the last event told. Every key has at least one page; all but its last say that more follow. */
export function takeSnapshot(
  book: CommittedBook,
  filter: Filter,
  parts: readonly FilterPart[],
  { seq, tsMs, pageQuotes }: { readonly seq: number; readonly tsMs: number; readonly pageQuotes: number },
): QuotesSnapshotPages {
  const taken = parts.map(({ key, taker }) => ({
    key,
    hash: hashText(book.sum(filter, taker)),
    held: book.select(filter, taker),
  }));
  return {
    quotes: taken.reduce((sum, { held }) => sum + held.length, 0),
    *pages() {
      for (const { key, hash, held } of taken) {
        let rest: readonly HeldQuote[] = held;
        do {
          const page = rest.slice(0, pageQuotes);
          rest = rest.slice(pageQuotes);
          yield { key, seq, tsMs, hash, more: rest.length > 0, held: page };
        } while (rest.length > 0);
      }
    },
  };
}

/** In words for clients why such a snapshot is not given; null: it is. */
export function whyTooLarge({ quotes }: Pick<QuotesSnapshotPages, 'quotes'>, most: number): string | null {
  return quotes > most ? `Too many quotes for a snapshot: ${quotes}, at most ${most}. Name a pool` : null;
}
