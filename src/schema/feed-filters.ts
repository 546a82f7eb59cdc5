import Type from 'typebox';
import type { Static, TSchema } from 'typebox';
import { Address, ChainId, SafeUint, closed } from './primitives.js';
import { Channel, filterFields } from './socket.js';

/** What is followed, and what a client says to follow it. The plain protocol's messages are in socket.ts. */
export const FeedChannel = Type.Enum(['QUOTES', 'RFQ', 'ORDERBOOK', 'TICKER'], { type: 'string' });
export type FeedChannel = Static<typeof FeedChannel>;

export const Epoch = Type.String({ pattern: '^[0-9a-f]{16}$', description: 'Tells one log from another.' });

/** Where a reader goes on: it has everything up to `fromSeq`. */
const resume = { epoch: Type.Optional(Epoch), fromSeq: Type.Optional(SafeUint) };

export const FilterV2Message = closed({
  type: Type.Literal('FILTER'),
  channel: Channel,
  body: closed({ ...filterFields, ...resume, snapshot: Type.Optional(Type.Boolean()) }),
});
export type FilterV2Message = Static<typeof FilterV2Message>;

function bookFilter<const P extends Record<string, TSchema>>(maxDepth: number, more: P) {
  return closed({
    type: Type.Literal('FILTER'),
    channel: Type.Literal('ORDERBOOK'),
    body: closed({
      chainId: ChainId,
      poolAddress: Address,
      depth: Type.Optional(Type.Integer({ minimum: 1, maximum: maxDepth })),
      taker: Type.Optional(Address),
      ...more,
    }),
  });
}

/** `maxDepth`: most levels of a side. */
export function orderbookFilterMessage(maxDepth: number) {
  return bookFilter(maxDepth, resume);
}
export type OrderbookFilterMessage = Static<ReturnType<typeof orderbookFilterMessage>>;

/** A plain connection is told no epoch that it could go on from. */
export function plainOrderbookFilterMessage(maxDepth: number) {
  return bookFilter(maxDepth, {});
}

/**
 * Without a pool: every pool's. There is nothing to resume: a snapshot comes first, and each message is a whole ticker.
 */
export const TickerFilterMessage = closed({
  type: Type.Literal('FILTER'),
  channel: Type.Literal('TICKER'),
  body: closed({ chainId: ChainId, poolAddress: Type.Optional(Address) }),
});
export type TickerFilterMessage = Static<typeof TickerFilterMessage>;

export const UnsubscribeV2Message = closed({
  type: Type.Literal('UNSUBSCRIBE'),
  channel: FeedChannel,
  body: Type.Optional(Type.Null()),
});
export type UnsubscribeV2Message = Static<typeof UnsubscribeV2Message>;
