import { createHash } from 'node:crypto';
import type { Engine } from '../../src/engine/engine.js';
import { orderbookRoutes } from '../../src/http/orderbook-routes.js';
import type { Route } from '../../src/http/router.js';
import { QuoteJson } from '../../src/schema/quote-json.js';

export const CHAIN_ID = '421613';

export interface Surroundings {
  readonly ordersPerTurn: number;
  /** As the sequencer's; by default all is durable. */
  readonly whenDurable?: () => Promise<void> | null;
  readonly othersTurn?: () => Promise<void>;
}

/** The routes over an engine as it is, with nothing between them. */
export function orderbookOver(engine: Engine, { ordersPerTurn, whenDurable, othersTurn }: Surroundings): Route[] {
  const book = {
    cover: engine.cover.bind(engine),
    privateQuotes: engine.privateQuotes.bind(engine),
    orders: engine.orders.bind(engine),
    whenDurable: whenDurable ?? (() => null),
    index: () => engine.index,
  };
  const limits = {
    quoteIdsPerRequest: 10,
    queryPairs: 20,
    schemaErrors: 5,
    ordersPerTurn,
    rememberedAnswerBytes: 1 << 20,
  };
  const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');
  const quoteJson = new QuoteJson(CHAIN_ID, 100);
  return orderbookRoutes(book, quoteJson, CHAIN_ID, limits, digest, othersTurn ?? (() => Promise.resolve()));
}
