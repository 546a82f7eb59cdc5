import Type, { type Static, type TSchema } from 'typebox';
import { ERROR_CODE_NAMES } from './error-codes.js';
import { TradeJson } from './market.js';
import { asOf, DryRunResult, OrderbookQuote, PoolKeyJson, PostQuotesResult, TRANSIENT_REASONS } from './orderbook.js';
import { Address, ChainId, closed, Hash, InstrumentName, SafeUint, text, Uint256, UnixSeconds } from './primitives.js';
import { RfqId, RfqJson, RfqStatusJson } from './rfq.js';
import { type Channel, Epoch, FeedChannel, filterFields, MessageId, RfqByPoolAddress, RfqByPoolKey } from './socket.js';
import { FillLimitsResult, TimerResult } from './protections.js';
import { CancelQuotesResult } from './trading.js';
import { RestoreQuotesResult, WithdrawQuotesResult } from './withdrawals.js';

function nullable<const S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

/** The log or block of a chain that caused it; null: time, a sweep, or a reorganisation. */
export const CauseJson = nullable(
  closed({
    chain: Type.Enum(['stream', 'settlement'], { type: 'string' }),
    blockNumber: SafeUint,
    txHash: Hash,
    logIndex: SafeUint,
  }),
);
const Reason = Type.Enum([...TRANSIENT_REASONS], { type: 'string' });
const Key = Type.String();

const numbered = { key: Key, seq: SafeUint, prevSeq: SafeUint, tsMs: SafeUint };
const eventFields = { ...numbered, cause: CauseJson };

/** A quote as the feed says it. */
const FeedQuote = closed({
  ...OrderbookQuote.properties,
  instrument: Type.Optional(
    Type.String({ description: 'Name of the option; absent where its pool has none and goes by its address.' }),
  ),
});

function ofQuote<const T extends string, const P extends Record<string, TSchema>>(type: T, extra: P) {
  return closed({ type: Type.Literal(type), ...eventFields, ...extra, body: FeedQuote });
}

export const PostQuoteV2 = ofQuote('POST_QUOTE', {});
export const FillQuoteV2 = ofQuote('FILL_QUOTE', { size: Uint256 });
export const RemoveQuoteV2 = ofQuote('REMOVE_QUOTE', {});
export const CancelQuoteV2 = ofQuote('CANCEL_QUOTE', {});
export const ExpireQuoteV2 = ofQuote('EXPIRE_QUOTE', {});
export const InvalidateQuoteV2 = ofQuote('INVALIDATE_QUOTE', { reason: Reason });
export const RevalidateQuoteV2 = ofQuote('REVALIDATE_QUOTE', {});
export const UndoQuoteV2 = ofQuote('UNDO_QUOTE', { valid: Type.Boolean() });
export const WITHDRAWAL_REASONS = ['REQUESTED', 'DISCONNECTED', 'HEARTBEAT_MISSED', 'FILL_LIMIT'] as const;
export const WithdrawQuoteV2 = ofQuote('WITHDRAW_QUOTE', {
  reason: Type.Enum([...WITHDRAWAL_REASONS], { type: 'string' }),
});
export const RestoreQuoteV2 = ofQuote('RESTORE_QUOTE', {});
/** Messages that say what happened to one quote. */
export type QuoteMessageType =
  | 'POST_QUOTE'
  | 'FILL_QUOTE'
  | 'REMOVE_QUOTE'
  | 'CANCEL_QUOTE'
  | 'EXPIRE_QUOTE'
  | 'INVALIDATE_QUOTE'
  | 'REVALIDATE_QUOTE'
  | 'UNDO_QUOTE'
  | 'WITHDRAW_QUOTE'
  | 'RESTORE_QUOTE';

/** A request of several legs: `place` counts from 0. */
const RfqLegJson = closed({ packageId: RfqId, place: SafeUint, legs: SafeUint });

export const RfqTermsJson = closed(
  {
    rfqId: RfqId,
    validUntil: UnixSeconds,
    anonymous: Type.Boolean({ description: 'The request has the zero address for its taker, until it is filled.' }),
    leg: Type.Optional(RfqLegJson),
  },
  { description: 'Of a request that is followed until it is filled, cancelled or expired.' },
);
export type RfqTermsJson = Static<typeof RfqTermsJson>;

