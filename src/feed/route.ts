import type { EngineEvent } from '../engine/event.js';
import { sideOf, type Quote } from '../engine/quote.js';
import type { Route } from './topics.js';

/** Where an event's messages go; null: it concerns no channel. */
export function routeOf(event: EngineEvent): Route | null {
  switch (event.type) {
    case 'POOL_DEPLOYED':
    case 'POOL_WITHDRAWN':
      return null;
    case 'RFQ_PUBLISHED': {
      const { poolAddress, side, taker, size } = event.rfq;
      return { channel: 'RFQ', poolAddress, side, taker, provider: null, size };
    }
    default:
      return quoteRoute(event.order.quote);
  }
}

export function quoteRoute(quote: Quote): Route {
  const { pool, taker, provider, size } = quote;
  return { channel: 'QUOTES', poolAddress: pool.poolAddress, side: sideOf(quote), taker, provider, size };
}
