import { PRIVACIES } from '../auth/taker-access.js';
import Type, { type TSchema } from 'typebox';
import {
  AccountQuery,
  CollateralBalances,
  NativeBalance,
  OptionBalances,
  OptionBalancesQuery,
  WalletQuery,
} from '../wire/account.js';
import {
  CreateKeyBody,
  CreateKeyResult,
  NonceBody,
  NonceResult,
  SignOutResult,
  VerifyBody,
  VerifyResult,
} from '../wire/auth.js';
import {
  AnyEventsQuery,
  BookPath,
  BookQuery,
  BookResult,
  EventsPage,
  PastTickersResult,
  TickersQuery,
  TickersResult,
} from '../wire/feed-messages.js';
import { QuoteHistoryPath, QuoteHistoryQuery, QuoteHistoryResult } from '../wire/history.js';
import {
  ivQuery,
  IvResult,
  MaturitiesResult,
  spotQuery,
  SpotResult,
  strikesQuery,
  StrikesResult,
} from '../wire/oracles.js';
import {
  InstrumentsResult,
  poolsQuery,
  PoolsResult,
  postPoolsBody,
  PostPoolsResult,
  settleBody,
  SettleResponse,
  vaultQuoteQuery,
  VaultQuoteResult,
} from '../wire/options.js';
import { CandlesQuery, CandlesResult, TradesQuery, TradesResult } from '../wire/market.js';
import {
  CoverQuery,
  CoverTerms,
  DryRunResult,
  NamedOrdersResponse,
  NamedQuotesResult,
  ordersBody,
  ordersQuery,
  OrdersResponse,
  postQuotesBody,
  PostQuotesQuery,
  PostQuotesResult,
  QuotesQuery,
  QuotesResult,
  RfqQuotesQuery,
} from '../wire/orderbook.js';
import { closed } from '../wire/primitives.js';
import { BookProof, BookProofPath, BookProofQuery } from '../wire/history.js';
import {
  approvalsBody,
  ApprovalsResult,
  bestQuotesQuery,
  cancelQuotesBody,
  CancelQuotesResult,
  fillQuotesBody,
  FillQuotesResult,
  newQuotesBody,
  NewQuotesResult,
  ReadableInvalidQuotesResult,
  ReadableOrdersQuery,
  ReadableQuotesResult,
  vaultTradeBody,
  VaultTradeResult,
} from '../wire/trading.js';
import { ValuedTickersResult } from '../wire/valuation.js';
import {
  PostRfqBody,
  RfqCompetition,
  RfqCompetitionQuery,
  RfqCover,
  RfqIdPath,
  RfqsPage,
  RfqsQuery,
  RfqsResult,
} from '../wire/rfq.js';
import { RfqByPoolKeyMessage } from '../wire/socket.js';
import {
  AuthorizationBody,
  AuthorizationsResult,
  FillLimitBody,
  FillLimitsQuery,
  FillLimitsResult,
  HeartbeatBody,
  RevocationBody,
  TimerResult,
} from '../wire/protections.js';
import {
  RestoreQuotesResult,
  WithdrawAllBody,
  withdrawalBody,
  WithdrawnQuotesPage,
  WithdrawnQuotesQuery,
  WithdrawQuotesResult,
} from '../wire/withdrawals.js';
import { type AnswerDoc, BAD_REQUEST, badRequest, failure, NOT_MODIFIED, type RouteDoc } from './openapi.js';

export interface OrderbookDocLimits {
  readonly quotesPerRequest: number;
  readonly quoteIdsPerRequest: number;
  readonly withdrawalsPerRequest: number;
}

/** The log, or the cluster, takes nothing just now. */
const NOT_WRITTEN = failure('Nothing can be written now; try again', 'storage_full', 'busy', 'chain_unavailable');

const tag = 'Orderbook';

const NOT_PROVEN = failure(
  'With `privacy` proven: the key has not proven the address of the taker',
  'taker_not_proven',
);

const NOT_SHOWN = failure(
  'With `privacy` proven: the key has not proven the address of the taker, or has no scope for all of them',
  'taker_not_proven',
  'missing_scope',
);

/** A route that spends the operator's gas. */
const SPENDING = failure(
  '`RATELIMITED`: over a quota, or too many unknown keys; or the wallet has spent its cap. `Retry-After` says for how long',
  'spend_cap_reached',
);

/** Of such a route, where the request fits into no day of the key. */
const BEYOND_DAY = badRequest('beyond_daily_quota');
const NOT_PAID = failure('The operator pays no gas for the key', 'gas_not_paid');

const PAGE = { about: 'A page', mediaType: 'text/html' };

/** Of a route that changes the authorisations of a key. */
const AUTHORIZED = {
  200: { about: 'What the key may act for', schema: AuthorizationsResult },
  400: BAD_REQUEST,
  403: failure('The provider did not sign this for the key', 'invalid_signature', 'provider_not_authorized'),
  409: failure('The provider has signed with the nonce before', 'nonce_spent'),
};

/** Of a route that publishes quotes. */
const NOT_PUBLISHED = {
  503: failure(
    'Cannot publish now: the chain, the wallet or the disk; try again',
    'storage_full',
    'busy',
    'wallet_out_of_gas',
    'publish_queue_full',
  ),
  504: failure('Nothing is confirmed yet; `pending` may still enter the book', 'publication_not_confirmed'),
};