export const RfqV2 = closed({
  type: Type.Literal('RFQ'),
  ...eventFields,
  body: Type.Union([RfqByPoolKey, RfqByPoolAddress]),
  terms: Type.Optional(RfqTermsJson),
});

export const RfqUpdateJson = closed({
  rfqId: RfqId,
  status: RfqStatusJson,
  filledSize: Uint256,
  quotes: Type.Integer({ minimum: 0, description: 'Quotes in the book that answer it.' }),
  taker: Type.Optional(
    Type.Unsafe<`0x${string}`>({ ...Address, description: 'Of an anonymous request that is filled.' }),
  ),
});
export type RfqUpdateJson = Static<typeof RfqUpdateJson>;

/** To the sockets of the key that sent the request. */
export const RfqStatusMessage = closed({
  type: Type.Literal('RFQ_STATUS'),
  seq: SafeUint,
  tsMs: SafeUint,
  body: RfqJson,
});
export type RfqStatusMessage = Static<typeof RfqStatusMessage>;

export const RfqUpdate = closed({ type: Type.Literal('RFQ_UPDATE'), ...eventFields, body: RfqUpdateJson });

export const QuotesSnapshot = closed({
  type: Type.Literal('QUOTES_SNAPSHOT'),
  key: Key,
  seq: SafeUint,
  tsMs: SafeUint,
  hash: Hash,
  more: Type.Boolean(),
  body: Type.Array(FeedQuote),
});
export type QuotesSnapshot = Static<typeof QuotesSnapshot>;

const PriceLevelJson = closed({ price: Uint256, size: Uint256, count: SafeUint });
export const PriceLevelsJson = closed({ bids: Type.Array(PriceLevelJson), asks: Type.Array(PriceLevelJson) });
export type PriceLevelsJson = Static<typeof PriceLevelsJson>;

export const OrderbookSnapshot = closed({
  type: Type.Literal('ORDERBOOK_SNAPSHOT'),
  key: Key,
  seq: SafeUint,
  tsMs: SafeUint,
  levelsHash: Hash,
  body: PriceLevelsJson,
});
export type OrderbookSnapshot = Static<typeof OrderbookSnapshot>;

export const OrderbookUpdate = closed({
  type: Type.Literal('ORDERBOOK_UPDATE'),
  ...numbered,
  from: Type.Optional(SafeUint),
  body: PriceLevelsJson,
});
export type OrderbookUpdate = Static<typeof OrderbookUpdate>;

const BestLevel = nullable(closed({ price: Uint256, size: Uint256 }));
export const TickerJson = closed(
  {
    poolAddress: Address,
    poolKey: PoolKeyJson,
    bid: BestLevel,
    ask: BestLevel,
    filledSize24h: Uint256,
    volume24h: nullable(Uint256),
    openInterest: nullable(Uint256),
  },
  {
    description:
      'A pool at a glance: the best price of each side with the size of all public quotes at it, and the contracts of the last 24 hours: `filledSize24h` filled of quotes in the book, `volume24h` traded in all, null where that is not known. `openInterest`: contracts that are held, as the chain said lately; null where that is not known.',
  },
);
export type TickerJson = Static<typeof TickerJson>;

export const TickerSnapshot = closed({
  type: Type.Literal('TICKER_SNAPSHOT'),
  key: Key,
  seq: SafeUint,
  tsMs: SafeUint,
  more: Type.Boolean(),
  body: Type.Array(TickerJson),
});
export type TickerSnapshot = Static<typeof TickerSnapshot>;

export const TickerMessage = closed({
  type: Type.Literal('TICKER'),
  key: Key,
  seq: SafeUint,
  tsMs: SafeUint,
  body: TickerJson,
});
export type TickerMessage = Static<typeof TickerMessage>;

export const CoverJson = closed(
  {
    covered: Uint256,
    shortfall: Uint256,
    averagePrice: nullable(Uint256),
    worstPrice: nullable(Uint256),
    deadline: nullable(UnixSeconds),
    legs: Type.Array(closed({ take: Uint256, quote: FeedQuote })),
  },
  {
    description:
      'The quotes that cover a size best, best first. `take`: contracts that the cover takes of a quote. `averagePrice` is weighted by size and rounded against the taker, `deadline` is the earliest of a leg; without a leg both are null.',
  },
);
export type CoverJson = Static<typeof CoverJson>;

