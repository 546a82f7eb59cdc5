import Type, { type Static } from 'typebox';
import { InvalidQuote, OrderbookQuote, PoolKeyJson } from './orderbook.js';
import { Address, ChainId, closed, Hash, SafeUint, text } from './primitives.js';

/** GET /book/{pool}/proof. */
export const BookProofPath = closed({ pool: Address });

export const BookProofQuery = closed({
  chainId: ChainId,
  seq: text<string>('^[0-9]{1,15}$', 'The event of the log that the book is as of.'),
});
export type BookProofQuery = Static<typeof BookProofQuery>;

const Position = Type.Union(
  [closed({ blockNumber: SafeUint, blockHash: Hash, logIndex: Type.Union([SafeUint, Type.Null()]) }), Type.Null()],
  { description: 'How far the chain was read; `logIndex` null: the whole block. Null: nothing was read.' },
);
const published = closed({ blockNumber: SafeUint, txHash: Hash, logIndex: SafeUint });

export const BookProof = closed(
  {
    chainId: ChainId,
    poolAddress: Address,
    poolKey: Type.Union([PoolKeyJson, Type.Null()]),
    seq: SafeUint,
    tsMs: SafeUint,
    hash: Hash,
    streamContract: Address,
    stream: Position,
    settlement: Position,
    quotes: Type.Array(closed({ quote: OrderbookQuote, published }), { description: 'The public quotes of the book.' }),
    invalid: Type.Array(closed({ ...InvalidQuote.properties, published })),
    withdrawn: Type.Array(closed({ quote: OrderbookQuote, published }), {
      description: 'Hidden by their providers: the chain says nothing of it.',
    }),
  },
  { description: "What it takes to compute a pool's book hash from the chains alone." },
);
export type BookProof = Static<typeof BookProof>;
