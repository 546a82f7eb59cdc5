import Type from 'typebox';
import type { Static } from 'typebox';
import { Epoch } from './feed-filters.js';
import { ServerMessageV2, TickerJson } from './feed-messages.js';
import { Address, ChainId, SafeUint, closed } from './primitives.js';
import { filterFields, type Channel } from './socket.js';

/** The channels whose messages are numbered one after the other, so that those missed can be had. */
export const NumberedChannel = Type.Enum(['QUOTES', 'RFQ', 'ORDERBOOK'], { type: 'string' });

/** Everything of a query string is text. Without `chainId` and `epoch` those that are served are meant. */
const eventsFrom = {
  chainId: Type.Optional(ChainId),
  epoch: Type.Optional(Epoch),
  fromSeq: Type.Unsafe<string>(
    Type.String({ pattern: '^[0-9]{1,15}$', description: 'Number of the last event that the reader has.' }),
  ),
};

/**
 * GET /events of QUOTES or RFQ. ORDERBOOK has a schema of its own; here it is for the refusal, which lists them all.
 */
export const EventsQuery = closed({ channel: Type.Unsafe<Channel>(NumberedChannel), ...filterFields, ...eventsFrom });
export type EventsQuery = Static<typeof EventsQuery>;

/** GET /events of ORDERBOOK. */
export const BookEventsQuery = closed({
  channel: Type.Literal('ORDERBOOK'),
  poolAddress: Address,
  depth: Type.Optional(Type.Unsafe<string>(Type.String({ pattern: '^[1-9][0-9]{0,8}$' }))),
  taker: Type.Optional(Address),
  ...eventsFrom,
});
export type BookEventsQuery = Static<typeof BookEventsQuery>;

/** Every parameter that GET /events may have, whatever the channel. */
export const AnyEventsQuery = closed({ ...BookEventsQuery.properties, ...EventsQuery.properties });

/**
 * Answer of GET /events. `seq`: there is nothing besides these messages up to here. `more`: the present is further on.
 */
export const EventsPage = closed({
  epoch: Epoch,
  seq: SafeUint,
  more: Type.Boolean(),
  messages: Type.Array(ServerMessageV2),
});
export type EventsPage = Static<typeof EventsPage>;

/** Answer of GET /tickers. */
export const TickersResult = closed({ epoch: Epoch, seq: SafeUint, tsMs: SafeUint, tickers: Type.Array(TickerJson) });

export type TickersResult = Static<typeof TickersResult>;

export const TickersQuery = closed({ chainId: ChainId });
export type TickersQuery = Static<typeof TickersQuery>;
