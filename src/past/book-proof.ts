import type { ChainPosition } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import { type Hex, isPrivate, type Order, reasonName } from '../engine/quote.js';
import { addTerm, type BookHash, hashText } from '../feed/book-hash.js';
import type { BookProof } from '../wire/history.js';
import type { QuoteJson } from '../wire/quote-json.js';

type Position = BookProof['stream'];
type ProvenQuote = BookProof['quotes'][number];

export interface BookProofParts {
  readonly chainId: string;
  readonly streamContract: Hex;
  readonly quoteJson: QuoteJson;
  readonly bookHash: BookHash;
}

/** The public quotes of a pool as the engine has them, with where on the chains it has them from. */
export function bookProof(
  engine: Engine,
  poolAddress: Hex,
  { chainId, streamContract, quoteJson, bookHash }: BookProofParts,
): BookProof {
  const orders = [...engine.ordersIn(poolAddress)].filter(({ quote }) => !isPrivate(quote));
  const proven = (order: Order): ProvenQuote => {
    const { blockNumber, txHash, logIndex } = order.quote.origin;
    const quote = JSON.parse(quoteJson.encode(order)) as ProvenQuote['quote'];
    return { quote, published: { blockNumber, txHash, logIndex } };
  };
  const ofState = (state: Order['state']): Order[] => orders.filter((order) => order.state === state);
  const live = ofState('live').map(proven);
  const hash = ofState('live').reduce(
    (sum, { quote, fillableSize }) => addTerm(sum, bookHash.quoteTerm(quote.quoteId, fillableSize)),
    0n,
  );
  const { stream, settlement } = engine.positions();
  return {
    chainId,
    poolAddress,
    poolKey: live[0]?.quote.poolKey ?? keyOf(engine, poolAddress),
    seq: engine.seq,
    tsMs: engine.tsMs,
    hash: hashText(hash),
    streamContract,
    stream: positionJson(stream),
    settlement: positionJson(settlement),
    quotes: live,
    invalid: ofState('invalid').flatMap((order) =>
      order.reason === null ? [] : { reason: reasonName(order.reason), ...proven(order) },
    ),
    withdrawn: ofState('withdrawn').map(proven),
  };
}

function keyOf(engine: Engine, poolAddress: Hex): BookProof['poolKey'] {
  const key = engine.pool(poolAddress)?.pool.poolKey;
  return key === undefined ? null : { ...key, strike: key.strike.toString() };
}

function positionJson(position: ChainPosition | null): Position {
  if (position === null) return null;
  const { blockNumber, blockHash, logIndex } = position;
  return { blockNumber, blockHash, logIndex };
}
