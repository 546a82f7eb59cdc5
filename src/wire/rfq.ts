import Type, { type Static, type TSchema } from 'typebox';
import type { RfqStatus } from '../engine/event.js';
import { OrderbookQuote, PoolKeyJson } from './orderbook.js';
import {
  Address,
  ChainId,
  closed,
  PageLimit,
  SafeUint,
  SideText,
  text,
  Uint256,
  UnixSeconds,
  UnixSecondsText,
} from './primitives.js';

export const RfqId = text<string>('^[0-9a-f]{32}$', 'Id of a request for quotes.');

const RFQ_STATUSES = [
  'open',
  'quoted',
  'partly_filled',
  'filled',
  'cancelled',
  'expired',
] as const satisfies readonly RfqStatus[];
export const RfqStatusJson = Type.Enum([...RFQ_STATUSES], { type: 'string' });

/** Legs of one request. */
const MOST_LEGS = 8;
const ClientId = text<string>('^[\\w.:-]{1,64}$', "The client's own name for its request.");

const LegRequest = closed({
  poolKey: Type.Optional(closed({ ...PoolKeyJson.properties, maturity: Type.Union([UnixSeconds, UnixSecondsText]) })),
  poolAddress: Type.Optional(Address),
  side: SideText,
  size: Uint256,
});

/** POST /rfqs. Each leg names its pool by `poolKey` or by `poolAddress`. */
export const PostRfqBody = closed({
  chainId: ChainId,
  taker: Address,
  legs: Type.Array(LegRequest, { minItems: 1, maxItems: MOST_LEGS }),
  clientId: Type.Optional(ClientId),
  validUntil: Type.Optional(UnixSeconds),
  minQuotes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 32, description: 'Quotes that there have to be before `best` is shown.' }),
  ),
  makers: Type.Optional(
    Type.Array(Address, { minItems: 1, maxItems: 16, description: 'Only quotes of these makers count.' }),
  ),
  anonymous: Type.Optional(
    Type.Boolean({ description: 'Makers see the zero address for the taker, and answer with public quotes.' }),
  ),
});
export type PostRfqBody = Static<typeof PostRfqBody>;

/** GET /rfqs. */
export const RfqsQuery = closed({
  chainId: ChainId,
  status: Type.Optional(RfqStatusJson),
  poolAddress: Type.Optional(Address),
  side: Type.Optional(SideText),
  taker: Type.Optional(Address),
  packageId: Type.Optional(RfqId),
  clientId: Type.Optional(ClientId),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(text<string>('^[0-9a-f]{32}$', '`next` of the page before.')),
});
export type RfqsQuery = Static<typeof RfqsQuery>;

function nullable<const S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

/** A request for quotes, as the key that sent it sees it. */
export const RfqJson = closed(
  {
    rfqId: RfqId,
    packageId: nullable(RfqId),
    leg: SafeUint,
    legs: SafeUint,
    clientId: nullable(Type.String()),
    status: RfqStatusJson,
    poolAddress: Address,
    side: SideText,
    size: Uint256,
    taker: Address,
    anonymous: Type.Boolean(),
    makers: Type.Array(Address),
    minQuotes: SafeUint,
    openedAt: UnixSeconds,
    validUntil: UnixSeconds,
    filledSize: Uint256,
    quotes: SafeUint,
    best: nullable(OrderbookQuote),
  },
  {
    description:
      'A request for quotes. `leg` of `legs` counts from 0. `quotes` in the book answer it; `best` is the best of them, null while there are fewer than `minQuotes`.',
  },
);
export type RfqJson = Static<typeof RfqJson>;

/** Answer of POST /rfqs and DELETE /rfqs/{rfqId}: a request for each leg, in their order. */
export const RfqsResult = closed({ rfqs: Type.Array(RfqJson) });
export type RfqsResult = Static<typeof RfqsResult>;

/** Answer of GET /rfqs. `next`: null on the last page. */
export const RfqsPage = closed({ next: nullable(RfqId), rfqs: Type.Array(RfqJson) });
export type RfqsPage = Static<typeof RfqsPage>;

export const RfqIdPath = closed({ rfqId: RfqId });

/** GET /rfqs/{rfqId}/cover. */
export const RfqCover = closed(
  {
    seq: SafeUint,
    legs: Type.Array(
      closed({
        rfqId: RfqId,
        poolAddress: Address,
        side: SideText,
        covered: Uint256,
        shortfall: Uint256,
        averagePrice: nullable(Uint256),
      }),
    ),
    net: Type.Array(
      closed({
        token: Address,
        amount: text<string>('^-?[0-9]+$', 'In 1e-18 tokens, without fees. Below 0: the taker receives it.'),
      }),
    ),
  },
  {
    description:
      'What the quotes of the book come to for what is still to be filled of each leg: premiums by token, sales deducted from purchases. Each leg is filled by a transaction of its own.',
  },
);
export type RfqCover = Static<typeof RfqCover>;

/** GET /rfqs/{rfqId}/competition. */
export const RfqCompetitionQuery = closed({ provider: Address });

export const RfqCompetition = closed(
  { rfqId: RfqId, status: RfqStatusJson, quotes: SafeUint, rank: nullable(SafeUint) },
  {
    description:
      '`rank` of the best quote of the maker among those that answer the request, 1 for the best price; equal prices have the same. Null: no quote of the maker answers it now.',
  },
);
export type RfqCompetition = Static<typeof RfqCompetition>;