/** Of a route that answers for a past state. */
const AS_OF_REFUSALS = {
  400: badRequest('snapshot_too_large'),
  410: failure('The state that is asked for is not kept; `oldest` is the first that is', 'no_longer_kept'),
  503: failure(
    'Too many questions about the past wait, or the point has not been reached; try again',
    'busy',
    'event_not_reached',
  ),
};

/** The orderbook's routes. */
export function orderbookDocs(limits: OrderbookDocLimits): RouteDoc[] {
  const { quotesPerRequest, quoteIdsPerRequest, withdrawalsPerRequest } = limits;
  return [
    {
      method: 'GET',
      path: '/quotes',
      needsKey: true,
      tag,
      summary: 'The best quotes that together cover a size on a side of a pool',
      description:
        "Best price first, equal prices older first: just enough quotes to cover `size`, the last one whole, or all if they do not cover it. With `taker` that taker's private quotes are merged with the public ones. `asOfSeq`, `asOfBlock` and `asOfTime` ask for the answer of a past state.",
      query: QuotesQuery,
      answers: {
        200: { about: 'The quotes, best price first', anyOf: [QuotesResult, NamedQuotesResult] },
        304: NOT_MODIFIED,
        403: NOT_PROVEN,
        ...AS_OF_REFUSALS,
      },
    },
    {
      method: 'GET',
      path: '/quotes/cover',
      needsKey: true,
      tag,
      summary: 'The best quotes for a size, with what a taker approves, pays and sends',
      description:
        "The quotes of GET /quotes, at most 50, each with the transaction that fills it. Approve `approval` first, then send `bundle`, or each leg's `call`. Amounts are in smallest units of the collateral token; fees are those of `taker`.",
      query: CoverQuery,
      answers: {
        200: { about: 'The quotes, best price first', schema: CoverTerms },
        400: badRequest('pool_not_deployed'),
        403: NOT_PROVEN,
        500: failure('The token or the pool gave no answer', 'contract_call_failed'),
        503: failure('The chain does not answer; try again', 'chain_unavailable'),
      },
    },
    {
      method: 'GET',
      path: '/quotes/{quoteId}/history',
      needsKey: true,
      tag,
      summary: 'Every event of a quote, the oldest first',
      description:
        'Reads the log: publication, fills, invalidations, reorgs and the end of one quote. Send `next` of a page as `afterSeq` for the next one. A page may be empty and still have a `next`.',
      pathParameters: QuoteHistoryPath,
      query: QuoteHistoryQuery,
      answers: {
        200: { about: 'A page of its events', schema: QuoteHistoryResult },
        400: BAD_REQUEST,
        410: failure('Events of before what is kept; `oldest.seq` says up to which', 'no_longer_kept'),
        503: failure('Too many questions about the past wait; try again', 'busy'),
      },
    },
    {
      method: 'GET',
      path: '/book/{pool}/proof',
      needsKey: true,
      tag,
      summary: "What a pool's public book as of an event was made of, to compute its hash from the chains",
      description:
        'Lists the quotes of the book after event `seq` with the logs that published them, and the blocks to which the chains were read. Anyone can compute the book hash from these. Private quotes are no part of it.',
      pathParameters: BookProofPath,
      query: BookProofQuery,
      answers: {
        200: { about: 'The proof', schema: BookProof },
        ...AS_OF_REFUSALS,
      },
    },
    {
      method: 'POST',
      path: '/quotes',
      needsKey: true,
      tag,
      summary: 'Publish signed quotes, or see first what that would come to',
      description:
        'Takes quotes that their makers signed (EIP-712) and publishes them on the stream chain. The answer comes once they are in the book and on disk. Posting the same quotes again is safe: they are in `exists`. With `dryRun=true` nothing is sent, and the answer has each digest and every reason for a refusal.',
      query: PostQuotesQuery,
      body: postQuotesBody(quotesPerRequest),
      answers: {
        200: {
          about: 'No quote was created: each was known or failed. Of a dry run: what would become of each',
          anyOf: [PostQuotesResult, DryRunResult],
        },
        201: { about: 'At least one was created', schema: PostQuotesResult },
        400: BEYOND_DAY,
        403: NOT_PAID,
        429: SPENDING,
        501: failure('No wallet is configured to publish with', 'no_wallet'),
        ...NOT_PUBLISHED,
      },
    },
    {
      method: 'GET',
      path: '/rfq_quotes',
      needsKey: true,
      tag,
      summary: 'The private quotes for one taker',
      description:
        'Quotes that name `taker` as the only account that may fill them, best price first. They are in the form of GET /quotes.',
      query: RfqQuotesQuery,
      answers: {
        200: { about: 'The quotes, best price first', anyOf: [QuotesResult, NamedQuotesResult] },
        304: NOT_MODIFIED,
        400: BAD_REQUEST,
        403: NOT_PROVEN,
      },
    },
    {
      method: 'POST',
      path: '/rfqs',
      needsKey: true,
      tag,
      summary: 'Ask makers for quotes, of one leg or several',
      description:
        'Publishes a request with one leg, or a package with two to eight, to subscribers of the RFQ channel. Quotes with the same pool, side and taker answer it while it is live. With a `clientId` it can be sent again without a second publication.',
      body: PostRfqBody,
      answers: {
        200: { about: 'The same request with this `clientId` is live already', schema: RfqsResult },
        201: { about: 'A request for each leg, in their order', schema: RfqsResult },
        400: BAD_REQUEST,
        409: failure('Another live request has the `clientId`', 'client_id_used'),
        403: NOT_PROVEN,
        429: failure('Too many requests are live', 'too_many_live_rfqs', 'rate_limited'),
        503: failure('Cannot be written now; try again', 'storage_full', 'busy', 'chain_unavailable'),
      },
    },
    {
      method: 'GET',
      path: '/rfqs',
      needsKey: true,
      tag,
      summary: 'The requests for quotes that the key sent',
      description:
        'The newest first. Send `next` of a page as `cursor` for the next one. The newest 4,096 requests of all keys are kept.',
      query: RfqsQuery,
      answers: { 200: { about: 'A page, the newest first', schema: RfqsPage }, 400: BAD_REQUEST },
    },
    {
      method: 'DELETE',
      path: '/rfqs/{rfqId}',
      needsKey: true,
      tag,
      summary: 'Cancel a request for quotes, or all legs of a package',
      description:
        'With the id of a package all its legs are cancelled. Quotes that answer the request stay in the book. A request that has ended stays as it is.',
      pathParameters: RfqIdPath,
      answers: {
        200: { about: 'What became of it; of one that had ended already, too', schema: RfqsResult },
        400: BAD_REQUEST,
        404: failure('The key sent no such request', 'unknown_rfq'),
        503: failure('Cannot be written now; try again', 'storage_full', 'busy'),
      },
    },
    {
      method: 'GET',
      path: '/rfqs/{rfqId}/cover',
      needsKey: true,
      tag,
      summary: 'What a request for quotes, or a package, comes to by the quotes of the book',
      description:
        'Covers what is still to be filled of each leg with the best quotes of the book, public ones and those private to the taker. `net` is the premium by token, without fees; below 0 the taker receives it. Nothing is reserved.',
      pathParameters: RfqIdPath,
      answers: {
        200: { about: 'The cover of each leg, and the net premium by token', schema: RfqCover },
        400: BAD_REQUEST,
        404: failure('The key sent no such request', 'unknown_rfq'),
      },
    },
    {
      method: 'GET',
      path: '/rfqs/{rfqId}/competition',
      needsKey: true,
      tag,
      summary: 'How a maker stands among those that answer a request',
      description:
        'Counts the quotes that answer the request and ranks the best one of `provider` by price. It names no other maker and no price.',
      pathParameters: RfqIdPath,
      query: RfqCompetitionQuery,
      answers: {
        200: { about: 'The number of quotes, and the rank of the maker', schema: RfqCompetition },
        400: BAD_REQUEST,
        403: failure('With `privacy` proven: the key has not proven the address of the provider', 'taker_not_proven'),
        404: failure('There is no such request for this maker', 'unknown_rfq'),
      },
    },
    {
      method: 'GET',
      path: '/orders',
      needsKey: true,
      tag,
      summary: 'Orders by any mix of filters',
      description:
        'Valid orders, and those that cannot be filled now with the reason. `chainId` is required unless `quoteIds` are given. With `limit` the answer has a `nextCursor`; send it as `cursor` for the next page.',
      query: ordersQuery(quoteIdsPerRequest),
      answers: {
        200: { about: 'Newest first', anyOf: [OrdersResponse, NamedOrdersResponse] },
        304: NOT_MODIFIED,
        403: NOT_SHOWN,
        ...AS_OF_REFUSALS,
      },
    },
    {
      method: 'GET',
      path: '/quotes/withdrawn',
      needsKey: true,
      tag,
      summary: "A provider's withdrawn quotes, by id",
      description:
        'Quotes that DELETE /quotes hid and nobody restored. Send `next` of a page as `cursor` for the next one.',
      query: WithdrawnQuotesQuery,
      answers: {
        200: { about: 'A page of them', schema: WithdrawnQuotesPage },
        400: BAD_REQUEST,
      },
    },
    {
      method: 'DELETE',
      path: '/quotes',
      needsKey: true,
      tag,
      summary: 'Hide quotes for their provider; they can still be filled on chain',
      description:
        'The provider signs the list of ids (EIP-712), so any API key may send it; or the key or session has proven its address (POST /auth/verify) and sends no signature. Such a key or session may send `all` in place of `quoteIds`. The quotes leave the book, covers and the feed without a transaction until they are restored. A taker that holds the signature can still fill them on chain.',
      body: Type.Union([withdrawalBody(withdrawalsPerRequest), WithdrawAllBody]),
      answers: {
        200: { about: 'What became of each quote', schema: WithdrawQuotesResult },
        400: BAD_REQUEST,
        403: failure('The provider did not sign this', 'invalid_signature', 'provider_not_authorized'),
        409: failure('The provider has signed with the nonce before', 'nonce_spent'),
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'POST',
      path: '/quotes/restore',
      needsKey: true,
      tag,
      summary: 'Show withdrawn quotes again, for their provider',
      description:
        'Quotes return as what the chain has made of them meanwhile. The provider signs the list of ids (EIP-712), or the key or session has proven its address; a nonce counts once for each provider.',
      body: withdrawalBody(withdrawalsPerRequest),
      answers: {
        200: { about: 'What became of each quote', schema: RestoreQuotesResult },
        400: BAD_REQUEST,
        403: failure('The provider did not sign this', 'invalid_signature', 'provider_not_authorized'),
        409: failure('The provider has signed with the nonce before', 'nonce_spent'),
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'POST',
      path: '/authorizations',
      needsKey: true,
      tag,
      summary: 'Let this API key act for a provider',
      description:
        'The provider signs the id of the key (EIP-712), or has proven its address with it. The key may then set timers and fill limits that withdraw the quotes of the provider, until `deadline`.',
      body: AuthorizationBody,
      answers: {
        ...AUTHORIZED,
        429: failure('Too many authorisations are in force', 'too_many_protections', 'rate_limited'),
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'DELETE',
      path: '/authorizations',
      needsKey: true,
      tag,
      summary: 'End the authorisation of an API key by a provider',
      description:
        'Its timers end with it. `keyId` names the key; without it this key is meant, which needs no signature to give up its own authorisation. To revoke another key takes the signature of the provider, or a key that has proven its address. The answer is of this key.',
      body: RevocationBody,
      answers: {
        ...AUTHORIZED,
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'GET',
      path: '/authorizations',
      needsKey: true,
      tag,
      summary: 'The id of this API key, and what it may act for',
      description: 'Providers sign the id. A timer of 0 seconds is off.',
      answers: { 200: { about: 'The id and the authorisations', schema: AuthorizationsResult } },
    },
    {
      method: 'POST',
      path: '/heartbeat',
      needsKey: true,
      tag,
      summary: 'Withdraw all quotes of a provider unless another heartbeat comes in time',
      description:
        "A dead man's timer of an authorised key. When it runs out, the quotes are withdrawn with the reason HEARTBEAT_MISSED, and the timer stops.",
      body: HeartbeatBody,
      answers: {
        200: { about: 'The timer has started again', schema: TimerResult },
        400: BAD_REQUEST,
        403: failure('The provider has not authorised this key', 'provider_not_authorized'),
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'POST',
      path: '/fill_limits',
      needsKey: true,
      tag,
      summary: 'Limit what may be filled before all quotes of a provider in a pool are withdrawn',
      description:
        'The provider signs the limit (EIP-712), or has authorised the key. Beyond the limit the quotes are withdrawn with the reason FILL_LIMIT, and it counts from nothing again.',
      body: FillLimitBody,
      answers: {
        200: { about: 'The limits of the provider', schema: FillLimitsResult },
        400: badRequest('pool_not_deployed'),
        403: failure('The provider did not sign this', 'invalid_signature', 'provider_not_authorized'),
        409: failure('The provider has signed with the nonce before', 'nonce_spent'),
        429: failure('Too many fill limits are in force', 'too_many_protections', 'rate_limited'),
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'GET',
      path: '/fill_limits',
      needsKey: true,
      tag,
      summary: 'The fill limits of a provider',
      description: 'One for each pool in which the provider set one, by pool.',
      query: FillLimitsQuery,
      answers: {
        200: { about: 'The limits', schema: FillLimitsResult },
        400: BAD_REQUEST,
        403: failure('The provider has not authorised this key', 'provider_not_authorized'),
      },
    },
    {
      method: 'POST',
      path: '/orders/query',
      needsKey: true,
      tag,
      summary: 'The same, with the filters in a body: for long lists of ids',
      description:
        'For more than 40 ids, whose query many proxies refuse as too long. The answer is that of GET /orders, without an entity tag.',
      body: ordersBody(quoteIdsPerRequest),
      answers: {
        200: { about: 'Newest first', anyOf: [OrdersResponse, NamedOrdersResponse] },
        400: BAD_REQUEST,
        403: NOT_SHOWN,
      },
    },
    {
      method: 'GET',
      path: '/trades',
      needsKey: true,
      tag,
      summary: 'Fills, the newest first',
      description:
        'Every fill of a pool that is deployed or quoted, also of a quote that was never in the book. Send `next` of a page as `cursor` for the next one: a page has fewer than `limit` where many trades were passed over, and the last one has no `next`. A reorg removes the trades of its blocks until they are mined again.',
      query: TradesQuery,
      answers: {
        200: { about: 'A page of trades', schema: TradesResult },
        400: badRequest('pool_not_deployed'),
        410: failure('`from` is before what is kept', 'no_longer_kept'),
        503: failure('The service has just started, or too much waits to be read; try again', 'busy'),
      },
    },
    {
      method: 'GET',
      path: '/candles',
      needsKey: true,
      tag,
      summary: 'Open, high, low, close and volume of a pool',
      description:
        'The oldest first, at most the newest 1,000. `time` is the first second of a candle, a multiple of the interval. An interval without a trade has no candle.',
      query: CandlesQuery,
      answers: {
        200: { about: 'Candles, the oldest first', schema: CandlesResult },
        400: badRequest('pool_not_deployed'),
        410: failure('`from` is before what is kept', 'no_longer_kept'),
        503: failure('The service has just started; try again', 'busy'),
      },
    },
    {
      method: 'GET',
      path: '/book/{pool}',
      needsKey: true,
      tag,
      summary: "The price levels of one pool's public quotes, as the snapshot of ORDERBOOK has them",
      description:
        "`{pool}` is the pool's address or the name of its option. The levels are those after event `seq` of the log `epoch`, so a reader of the ORDERBOOK channel can continue from there. `asOfSeq`, `asOfBlock` and `asOfTime` ask for the answer of a past state.",
      pathParameters: BookPath,
      query: BookQuery,
      answers: {
        200: { about: 'Best price first on each side', schema: BookResult },
        ...AS_OF_REFUSALS,
        400: badRequest('pool_not_deployed', 'snapshot_too_large'),
      },
    },
    {
      method: 'GET',
      path: '/tickers',
      needsKey: true,
      tag,
      summary: 'All pools at a glance',
      description:
        'Best bid, best ask and the size filled in 24 hours of every pool. With `fields=valuation` each ticker also has spot price, implied volatilities, mark and Greeks. `asOfSeq`, `asOfBlock` and `asOfTime` ask for the answer of a past state.',
      query: TickersQuery,
      answers: {
        200: {
          about: 'Every pool that is deployed, quoted or was filled',
          anyOf: [TickersResult, ValuedTickersResult, PastTickersResult],
        },
        ...AS_OF_REFUSALS,
      },
    },
    {
      method: 'GET',
      path: '/events',
      needsKey: true,
      tag,
      summary: 'What a reader of the feed missed, a page at a time',
      description:
        'For readers of the v2 protocol that lost their connection: the messages behind `fromSeq`, page by page. If these are no longer kept, the page has a RESYNC and a snapshot instead.',
      query: AnyEventsQuery,
      answers: {
        200: { about: 'The messages that a connection would have been sent', schema: EventsPage },
        400: badRequest('pool_not_deployed', 'snapshot_too_large'),
        403: NOT_SHOWN,
        503: failure('Too many others read past events; try again', 'busy'),
      },
    },
  ];
}

const AUTH_TAG = 'Sign-in';

/** The routes by which the holder of a key proves to own an address. */
export function authDocs(): RouteDoc[] {
  return [
    {
      method: 'POST',
      path: '/auth/nonce',
      needsKey: true,
      tag: AUTH_TAG,
      summary: 'A nonce for one sign-in message (EIP-4361) of this key',
      description: 'Put it into the sign-in message. It counts once, and only for the key that asked for it.',
      body: NonceBody,
      answers: {
        200: { about: 'The nonce, and until when it holds, in Unix seconds', schema: NonceResult },
        400: badRequest(),
      },
    },
    {
      method: 'POST',
      path: '/auth/verify',
      needsKey: true,
      tag: AUTH_TAG,
      summary: 'Prove an address with a signed sign-in message, for a session or for the key',
      description:
        'The message has a nonce of POST /auth/nonce, the chain of the answer, and a domain of the setting `signInDomains`. Accounts sign it (EIP-191), contracts confirm it (EIP-1271). Send `token` in place of the API key, in `x-apikey` and in AUTH.',
      body: VerifyBody,
      answers: {
        200: {
          about: 'The address is proven: for `token` until `expiresAt` in Unix seconds, or for the key',
          schema: VerifyResult,
        },
        400: badRequest('sign_in_rejected', 'nonce_rejected'),
        403: failure('The key has proven as many addresses as it may', 'too_many_takers'),
        503: failure('The chain or the leader of the cluster does not answer; try again', 'chain_unavailable'),
      },
    },
    {
      method: 'POST',
      path: '/auth/signout',
      needsKey: true,
      tag: AUTH_TAG,
      summary: 'End the session whose token is sent as the key',
      description:
        'The token is refused from then on, here at once and by other gateways of a cluster within some seconds. Sockets of the session are closed. The API key stays as it is.',
      body: NonceBody,
      answers: {
        200: { about: 'Whether there was a session', schema: SignOutResult },
        400: BAD_REQUEST,
        429: failure('Over a quota, or as many sessions were signed out as are kept', 'rate_limited'),
        503: failure('The leader of the cluster does not answer; try again', 'chain_unavailable'),
      },
    },
    {
      method: 'POST',
      path: '/auth/keys/nonce',
      needsKey: false,
      tag: AUTH_TAG,
      summary: 'A nonce for one sign-in message of a caller without a key',
      description: 'It counts once, and only for POST /auth/keys from the network that asked for it.',
      body: NonceBody,
      answers: {
        200: { about: 'The nonce, and until when it holds, in Unix seconds', schema: NonceResult },
        400: badRequest(),
        403: failure('The service hands out no keys (setting `selfService`)', 'self_service_off'),
        429: failure('Too many requests without a key from this network', 'rate_limited'),
      },
    },
    {
      method: 'POST',
      path: '/auth/keys',
      needsKey: false,
      tag: AUTH_TAG,
      summary: 'Create an API key of the self tier with a signed sign-in message',
      description:
        'The message is one of POST /auth/verify with a nonce of POST /auth/keys/nonce. The key has proven the address, and is its only one: it replaces an earlier one. It pays for no gas, so that it publishes no quotes, and expires when nobody uses it for `unusedDays`.',
      body: CreateKeyBody,
      answers: {
        201: { about: 'The key, which is shown this once', schema: CreateKeyResult },
        400: badRequest('sign_in_rejected', 'nonce_rejected'),
        403: failure(
          'The service hands out no keys (setting `selfService`), or the network has as many as it may',
          'self_service_off',
          'too_many_keys',
        ),
        429: failure('Too many requests without a key from this network', 'rate_limited'),
        503: failure(
          'Too many keys are in force, or the chain or the leader of the cluster does not answer',
          'self_keys_exhausted',
          'chain_unavailable',
        ),
      },
    },
  ];
}

export interface OptionDocLimits {
  readonly poolsPerRequest: number;
  readonly settlementsPerRequest: number;
}

const OPTIONS_TAG = 'Options';
const NO_WALLET = failure('No wallet is configured', 'no_wallet');
const UNREACHABLE = failure('The chain or the disk does not answer; try again', 'storage_full', 'busy');
/** Of requests that the operator's gas pays for. */
const OF_OPERATORS_GAS = {
  400: BEYOND_DAY,
  403: NOT_PAID,
  429: SPENDING,
  501: NO_WALLET,
  503: UNREACHABLE,
} as const;

/** Pools, vault quotes and settlement. `symbols`: those with a token on the chain that is served, `vaultBases`: names of those with a vault. */
export function optionDocs(
  symbols: readonly string[],
  vaultBases: readonly string[],
  { poolsPerRequest, settlementsPerRequest }: OptionDocLimits,
): RouteDoc[] {
  return [
    {
      method: 'GET',
      path: '/pools',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Pools deployed in the last 90 days that have not expired',
      description:
        'In the order of deployment, filtered by `base`, `quote` and `expiration`. A symbol without a token on this chain gives an empty list.',
      query: poolsQuery(symbols),
      answers: { 200: { about: 'The pools', schema: PoolsResult }, 400: badRequest('invalid_expiration') },
    },
    {
      method: 'POST',
      path: '/pools',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Deploy pools',
      description:
        "Deploys the pool of each option with the operator's wallet. A pool that exists, or that another request is deploying, is in `existed`. Posting again is safe.",
      body: postPoolsBody(symbols, poolsPerRequest),
      answers: {
        200: { about: 'What became of each option', schema: PostPoolsResult },
        ...OF_OPERATORS_GAS,
      },
    },
    {
      method: 'GET',
      path: '/vaults/quote',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'The price of a trade against a vault',
      description:
        "Asks the pair's vault what the trade would cost the operator now. `quote` is the total with the fee: in the base token for calls, in the quote token for puts.",
      query: vaultQuoteQuery(symbols),
      answers: {
        200: { about: 'The price', schema: VaultQuoteResult },
        400: badRequest('invalid_expiration', 'unknown_vault', 'contract_refused'),
        500: failure(
          '`Failed to get quote from vault`: it refused for a reason without a name',
          'contract_call_failed',
        ),
        501: NO_WALLET,
        503: UNREACHABLE,
      },
    },
    ...(
      [
        [
          '/pool/settle',
          'Settle expired positions',
          'Of the operator: shorts receive what is left of the collateral, longs what they are worth less the exercise fee. Pairs of both are annihilated first, without a fee.',
        ],
        [
          '/pool/exercise',
          'Exercise expired longs',
          'Of the operator: longs receive what they are worth less the exercise fee. Shorts stay as they are.',
        ],
        [
          '/pool/annihilate',
          'Give up as many longs as shorts',
          'Of the operator: each pair of a long and a short returns its collateral, without a fee.',
        ],
      ] as const
    ).map(([path, summary, description]): RouteDoc => ({
      method: 'POST',
      path,
      needsKey: true,
      ...(path !== '/pool/settle' && { scope: 'operator' }),
      tag: OPTIONS_TAG,
      summary,
      description: `${description} The answer is 200 even if all fail; each position may take transactions of its own.`,
      body: settleBody(symbols, settlementsPerRequest),
      answers: {
        200: { about: 'What became of each position', schema: SettleResponse },
        ...OF_OPERATORS_GAS,
      },
    })),
    {
      method: 'GET',
      path: '/instruments',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Every pool that has a name and has not expired',
      description:
        "A name has base, quote, expiration, strike and type: `WETH-USDC-29JAN27-2000-C`. Pools that price with another oracle adapter than the deployment's have no name.",
      answers: { 200: { about: 'The instruments', schema: InstrumentsResult }, 400: BAD_REQUEST },
    },
    {
      method: 'GET',
      path: '/pools/strikes',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Strikes around a spot price: that of a token, or one that is given',
      description:
        'The strikes from half to double the spot price that pools may have, ascending. Give exactly one of `market` and `spotPrice`.',
      query: strikesQuery(symbols),
      answers: {
        200: { about: 'The strikes', schema: StrikesResult },
        400: BAD_REQUEST,
        500: failure('The oracle gave no price', 'oracle_failed'),
      },
    },
    {
      method: 'GET',
      path: '/pools/maturities',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Expirations that are usual for new pools',
      description:
        'Ascending: the next days, every later Friday less than 30 days ahead, then the last Friday of each month within a year.',
      answers: {
        200: { about: 'The expirations', schema: MaturitiesResult },
        400: BAD_REQUEST,
        503: UNREACHABLE,
      },
    },
    {
      method: 'GET',
      path: '/oracles/spot',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Prices of tokens in USDC',
      description:
        'What the oracle adapter of the deployment says, rounded to 6 decimals, in the order of the request.',
      query: spotQuery(symbols),
      answers: {
        200: { about: 'The prices', schema: SpotResult },
        400: BAD_REQUEST,
        500: failure('The oracle gave no price, or has none of a token that the text names', 'oracle_failed'),
      },
    },
    {
      method: 'GET',
      path: '/oracles/iv',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Implied volatilities by strike, for an expiration of a token that has a vault',
      description:
        'What the volatility oracle of the chain says of the strikes that GET /pools/strikes lists. 0.75 is 75 % a year.',
      query: ivQuery(vaultBases),
      answers: {
        200: { about: 'The volatilities', schema: IvResult },
        400: badRequest('invalid_expiration'),
        500: failure('An oracle gave no price or no volatilities', 'oracle_failed'),
        501: failure('The profile names no oracle of volatilities', 'no_volatility_oracle'),
        503: UNREACHABLE,
      },
    },
    ...accountDocs(),
    ...['/rfq/message', '/rfq/request'].map((path): RouteDoc => ({
      method: 'GET',
      path,
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: "The operator's request for quotes, ready to be sent over a WebSocket",
      description: 'Takes the query of GET /vaults/quote and asks no contract. Both paths answer the same.',
      query: vaultQuoteQuery(symbols),
      answers: {
        200: { about: 'The message', schema: RfqByPoolKeyMessage },
        400: badRequest('invalid_expiration'),
        501: NO_WALLET,
        503: UNREACHABLE,
      },
    })),
  ];
}

export interface TradingDocLimits {
  readonly signedQuotesPerRequest: number;
  readonly tradesPerRequest: number;
}

const TRADING_TAG = 'Trading';
const PENDING = failure('A transaction was sent, and is not confirmed yet', 'transaction_not_confirmed');

/** Trades of the operator's wallet for keys with the scope `operator`. */
export function tradingDocs(
  symbols: readonly string[],
  { signedQuotesPerRequest, tradesPerRequest }: TradingDocLimits,
): RouteDoc[] {
  const shared = { needsKey: true, scope: 'operator', tag: TRADING_TAG } as const;
  const reading = { method: 'GET', needsKey: true, tag: TRADING_TAG } as const;
  const refusals = { 403: NOT_PAID, 429: SPENDING, 501: NO_WALLET, 503: UNREACHABLE };
  return [
    {
      ...shared,
      method: 'POST',
      path: '/orderbook/quotes',
      summary: "Sign quotes with the operator's key, and publish them",
      description:
        "Signs up to 500 quotes with the operator's key and publishes them. Options go by symbols, amounts in whole units, `deadline` in seconds from now. The first quote that cannot be signed ends the request, and nothing is published.",
      body: newQuotesBody(symbols, signedQuotesPerRequest),
      answers: {
        200: { about: 'No quote was created', schema: NewQuotesResult },
        201: { about: 'At least one was created', schema: NewQuotesResult },
        400: badRequest('invalid_expiration', 'invalid_pool_key', 'pool_not_deployed', 'beyond_daily_quota'),
        ...refusals,
        ...NOT_PUBLISHED,
      },
    },
    {
      ...reading,
      path: '/orderbook/quotes',
      summary: "The best quotes for a size of an option, in the containerized API's form",
      description:
        'Options go by symbols, amounts in whole units. Any key may ask. A pool that is not deployed yet answers with the quotes that the book has.',
      query: bestQuotesQuery(symbols),
      answers: {
        200: { about: 'Best price first, as many as cover the size', schema: ReadableQuotesResult },
        400: badRequest('invalid_expiration', 'invalid_pool_key'),
        403: NOT_PROVEN,
        503: UNREACHABLE,
      },
    },
    {
      ...reading,
      path: '/orderbook/orders',
      summary: "Orders by any mix of filters, in the containerized API's form",
      description:
        'The newest first. With `type=invalid` the quotes that cannot be filled now, each with the reason. Private quotes are left out.',
      query: ReadableOrdersQuery,
      answers: {
        200: { about: 'Newest first', anyOf: [ReadableQuotesResult, ReadableInvalidQuotesResult] },
        400: BAD_REQUEST,
      },
    },
    {
      ...reading,
      path: '/account/orders',
      summary: "A wallet's orders; default the operator's",
      description:
        "The newest first, in the form of GET /orderbook/orders. Without `walletAddr` the operator's wallet is meant. The wallet's private quotes are listed, too, if it is the operator's, if the key has proven its address, or with the scope `takers:all`.",
      query: AccountQuery,
      answers: { 200: { about: 'Newest first', schema: ReadableQuotesResult }, 400: BAD_REQUEST, 501: NO_WALLET },
    },
    {
      ...shared,
      method: 'PATCH',
      path: '/orderbook/quotes',
      summary: "Fill quotes with the operator's wallet",
      description:
        'Fills each quote up to its `tradeSize`; each fails alone. If none can be paid, the answer is 400 and nothing was sent. After a 504 see what becomes of `pending` before you send these again.',
      body: fillQuotesBody(tradesPerRequest),
      answers: {
        200: { about: 'What became of each quote', schema: FillQuotesResult },
        400: badRequest('balance_unknown', 'insufficient_balance', 'insufficient_allowance', 'beyond_daily_quota'),
        ...refusals,
        504: PENDING,
      },
    },
    {
      ...shared,
      method: 'DELETE',
      path: '/orderbook/quotes',
      summary: "Cancel the operator's quotes on chain",
      description:
        'One transaction for each pool. Quotes of other makers are in `failed`, unknown ones in `omitted`. Repeating a cancellation is safe.',
      body: cancelQuotesBody(tradesPerRequest),
      answers: {
        200: { about: 'What became of each quote', schema: CancelQuotesResult },
        400: BEYOND_DAY,
        ...refusals,
        504: PENDING,
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/account/collateral_approval',
      summary: "Set what the router may take of the operator's tokens",
      description:
        '`amt` is in whole tokens, or `max`. The allowance is set, not added; 0 revokes it. An allowance that is so already costs no transaction.',
      body: approvalsBody(symbols),
      answers: {
        200: { about: 'What became of each token', schema: ApprovalsResult },
        400: BEYOND_DAY,
        ...refusals,
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/vaults/trade',
      summary: 'Buy options from a vault, or sell them to it',
      description:
        '`premiumLimit` is the most to pay on a buy and the least to get on a sell, fee included. One with more decimals than the asset is rounded down on a buy and up on a sell. The operator has to approve the vault for the asset, and for a sell for all options of the pool.',
      body: vaultTradeBody(symbols),
      answers: {
        200: { about: 'What was traded', schema: VaultTradeResult },
        400: badRequest(
          'invalid_expiration',
          'unknown_vault',
          'contract_refused',
          'insufficient_balance',
          'insufficient_allowance',
          'beyond_daily_quota',
        ),
        ...refusals,
        500: failure('`Failed to trade with vault`: it refused for a reason without a name', 'contract_call_failed'),
        504: PENDING,
      },
    },
  ];
}

/** Routes of accounts' holdings on the settlement chain. */
function accountDocs(): RouteDoc[] {
  const route = (path: string, summary: string, description: string, query: TSchema, schema: TSchema): RouteDoc => ({
    method: 'GET',
    path,
    needsKey: true,
    tag: 'Account',
    summary,
    description,
    query,
    answers: { 200: { about: 'What it holds', schema }, 400: BAD_REQUEST, 501: NO_WALLET, 503: UNREACHABLE },
  });
  return [
    route(
      '/account/collateral_balances',
      'Balances of all tokens',
      "In whole tokens, as the contracts say at the newest block. Without `walletAddr` the operator's wallet is meant. A token that does not answer is in `failed`.",
      AccountQuery,
      CollateralBalances,
    ),
    route(
      '/account/native_balance',
      "The balance of the chain's own coin",
      "A bare number of whole coins. Without `walletAddr` the operator's wallet is meant.",
      AccountQuery,
      NativeBalance,
    ),
    route(
      '/account/option_balance',
      'Option positions, in the form of the cloud',
      'One item for each side of a pool that `wallet` holds; `amount` is in contracts. `open` expires later, `expired` has expired and was not settled.',
      WalletQuery,
      OptionBalances,
    ),
    route(
      '/account/option_balances',
      'Option positions, in either form',
      "As GET /account/option_balance, with `walletAddr` or with `chainId` and `wallet`. Without any of these the operator's wallet is meant.",
      OptionBalancesQuery,
      OptionBalances,
    ),
  ];
}

const Health = closed({ status: Type.Literal('alive') });
const Ready = closed({ ready: Type.Boolean(), reasons: Type.Array(Type.String()) });
const PageSettings = closed({
  chainId: Type.String(),
  privacy: Type.Enum([...PRIVACIES], { type: 'string' }),
  router: Type.String({ description: 'The contract that takes collateral from makers and takers.' }),
  apiKey: Type.Union([Type.String(), Type.Null()]),
  rpcUrl: Type.Union([Type.String(), Type.Null()], { description: "JSON-RPC of a local set-up's chain." }),
});
const Document: AnswerDoc = { about: 'The document', schema: Type.Object({}, { additionalProperties: true }) };

/** Routes about the service itself; they need no key. */
export function statusDocs(): RouteDoc[] {
  const route = (path: string, summary: string, description: string, answers: RouteDoc['answers']): RouteDoc => {
    return { method: 'GET', path, needsKey: false, tag: 'Service', summary, description, answers };
  };
  return [
    route(
      '/health',
      'Whether the process lives',
      'For liveness probes. It is 200 as long as the process answers, also while the chains are out of reach.',
      { 200: { about: 'It does', schema: Health } },
    ),
    route(
      '/ready',
      'Whether it serves what the chains say now',
      'For readiness probes and load balancers. It is 200 if both chains are read to their heads and the log takes records; else 503 with the reasons.',
      {
        200: { about: 'It does', schema: Ready },
        503: { about: 'It does not, and why', schema: Ready },
      },
    ),
    route('/openapi.json', 'The REST API as OpenAPI 3.1', 'Made from the schemas that requests are validated with.', {
      200: Document,
    }),
    route(
      '/asyncapi.json',
      'The WebSocket API as AsyncAPI 3.1',
      'Made from the schemas that messages are validated with.',
      { 200: Document },
    ),
    route('/docs', 'Both, for people', 'Every route, message and error with its schema and an example.', {
      200: PAGE,
    }),
    route(
      '/docs/sockets',
      'The WebSocket API, for people',
      'Every message with its schema and an example, rendered from /asyncapi.json.',
      { 200: PAGE },
    ),
    route('/llms.txt', 'Both, for programs that read text', 'Concepts, routes, messages and error codes as Markdown.', {
      200: { about: 'The text', mediaType: 'text/plain' },
    }),
    route(
      '/',
      'The market, for people: where the page was built',
      'The trading page, or the WebSocket for a request with `Upgrade: websocket`.',
      {
        200: PAGE,
        304: NOT_MODIFIED,
        403: failure('A WebSocket handshake of a page whose origin is not allowed', 'origin_forbidden'),
        426: failure('A WebSocket handshake of another version than 13', 'unsupported_websocket_version'),
        429: failure(
          'A WebSocket handshake from an address that has as many sockets as it may',
          'too_many_connections',
        ),
        503: failure(
          'A WebSocket handshake while there are as many sockets as there may be; anything while the chains have not been reached',
          'server_full',
        ),
      },
    ),
    route(
      '/page.json',
      'What that page asks for',
      "The chain's id and the router. On a local set-up, requests from the same machine also receive the API key and the chain's JSON-RPC.",
      {
        200: { about: 'The chain, and on a local set-up the key that this browser may use', schema: PageSettings },
      },
    ),
  ];
}
