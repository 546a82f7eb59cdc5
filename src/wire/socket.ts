import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { OrderbookQuote, PoolKeyJson, postQuotesBody } from './orderbook.js';
import {
  Address,
  AddressOrAll,
  ChainId,
  closed,
  InstrumentName,
  SafeUint,
  SideText,
  Uint256,
  UnixSeconds,
  UnixSecondsText,
} from './primitives.js';
import { DisconnectBody, FillLimitBody, HeartbeatBody } from './protections.js';
import { cancelQuotesBody } from './trading.js';
import { withdrawalBody } from './withdrawals.js';

/** Messages of the plain WebSocket protocol. A message's `type` says which schema holds. */
const NoBody = Type.Optional(Type.Null());

/** `RFQ` is the requests for quotes, `QUOTES` what happens to quotes. */
export const Channel = Type.Enum(['QUOTES', 'RFQ'], { type: 'string' });
export type Channel = Static<typeof Channel>;

/** Fields that both QUOTES and RFQ are filtered by, in every protocol. */
export const filterFields = {
  chainId: ChainId,
  poolAddress: Type.Optional(Address),
  side: Type.Optional(SideText),
  size: Type.Optional(Uint256),
  provider: Type.Optional(Address),
  taker: Type.Optional(AddressOrAll),
};

export const AuthMessage = closed({ type: Type.Literal('AUTH'), apiKey: Type.String(), body: NoBody });
export type AuthMessage = Static<typeof AuthMessage>;

export const FilterMessage = closed({ type: Type.Literal('FILTER'), channel: Channel, body: closed(filterFields) });
export type FilterMessage = Static<typeof FilterMessage>;

export const UnsubscribeMessage = closed({ type: Type.Literal('UNSUBSCRIBE'), channel: Channel, body: NoBody });
export type UnsubscribeMessage = Static<typeof UnsubscribeMessage>;

const rfq = { side: SideText, chainId: ChainId, size: Uint256, taker: Address };

/** A request for quotes names its pool by key, or in the older form by address: exactly one of the two. */
export const RfqByPoolKey = closed({ poolKey: PoolKeyJson, ...rfq });
export const RfqByPoolAddress = closed({ poolAddress: Address, ...rfq });

/** As clients may send it: the protocol's public SDK writes the maturity as text. It is published as a number. */
export const RfqByPoolKeyRequest = closed({
  type: Type.Literal('RFQ'),
  body: closed({
    poolKey: closed({ ...PoolKeyJson.properties, maturity: Type.Union([UnixSeconds, UnixSecondsText]) }),
    ...rfq,
  }),
});
export type RfqByPoolKeyRequest = Static<typeof RfqByPoolKeyRequest>;

export const RfqByPoolKeyMessage = closed({ type: Type.Literal('RFQ'), body: RfqByPoolKey });
export type RfqByPoolKeyMessage = Static<typeof RfqByPoolKeyMessage>;

export const RfqByPoolAddressMessage = closed({ type: Type.Literal('RFQ'), body: RfqByPoolAddress });
export type RfqByPoolAddressMessage = Static<typeof RfqByPoolAddressMessage>;

/** Answer to a message: what was done, or why it was not. */
export const ReplyMessage = closed({
  type: Type.Enum(['INFO', 'ERROR'], { type: 'string' }),
  body: Type.Null(),
  message: Type.String(),
});
export type ReplyMessage = Static<typeof ReplyMessage>;

export const PostQuoteMessage = closed({ type: Type.Literal('POST_QUOTE'), body: OrderbookQuote });
export const DeleteQuoteMessage = closed({ type: Type.Literal('DELETE_QUOTE'), body: OrderbookQuote });

/** `size`: what was filled; the body's `fillableSize` is already reduced by it. */
export const FillQuoteMessage = closed({ type: Type.Literal('FILL_QUOTE'), body: OrderbookQuote, size: Uint256 });

export const ServerMessage = Type.Union([
  ReplyMessage,
  PostQuoteMessage,
  FillQuoteMessage,
  DeleteQuoteMessage,
  RfqByPoolKeyMessage,
  RfqByPoolAddressMessage,
]);
export type ServerMessage = Static<typeof ServerMessage>;

/** A client's id of its message, which the answer repeats. */
export const MessageId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The client's name of its message: INFO and ERROR about it repeat it.",
});

