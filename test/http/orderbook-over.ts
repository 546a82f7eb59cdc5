import { createHash } from 'node:crypto';
import { bookQueries } from '../../src/app/book-views.js';
import { TakerAccess } from '../../src/auth/taker-access.js';
import type { Engine } from '../../src/engine/engine.js';
import { orderbookRoutes } from '../../src/http/orderbook-routes.js';
import type { LargeAnswerRunner } from '../../src/http/responses.js';
import type { Route } from '../../src/http/router.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { answersAtOnce } from './ask-route.js';

export const CHAIN_ID = '421613';

export interface Surroundings {
  readonly ordersPerTurn: number;
  /** As the sequencer's; by default all is durable. */
  readonly whenDurable?: () => Promise<void> | null;
  readonly yieldToEventLoop?: () => Promise<void>;
  /** By default large answers are made at once. */
  readonly answers?: LargeAnswerRunner;
  /** By default privacy is open. */
  readonly takers?: TakerAccess;
}

/** The routes over an engine as it is, with nothing between them. */
export function orderbookOver(engine: Engine, surroundings: Surroundings): Route[] {
  const { ordersPerTurn, whenDurable, yieldToEventLoop } = surroundings;
  const book = bookQueries(engine, { whenDurable: whenDurable ?? (() => null) });
  const limits = {
    quoteIdsPerRequest: 10,
    queryPairs: 20,
    schemaErrors: 5,
    bodyParts: 100,
    rowsPerSlice: ordersPerTurn,
    rememberedAnswerBytes: 1 << 20,
  };
  const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');
  const quoteJson = new QuoteJson(CHAIN_ID, 100);
  const takers = surroundings.takers ?? new TakerAccess('open', () => null);
  const turn = yieldToEventLoop ?? (() => Promise.resolve());
  const answers = surroundings.answers ?? answersAtOnce({ turn, charge: () => undefined });
  const named = new QuoteJson(CHAIN_ID, 100, ({ poolKey }) => (poolKey.isCallPool ? 'A-B-29NOV30-1-C' : null));
  const parts = { book, quoteJson, namedQuoteJson: named, chainId: CHAIN_ID, limits, digest, answers, takers };
  return orderbookRoutes({ ...parts, past: null });
}
