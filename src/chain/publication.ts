import type { IdentifiedQuote } from './quote-states.js';

/**
 * What became of a publication: the book knows the quote, the checks at entry refused it, or its transaction failed.
 * Not sent: another's event of the quote was read while ours still waited, or its time was up.
 */
export type PublicationOutcome =
  | { readonly type: 'ENTERED'; readonly isSent: boolean }
  | { readonly type: 'REFUSED'; readonly isSent: boolean; readonly reason: string }
  | { readonly type: 'FAILED'; readonly error: Error };

/** Mined, and its event never came: a reorg took the transaction back. */
export class PublicationUnseen extends Error {
  override readonly name = 'PublicationUnseen';
}

export interface Publication {
  readonly quote: IdentifiedQuote;
  readonly outcome: Promise<PublicationOutcome>;
  readonly settle: (outcome: PublicationOutcome) => void;
  /** Its transaction is on the way: no longer in the queue. */
  isSent: boolean;
}
