import type { ChainSide } from './chain/chain-side-options.js';
import { isChainFailure } from './chain/contracts/contract-errors.js';
import type { FollowedBook } from './chain/follow/book-port.js';
import type { Rfq } from './engine/command.js';
import type { Engine } from './engine/engine.js';
import type { Hex, Order, Pool, PoolKey } from './engine/quote.js';
import type { Sequencer } from './engine/sequencer.js';
import type { RfqPorts } from './ws/ports.js';

export function* deployedPools(engine: Engine): Iterable<Pool> {
  for (const { pool } of engine.pools()) yield pool;
}

/** A live or invalid order; what is gone is kept for reorgs alone. */
export function knownOrder(engine: Engine, quoteId: Hex): Order | undefined {
  const order = engine.get(quoteId);
  return order?.state === 'gone' ? undefined : order;
}

/** What the readers of the chains see and do. */
export function followedBook(engine: Engine, sequencer: Sequencer): FollowedBook {
  return {
    submit: (command) => sequencer.submit(command).refusal === null,
    get: (quoteId) => knownOrder(engine, quoteId),
    isKnown: (quoteId) => engine.get(quoteId) !== undefined,
    ordersOf: (provider) => engine.ordersOf(provider),
    ordersIn: (poolAddress) => engine.ordersIn(poolAddress),
    quotedPools: () => engine.quotedPools(),
    providers: () => engine.providers(),
    touchedSince: (blockNumber) => engine.touchedSince(blockNumber),
  };
}

/** What requests for quotes need of the chains and the engine. */
export function rfqPorts(
  { pools }: Pick<ChainSide, 'pools'>,
  sequencer: Pick<Sequencer, 'submit' | 'whenDurable'>,
): RfqPorts {
  return {
    async poolAddressOf(poolKey: PoolKey) {
      try {
        const [pool] = await pools.resolve([poolKey]);
        return pool?.poolAddress ?? 'IMPOSSIBLE';
      } catch (error) {
        if (isChainFailure(error)) return 'UNAVAILABLE';
        throw error;
      }
    },
    async publish(rfq: Rfq) {
      const submitted = sequencer.submit({ type: 'PUBLISH_RFQ', rfq });
      if (submitted.refusal !== null) return submitted.refusal;
      await sequencer.whenDurable();
      return 'OK' as const;
    },
  };
}