export const CoverMessage = closed({
  type: Type.Literal('COVER'),
  key: Key,
  seq: SafeUint,
  tsMs: SafeUint,
  body: CoverJson,
});
export type CoverMessage = Static<typeof CoverMessage>;

export const TradeMessage = closed({ type: Type.Literal('TRADE'), ...eventFields, body: TradeJson });

export const UndoTradesMessage = closed({
  type: Type.Literal('UNDO_TRADES'),
  ...eventFields,
  body: closed({
    blockNumber: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The trades of all later blocks do not count any more.',
    }),
  }),
});

const Subscribed = closed({ channel: FeedChannel, keys: Type.Array(Key), seq: SafeUint, epoch: Epoch });

/** `id`: of the message that is answered, if it had one. */
const answered = { id: Type.Optional(MessageId) };

export const InfoV2 = closed({
  type: Type.Literal('INFO'),
  body: nullable(Subscribed),
  message: Type.String(),
  ...answered,
});
export const ErrorV2 = closed({
  type: Type.Literal('ERROR'),
  body: nullable(
    Type.Object(
      {
        retryAfterMs: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'Milliseconds after which it makes sense to send the message again.',
          }),
        ),
      },
      {
        description:
          '`retryAfterMs` where HTTP answers have `Retry-After`, and what else the HTTP answer says where a call was refused, such as `pending`; null: nothing.',
      },
    ),
  ),
  message: Type.String(),
  code: Type.Enum([...ERROR_CODE_NAMES], { type: 'string' }),
  ...answered,
});

/** Answers of calls: what the HTTP call answers. */
export const QuotesPosted = closed({ type: Type.Literal('QUOTES_POSTED'), body: PostQuotesResult, ...answered });
export const QuotesChecked = closed({ type: Type.Literal('QUOTES_CHECKED'), body: DryRunResult, ...answered });
export const QuotesCancelled = closed({
  type: Type.Literal('QUOTES_CANCELLED'),
  body: CancelQuotesResult,
  ...answered,
});
export const QuotesWithdrawn = closed({
  type: Type.Literal('QUOTES_WITHDRAWN'),
  body: WithdrawQuotesResult,
  ...answered,
});
export const QuotesRestored = closed({ type: Type.Literal('QUOTES_RESTORED'), body: RestoreQuotesResult, ...answered });

/** Answer of PROVIDER_HEARTBEAT and CANCEL_ON_DISCONNECT. */
export const TimerSet = closed({ type: Type.Literal('TIMER_SET'), body: TimerResult, ...answered });
export const FillLimitSet = closed({ type: Type.Literal('FILL_LIMIT_SET'), body: FillLimitsResult, ...answered });

export const RESYNC_REASONS = ['OTHER_EPOCH', 'TOO_OLD', 'NOT_YET'] as const;
export const Resync = closed({
  type: Type.Literal('RESYNC'),
  channel: FeedChannel,
  keys: Type.Array(Key),
  seq: SafeUint,
  epoch: Epoch,
  reason: Type.Enum([...RESYNC_REASONS], { type: 'string' }),
});
export type Resync = Static<typeof Resync>;

/**
 * `block`: the newest that the chain showed; `readTo`: number of the last block whose events the book has; `lateMs`: the
 * age of `block` by this server's clock; `stale`: why it counts as late.
 */
const ChainJson = closed({
  block: nullable(closed({ blockNumber: SafeUint, blockHash: Hash, timestamp: UnixSeconds })),
  lateMs: nullable(SafeUint),
  stale: nullable(Type.String()),
  readTo: nullable(SafeUint),
});
export const Heartbeat = closed({
  type: Type.Literal('HEARTBEAT'),
  seq: SafeUint,
  serverTimeMs: SafeUint,
  chains: closed({ settlement: ChainJson, stream: ChainJson }),
  books: Type.Array(closed({ key: Key, hash: Hash })),
});
export type Heartbeat = Static<typeof Heartbeat>;

