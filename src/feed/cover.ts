import type { OrderBook } from '../engine/order-book.js';
import { cover } from '../engine/queries.js';
import type { HeldQuote } from './committed-book.js';
import type { CoverRequest } from './filters.js';

/** A quote of a cover, and how much of it the cover takes: 1e-18 contracts. */
export interface CoverLeg extends HeldQuote {
  readonly take: bigint;
}

/** The quotes that cover a size best, best first. */
export interface Cover {
  readonly legs: readonly CoverLeg[];
  /** 1e-18 contracts that the legs cover, and that they do not. */
  readonly covered: bigint;
  readonly shortfall: bigint;
  /** 1e-18 per contract, weighted by size and rounded against the taker; null: there is no leg. */
  readonly averagePrice: bigint | null;
  readonly worstPrice: bigint | null;
  /** Unix seconds: the earliest deadline of a leg; null: there is no leg. */
  readonly deadline: number | null;
}

/** Computes the cover that GET /quotes answers, with at most `maxLegs` legs. */
export function coverOf(book: OrderBook, request: CoverRequest, maxLegs: number): Cover {
  const { poolAddress, side, size, taker, provider } = request;
  const query = { poolAddress, side, size, ...(taker && { taker }), ...(provider && { provider }) };
  const legs: CoverLeg[] = [];
  let covered = 0n;
  let paid = 0n;
  let deadline = Infinity;
  for (const { quote, fillableSize } of cover(book, query, maxLegs)) {
    const rest = size - covered;
    const take = fillableSize < rest ? fillableSize : rest;
    legs.push({ quote, fillableSize, take });
    covered += take;
    paid += take * quote.price;
    deadline = Math.min(deadline, quote.deadline);
  }
  const last = legs.at(-1);
  if (last === undefined) {
    return { legs, covered, shortfall: size, averagePrice: null, worstPrice: null, deadline: null };
  }
  const averagePrice = side === 'ask' ? (paid + covered - 1n) / covered : paid / covered;
  return { legs, covered, shortfall: size - covered, averagePrice, worstPrice: last.quote.price, deadline };
}
