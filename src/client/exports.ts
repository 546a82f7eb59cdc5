/** Exports of `quotebook/client`, in Node and in browsers. */
export type { ClientTimeouts as Timeouts, ConnectionState } from './connection.js';
export type { FeedEncoding } from './decode.js';
export { ApiError, ConnectionLostError, RefusedError, type SchemaProblem } from './errors.js';
export type {
  HeartbeatMessage,
  QuoteEvent,
  RfqEvent,
  RfqStatusEvent,
  RfqUpdateEvent,
  TradeEvent,
  UndoTradesEvent,
} from './messages.js';
export type { FollowState, ResyncCause } from './subscription.js';
export type { BookChange, FollowedBook } from './followed.js';
export type { FollowedEvents } from './followed.js';
export type { FollowedQuotes } from './followed.js';
export type { FollowedRfqs } from './followed.js';
export type { FollowedCover, FollowedTickers, FollowedTrades } from './followed.js';
export type { BookLevel as Level, LevelBook } from './level-book.js';
export type { StopListening } from './emitter.js';
export type {
  BookFilter,
  CoverFilter,
  OfferTerms,
  OrderbookClientOptions,
  QuotesFilter,
  RfqRequest,
  TradesFilter,
} from './orderbook-client.js';
export type { ClientClock, ClientPorts, ClientSocket, SocketConstructor } from './ports.js';
export { type Pools, UnknownPoolError } from './pools.js';
export type { QuotaLeft, Quotas } from './quotas.js';
export type { QuoteBook } from './quote-book.js';
export type { Readiness, Rest } from './rest.js';
export { type Hex, zeroAddress as ZERO_ADDRESS } from 'viem';
export { type ApiKeyTerms, requestApiKey } from './api-key.js';
export { signQuote } from './sign-quote.js';
export type { ClientSession as Session, MessageSigner, SignInSigner, SignInTerms } from './sign-in.js';
export {
  signFillLimit,
  signKeyAuthorization,
  signKeyRevocation,
  signRestore,
  signWithdrawal,
} from './sign-withdrawal.js';
export type { FillLimitTerms, KeyTerms, WithdrawalSigner, WithdrawalTerms } from './sign-withdrawal.js';
export type { QuotedPool, QuoteSigner, QuoteTerms, SignedOffer as SignedQuote } from './sign-quote.js';
export type { CollateralBalances, OptionBalances } from '../wire/account.js';
export type {
  CoverTerms,
  DryRunResult,
  OrderbookQuote,
  OrdersResponse as OrdersResult,
  PoolKeyJson as PoolKey,
  PostedQuoteJson as PostedQuote,
  PostQuotesResult,
} from '../wire/orderbook.js';
export type {
  InstrumentJson as Instrument,
  Option,
  PoolJson as Pool,
  PostPoolsResult,
  SettleResponse as SettleResult,
  VaultQuoteResult,
} from '../wire/options.js';
export type { SideText as Side } from '../wire/primitives.js';
export type { CoverJson, TickerJson } from '../wire/feed-messages.js';
export type { CandlesResult, TradeJson as Trade, TradesResult } from '../wire/market.js';
export type { BookResult, TickersResult } from '../wire/feed-messages.js';