export const ServerMessageV2 = Type.Union([
  PostQuoteV2,
  FillQuoteV2,
  RemoveQuoteV2,
  CancelQuoteV2,
  ExpireQuoteV2,
  InvalidateQuoteV2,
  RevalidateQuoteV2,
  UndoQuoteV2,
  RfqV2,
  QuotesSnapshot,
  OrderbookSnapshot,
  OrderbookUpdate,
  InfoV2,
  ErrorV2,
  Resync,
  Heartbeat,
  TickerSnapshot,
  TickerMessage,
  CoverMessage,
  QuotesPosted,
  QuotesChecked,
  QuotesCancelled,
  WithdrawQuoteV2,
  RestoreQuoteV2,
  RfqUpdate,
  RfqStatusMessage,
  QuotesWithdrawn,
  QuotesRestored,
  TradeMessage,
  UndoTradesMessage,
  TimerSet,
  FillLimitSet,
]);
export type ServerMessageV2 = Static<typeof ServerMessageV2>;

/** The channels whose messages are numbered one after the other, so that those missed can be had. */
const NumberedChannel = Type.Enum(['QUOTES', 'RFQ', 'ORDERBOOK', 'TRADES'], { type: 'string' });

/** Everything of a query string is text. Without `chainId` and `epoch` those that are served are meant. */
const eventsFrom = {
  chainId: Type.Optional(ChainId),
  epoch: Type.Optional(Epoch),
  fromSeq: Type.Unsafe<string>(
    Type.String({ pattern: '^[0-9]{1,15}$', description: 'Number of the last event that the reader has.' }),
  ),
};

/**
 * GET /events of QUOTES or RFQ. ORDERBOOK and TRADES have schemas of their own; here they are for the refusal, which
 * lists them all.
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

/** GET /events of TRADES. */
export const TradeEventsQuery = closed({
  channel: Type.Literal('TRADES'),
  poolAddress: Type.Optional(Address),
  instrument: Type.Optional(InstrumentName),
  provider: Type.Optional(Address),
  ...eventsFrom,
});
export type TradeEventsQuery = Static<typeof TradeEventsQuery>;

/** Every parameter that GET /events may have, whatever the channel. */
export const AnyEventsQuery = closed({
  ...BookEventsQuery.properties,
  ...TradeEventsQuery.properties,
  ...EventsQuery.properties,
});

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

/** GET /book/{pool}. */
export const BookPath = closed({
  pool: Type.String({
    pattern: '^(0x[a-fA-F0-9]{40}|[0-9A-Za-z.-]{1,250})$',
    description: 'Address of the pool, or the name of its option.',
  }),
});

export const BookQuery = closed({
  chainId: ChainId,
  depth: Type.Optional(
    text<string>('^[1-9][0-9]{0,8}$', 'Levels of each side; by default and at most what ORDERBOOK shows.'),
  ),
  ...asOf,
});
export type BookQuery = Static<typeof BookQuery>;

export const BookResult = closed({
  epoch: Epoch,
  seq: SafeUint,
  tsMs: SafeUint,
  poolAddress: Address,
  instrument: nullable(Type.String()),
  levelsHash: Hash,
  ...PriceLevelsJson.properties,
});
export type BookResult = Static<typeof BookResult>;

/** Answer of GET /tickers. */
export const TickersResult = closed({ epoch: Epoch, seq: SafeUint, tsMs: SafeUint, tickers: Type.Array(TickerJson) });

export type TickersResult = Static<typeof TickersResult>;

/** Answer of GET /tickers as of the past. */
export const PastTickersResult = closed({
  ...TickersResult.properties,
  tickers: Type.Array(
    closed(
      { ...TickerJson.properties, filledSize24h: nullable(Uint256) },
      {
        description:
          'As in the present, but `filledSize24h` may be null, too: less than the day before is kept. `openInterest` is null.',
      },
    ),
  ),
});
export type PastTickersResult = Static<typeof PastTickersResult>;

export const TickersQuery = closed({
  chainId: ChainId,
  fields: Type.Optional(
    Type.Enum(['valuation'], {
      type: 'string',
      description: '`valuation`: each ticker has the name and an estimate of its option. Of the present alone.',
    }),
  ),
  ...asOf,
});
export type TickersQuery = Static<typeof TickersQuery>;
