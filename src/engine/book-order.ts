import type { PoolBook } from './book.js';
import { UNCHANGED, type Summed } from './changing-sum.js';
import type { Level } from './level.js';
import type { Order } from './order.js';
import { isPrivate, type InvalidReason, type Quote } from './quote.js';
import type { Roster } from './roster.js';
import type { Lanes } from './word-mixer.js';

/** Stands for "no settlement block": below every block number. */
export const NO_BLOCK = -1;

/** The engine's own side of an Order: the same object that readers see, with what only the engine needs. */
export class BookOrder implements Order, Summed {
  readonly quote: Quote;
  fillableSize = 0n;
  state: Order['state'] = 'gone';
  reason: InvalidReason | null = null;

  readonly isPrivate: boolean;
  /** First Unix second in which it is expired: past its deadline, or at its pool's maturity. */
  readonly due: number;
  /** Age: copied from the quote's origin, because comparing ages is most of what a crowded level does. */
  readonly blockNumber: number;
  readonly logIndex: number;

  /** Newest settlement block that said something of it; NO_BLOCK when no reorg can undo that block any more. */
  touchedBlock = NO_BLOCK;
  /** Settlement block whose end `fillableSize` was read at; fills up to it are in it already. NO_BLOCK as above. */
  readBlock = NO_BLOCK;

  /** Where it is listed while it is not gone, so that moving it looks nothing up. */
  pool: PoolBook | null = null;
  ofProvider: Roster<BookOrder> | null = null;
  placeInPool = 0;
  placeOfProvider = 0;
  /** What OrderIndex has it under, kept so that taking it out reads no digits; and another with the same key. */
  indexKey = 0;
  sameKey: BookOrder | null = null;
  placeByDue = 0;
  placeByOrigin = 0;
  placeByTouch = 0;
  /** Its place in the book while `live`. */
  level: Level | null = null;
  older: BookOrder | null = null;
  newer: BookOrder | null = null;

  /** Its part of the state sum; null until a sum was wanted. */
  lanes: Lanes | null = null;
  placeAmongChanged = UNCHANGED;

  constructor(quote: Quote) {
    this.quote = quote;
    this.isPrivate = isPrivate(quote);
    this.due = dueSecond(quote);
    this.blockNumber = quote.origin.blockNumber;
    this.logIndex = quote.origin.logIndex;
  }
}

/** First Unix second in which the quote is expired (`now > deadline`, or `now >= maturity`). */
export function dueSecond(quote: Pick<Quote, 'deadline' | 'pool'>): number {
  return Math.min(quote.deadline + 1, quote.pool.poolKey.maturity);
}

/** Older first. One log makes one quote, so the id decides only between quotes that no chain could have made. */
export function compareAge(a: BookOrder, b: BookOrder): number {
  if (a.blockNumber !== b.blockNumber) return a.blockNumber - b.blockNumber;
  if (a.logIndex !== b.logIndex) return a.logIndex - b.logIndex;
  if (a.quote.quoteId === b.quote.quoteId) return 0;
  return a.quote.quoteId < b.quote.quoteId ? -1 : 1;
}
