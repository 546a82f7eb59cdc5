import type { BookPort } from '../chain/follow/book-port.js';
import type { Engine } from '../engine/engine.js';
import type { Hex, Order, Pool } from '../engine/quote.js';
import type { Sequencer } from '../engine/sequencer.js';
import type { BookQueries } from '../http/orderbook-routes.js';
import type { CommittedRecords } from './core.js';

/** A live or invalid order; what is gone is kept for reorgs alone. */
export function knownOrder(engine: Engine, quoteId: Hex): Order | undefined {
  const order = engine.get(quoteId);
  return order?.state === 'gone' ? undefined : order;
}

/** A pool that is deployed, or that a quote of the book names; undefined: the engine knows none at this address. */
export function knownPool(engine: Pick<Engine, 'pool' | 'ordersIn'>, poolAddress: Hex): Pool | undefined {
  const deployed = engine.pool(poolAddress)?.pool;
  if (deployed !== undefined) return deployed;
  for (const { quote } of engine.ordersIn(poolAddress)) return quote.pool;
  return undefined;
}

/** The book as the readers of the chains see and change it. */
export function followedBook(engine: Engine, sequencer: Sequencer): BookPort {
  return {
    submit: (command) => sequencer.submit(command).refusal === null,
    get: (quoteId) => knownOrder(engine, quoteId),
    isKnown: (quoteId) => engine.get(quoteId) !== undefined,
    hasPool: (poolAddress) => engine.hasPool(poolAddress),
    pool: (poolAddress) => knownPool(engine, poolAddress),
    ordersOf: (provider) => engine.ordersOf(provider),
    ordersIn: (poolAddress) => engine.ordersIn(poolAddress),
    quotedPools: () => engine.quotedPools(),
    providers: () => engine.providers(),
    touchedSince: (blockNumber) => engine.touchedSince(blockNumber),
    goneSince: (blockNumber) => engine.goneSince(blockNumber),
  };
}

/** The book as routes read it. */
export function bookQueries(engine: Engine, records: Pick<CommittedRecords, 'whenDurable'>): BookQueries {
  return {
    cover: engine.cover.bind(engine),
    privateQuotes: engine.privateQuotes.bind(engine),
    orders: engine.orders.bind(engine),
    candidates: engine.candidateCount.bind(engine),
    whenDurable: () => records.whenDurable(),
    index: () => engine.index,
  };
}