/** A client's message as the subprotocols accept it. */
export function withId<const P extends Record<string, TSchema>>(message: TObject<P>) {
  return closed({ ...message.properties, id: Type.Optional(MessageId) });
}

/** POST /quotes over a socket, and with `dryRun` everything but the publication. */
export function postQuotesMessage(maxQuotes: number) {
  return closed({
    type: Type.Literal('POST_QUOTES'),
    dryRun: Type.Optional(Type.Boolean()),
    body: postQuotesBody(maxQuotes),
  });
}

/** DELETE /orderbook/quotes over a socket. */
export function cancelQuotesMessage(maxQuotes: number) {
  return closed({ type: Type.Literal('CANCEL_QUOTES'), body: cancelQuotesBody(maxQuotes) });
}

/** DELETE /quotes and POST /quotes/restore over a socket. */
export function withdrawQuotesMessage(maxQuotes: number) {
  return closed({ type: Type.Literal('WITHDRAW_QUOTES'), body: withdrawalBody(maxQuotes) });
}
export function restoreQuotesMessage(maxQuotes: number) {
  return closed({ type: Type.Literal('RESTORE_QUOTES'), body: withdrawalBody(maxQuotes) });
}

/** POST /heartbeat over a socket. */
export const ProviderHeartbeatMessage = closed({ type: Type.Literal('PROVIDER_HEARTBEAT'), body: HeartbeatBody });
export const CancelOnDisconnectMessage = closed({ type: Type.Literal('CANCEL_ON_DISCONNECT'), body: DisconnectBody });
/** POST /fill_limits over a socket. */
export const SetFillLimitMessage = closed({ type: Type.Literal('SET_FILL_LIMIT'), body: FillLimitBody });

/** The calls as they are read: the body is for the call itself to check. */
export const PostQuotesCall = closed({
  type: Type.Literal('POST_QUOTES'),
  dryRun: Type.Optional(Type.Boolean()),
  body: Type.Unknown(),
});
export type PostQuotesCall = Static<typeof PostQuotesCall>;
/** Calls that are a body alone. */
export const BODY_CALLS = [
  'CANCEL_QUOTES',
  'WITHDRAW_QUOTES',
  'RESTORE_QUOTES',
  'PROVIDER_HEARTBEAT',
  'CANCEL_ON_DISCONNECT',
  'SET_FILL_LIMIT',
] as const;
export const BodyCall = closed({ type: Type.Enum([...BODY_CALLS], { type: 'string' }), body: Type.Unknown() });
export type BodyCall = Static<typeof BodyCall>;

/** Channels that a client of the numbered protocol can follow; its messages to do so come next. */
export const FeedChannel = Type.Enum(['QUOTES', 'RFQ', 'ORDERBOOK', 'TICKER', 'COVER', 'TRADES'], { type: 'string' });
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

/** Plain connections cannot resume: they receive no epoch. */
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

/**
 * The quotes that cover `size` best, of the pool that exactly one of `poolAddress` and `instrument` names. There is nothing
 * to resume: the cover comes first, and each message is a whole cover.
 */
export const CoverFilterMessage = closed({
  type: Type.Literal('FILTER'),
  channel: Type.Literal('COVER'),
  body: closed({
    chainId: ChainId,
    poolAddress: Type.Optional(Address),
    instrument: Type.Optional(InstrumentName),
    side: SideText,
    size: Uint256,
    taker: Type.Optional(Address),
    provider: Type.Optional(Address),
  }),
});
export type CoverFilterMessage = Static<typeof CoverFilterMessage>;

/** Fills on the settlement chain, of every pool where neither `poolAddress` nor `instrument` names one. */
export const TradesFilterMessage = closed({
  type: Type.Literal('FILTER'),
  channel: Type.Literal('TRADES'),
  body: closed({
    chainId: ChainId,
    poolAddress: Type.Optional(Address),
    instrument: Type.Optional(InstrumentName),
    provider: Type.Optional(Address),
    ...resume,
  }),
});
export type TradesFilterMessage = Static<typeof TradesFilterMessage>;

export const UnsubscribeV2Message = closed({
  type: Type.Literal('UNSUBSCRIBE'),
  channel: FeedChannel,
  body: Type.Optional(Type.Null()),
});
export type UnsubscribeV2Message = Static<typeof UnsubscribeV2Message>;
