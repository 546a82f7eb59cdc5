import type { EngineEvent } from '../engine/event.js';
import { sideOf } from '../engine/quote.js';
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
    default: {
      const { pool, taker, provider, size } = event.order.quote;
      const side = sideOf(event.order.quote);
      return { channel: 'QUOTES', poolAddress: pool.poolAddress, side, taker, provider, size };
    }
  }
}
