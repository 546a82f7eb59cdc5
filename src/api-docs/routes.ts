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
  AnyEventsQuery,
  BookPath,
  BookQuery,
  BookResult,
  EventsPage,
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
import { RestoreQuotesResult, withdrawalBody, WithdrawQuotesResult } from '../wire/withdrawals.js';
import { type AnswerDoc, BAD_REQUEST, badRequest, failure, NOT_MODIFIED, type RouteDoc } from './openapi.js';

export interface OrderbookDocLimits {
  readonly quotesPerRequest: number;
  readonly quoteIdsPerRequest: number;
  readonly withdrawalsPerRequest: number;
}

/** The log, or the cluster, takes nothing just now. */
const NOT_WRITTEN = failure('Nothing can be written now; try again', 'storage_full', 'busy', 'chain_unavailable');

const tag = 'Orderbook';

/** A route that spends the operator's gas. */
const SPENDING = failure(
  '`RATELIMITED`: over a quota, or too many unknown keys; or the wallet has spent its cap. `Retry-After` says for how long',
  'spend_cap_reached',
);

const AS_OF_BAD_REQUEST = badRequest('snapshot_too_large');
const AS_OF_GONE = failure('The state that is asked for is not kept; `oldest` is the first that is', 'no_longer_kept');
const AS_OF_UNREACHED = failure(
  'Too many questions about the past wait, or the point has not been reached; try again',
  'busy',
  'event_not_reached',
);

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
      query: QuotesQuery,
      answers: {
        200: { about: 'The quotes, best price first', anyOf: [QuotesResult, NamedQuotesResult] },
        304: NOT_MODIFIED,
        400: AS_OF_BAD_REQUEST,
        410: AS_OF_GONE,
        503: AS_OF_UNREACHED,
      },
    },
    {
      method: 'GET',
      path: '/quotes/cover',
      needsKey: true,
      tag,
      summary: 'The best quotes for a size, with what a taker approves, pays and sends',
      query: CoverQuery,
      answers: {
        200: { about: 'The quotes, best price first', schema: CoverTerms },
        400: badRequest('pool_not_deployed'),
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
      pathParameters: BookProofPath,
      query: BookProofQuery,
      answers: {
        200: { about: 'The proof', schema: BookProof },
        400: AS_OF_BAD_REQUEST,
        410: AS_OF_GONE,
        503: AS_OF_UNREACHED,
      },
    },
    {
      method: 'POST',
      path: '/quotes',
      needsKey: true,
      tag,
      summary: 'Publish signed quotes, or with `dryRun=true` see what that would come to',
      query: PostQuotesQuery,
      body: postQuotesBody(quotesPerRequest),
      answers: {
        200: {
          about: 'No quote was created: each was known or failed. Of a dry run: what would become of each',
          anyOf: [PostQuotesResult, DryRunResult],
        },
        201: { about: 'At least one was created', schema: PostQuotesResult },
        400: BAD_REQUEST,
        429: SPENDING,
        501: failure('No wallet is configured to publish with', 'no_wallet'),
        503: failure(
          'Cannot publish now: the chain, the wallet or the disk; try again',
          'storage_full',
          'busy',
          'wallet_out_of_gas',
          'publish_queue_full',
        ),
        504: failure('Nothing is confirmed yet; `pending` may still enter the book', 'publication_not_confirmed'),
      },
    },
    {
      method: 'GET',
      path: '/rfq_quotes',
      needsKey: true,
      tag,
      summary: 'The private quotes for one taker',
      query: RfqQuotesQuery,
      answers: {
        200: { about: 'The quotes, best price first', anyOf: [QuotesResult, NamedQuotesResult] },
        304: NOT_MODIFIED,
        400: BAD_REQUEST,
      },
    },
    {
      method: 'POST',
      path: '/rfqs',
      needsKey: true,
      tag,
      summary: 'Ask makers for quotes, of one leg or several',
      body: PostRfqBody,
      answers: {
        200: { about: 'The same request with this `clientId` is live already', schema: RfqsResult },
        201: { about: 'A request for each leg, in their order', schema: RfqsResult },
        400: BAD_REQUEST,
        409: failure('Another live request has the `clientId`', 'client_id_used'),
        429: failure('As many requests are live as may be', 'too_many_live_rfqs', 'rate_limited'),
        503: failure('Cannot be written now; try again', 'storage_full', 'busy', 'chain_unavailable'),
      },
    },
    {
      method: 'GET',
      path: '/rfqs',
      needsKey: true,
      tag,
      summary: 'The requests for quotes that the key sent',
      query: RfqsQuery,
      answers: { 200: { about: 'A page, the newest first', schema: RfqsPage }, 400: BAD_REQUEST },
    },
    {
      method: 'DELETE',
      path: '/rfqs/{rfqId}',
      needsKey: true,
      tag,
      summary: 'Cancel a request for quotes, or all legs of a package',
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
      pathParameters: RfqIdPath,
      query: RfqCompetitionQuery,
      answers: {
        200: { about: 'The number of quotes, and the rank of the maker', schema: RfqCompetition },
        400: BAD_REQUEST,
        404: failure('There is no such request for this maker', 'unknown_rfq'),
      },
    },
    {
      method: 'GET',
      path: '/orders',
      needsKey: true,
      tag,
      summary: 'Orders by any mix of filters',
      query: ordersQuery(quoteIdsPerRequest),
      answers: {
        200: { about: 'Newest first', anyOf: [OrdersResponse, NamedOrdersResponse] },
        304: NOT_MODIFIED,
        400: AS_OF_BAD_REQUEST,
        410: AS_OF_GONE,
        503: AS_OF_UNREACHED,
      },
    },
    {
      method: 'DELETE',
      path: '/quotes',
      needsKey: true,
      tag,
      summary: 'Hide quotes, by a signature of their provider; they can still be filled on chain',
      body: withdrawalBody(withdrawalsPerRequest),
      answers: {
        200: { about: 'What became of each quote', schema: WithdrawQuotesResult },
        400: BAD_REQUEST,
        403: failure('The provider did not sign this', 'invalid_signature'),
        409: failure('The provider has signed with the nonce before', 'nonce_spent'),
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'POST',
      path: '/quotes/restore',
      needsKey: true,
      tag,
      summary: 'Show withdrawn quotes again, by a signature of their provider',
      body: withdrawalBody(withdrawalsPerRequest),
      answers: {
        200: { about: 'What became of each quote', schema: RestoreQuotesResult },
        400: BAD_REQUEST,
        403: failure('The provider did not sign this', 'invalid_signature'),
        409: failure('The provider has signed with the nonce before', 'nonce_spent'),
        503: NOT_WRITTEN,
      },
    },
    {
      method: 'POST',
      path: '/orders/query',
      needsKey: true,
      tag,
      summary: 'The same, with the filters in a body: for long lists of ids',
      body: ordersBody(quoteIdsPerRequest),
      answers: { 200: { about: 'Newest first', anyOf: [OrdersResponse, NamedOrdersResponse] }, 400: BAD_REQUEST },
    },
    {
      method: 'GET',
      path: '/trades',
      needsKey: true,
      tag,
      summary: 'Fills, the newest first',
      query: TradesQuery,
      answers: {
        200: { about: 'A page of trades', schema: TradesResult },
        400: BAD_REQUEST,
        410: failure('`from` is before what is kept', 'no_longer_kept'),
        503: failure('The service has just started; try again', 'busy'),
      },
    },
    {
      method: 'GET',
      path: '/candles',
      needsKey: true,
      tag,
      summary: 'Open, high, low, close and volume of a pool',
      query: CandlesQuery,
      answers: {
        200: { about: 'Candles, the oldest first', schema: CandlesResult },
        400: BAD_REQUEST,
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
      pathParameters: BookPath,
      query: BookQuery,
      answers: {
        200: { about: 'Best price first on each side', schema: BookResult },
        400: badRequest('pool_not_deployed'),
      },
    },
    {
      method: 'GET',
      path: '/tickers',
      needsKey: true,
      tag,
      summary: 'All pools at a glance',
      query: TickersQuery,
      answers: {
        200: {
          about: 'Every pool that is deployed, quoted or was filled',
          anyOf: [TickersResult, ValuedTickersResult],
        },
        400: BAD_REQUEST,
      },
    },
    {
      method: 'GET',
      path: '/events',
      needsKey: true,
      tag,
      summary: 'What a reader of the feed missed, a page at a time',
      query: AnyEventsQuery,
      answers: {
        200: { about: 'The messages that a connection would have been sent', schema: EventsPage },
        400: badRequest('snapshot_too_large'),
        503: failure('Too many others read past events; try again', 'busy'),
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

/** Pools, vault quotes and settlement. `symbols`: those with a token on the chain that is served. */
export function optionDocs(
  symbols: readonly string[],
  { poolsPerRequest, settlementsPerRequest }: OptionDocLimits,
): RouteDoc[] {
  return [
    {
      method: 'GET',
      path: '/pools',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Pools deployed in the last 90 days that have not expired',
      query: poolsQuery(symbols),
      answers: { 200: { about: 'The pools', schema: PoolsResult }, 400: badRequest('invalid_expiration') },
    },
    {
      method: 'POST',
      path: '/pools',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Deploy pools',
      body: postPoolsBody(symbols, poolsPerRequest),
      answers: {
        200: { about: 'What became of each option', schema: PostPoolsResult },
        400: BAD_REQUEST,
        429: SPENDING,
        501: NO_WALLET,
        503: UNREACHABLE,
      },
    },
    {
      method: 'GET',
      path: '/vaults/quote',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'The price of a trade against a vault',
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
        ['/pool/settle', 'Settle expired positions'],
        ['/pool/exercise', 'Exercise expired longs'],
        ['/pool/annihilate', 'Give up as many longs as shorts'],
      ] as const
    ).map(([path, summary]): RouteDoc => ({
      method: 'POST',
      path,
      needsKey: true,
      ...(path !== '/pool/settle' && { scope: 'operator' }),
      tag: OPTIONS_TAG,
      summary,
      body: settleBody(symbols, settlementsPerRequest),
      answers: {
        200: { about: 'What became of each position', schema: SettleResponse },
        400: BAD_REQUEST,
        429: SPENDING,
        501: NO_WALLET,
        503: UNREACHABLE,
      },
    })),
    {
      method: 'GET',
      path: '/instruments',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Every pool that has a name and has not expired',
      answers: { 200: { about: 'The instruments', schema: InstrumentsResult }, 400: BAD_REQUEST },
    },
    {
      method: 'GET',
      path: '/pools/strikes',
      needsKey: true,
      tag: OPTIONS_TAG,
      summary: 'Strikes around a spot price: that of a token, or one that is given',
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
      query: ivQuery(symbols),
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

/** What the operator's wallet trades for keys with the scope `operator`. */
export function tradingDocs(
  symbols: readonly string[],
  { signedQuotesPerRequest, tradesPerRequest }: TradingDocLimits,
): RouteDoc[] {
  const shared = { needsKey: true, scope: 'operator', tag: TRADING_TAG } as const;
  const reading = { method: 'GET', needsKey: true, tag: TRADING_TAG } as const;
  const refusals = { 429: SPENDING, 501: NO_WALLET, 503: UNREACHABLE };
  return [
    {
      ...shared,
      method: 'POST',
      path: '/orderbook/quotes',
      summary: "Sign quotes with the operator's key, and publish them",
      body: newQuotesBody(symbols, signedQuotesPerRequest),
      answers: {
        200: { about: 'No quote was created', schema: NewQuotesResult },
        201: { about: 'At least one was created', schema: NewQuotesResult },
        400: badRequest('invalid_expiration', 'invalid_pool_key', 'pool_not_deployed'),
        ...refusals,
        503: failure(
          'Cannot publish now: the chain, the wallet or the disk; try again',
          'storage_full',
          'busy',
          'wallet_out_of_gas',
          'publish_queue_full',
        ),
        504: failure('Nothing is confirmed yet; `pending` may still enter the book', 'publication_not_confirmed'),
      },
    },
    {
      ...reading,
      path: '/orderbook/quotes',
      summary: "The best quotes for a size of an option, in the containerized API's form",
      query: bestQuotesQuery(symbols),
      answers: {
        200: { about: 'Best price first, as many as cover the size', schema: ReadableQuotesResult },
        400: badRequest('invalid_expiration', 'invalid_pool_key'),
        503: UNREACHABLE,
      },
    },
    {
      ...reading,
      path: '/orderbook/orders',
      summary: "Orders by any mix of filters, in the containerized API's form",
      query: ReadableOrdersQuery,
      answers: {
        200: { about: 'Newest first', anyOf: [ReadableQuotesResult, ReadableInvalidQuotesResult] },
        400: BAD_REQUEST,
      },
    },
    {
      ...reading,
      path: '/account/orders',
      summary: "A wallet's public orders; default the operator's, with its private ones",
      query: AccountQuery,
      answers: { 200: { about: 'Newest first', schema: ReadableQuotesResult }, 400: BAD_REQUEST, 501: NO_WALLET },
    },
    {
      ...shared,
      method: 'PATCH',
      path: '/orderbook/quotes',
      summary: "Fill quotes with the operator's wallet",
      body: fillQuotesBody(tradesPerRequest),
      answers: {
        200: { about: 'What became of each quote', schema: FillQuotesResult },
        400: badRequest('balance_unknown', 'insufficient_balance', 'insufficient_allowance'),
        ...refusals,
        504: PENDING,
      },
    },
    {
      ...shared,
      method: 'DELETE',
      path: '/orderbook/quotes',
      summary: "Cancel the operator's quotes on chain",
      body: cancelQuotesBody(tradesPerRequest),
      answers: {
        200: { about: 'What became of each quote', schema: CancelQuotesResult },
        400: BAD_REQUEST,
        ...refusals,
        504: PENDING,
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/account/collateral_approval',
      summary: "Set what the router may take of the operator's tokens",
      body: approvalsBody(symbols),
      answers: {
        200: { about: 'What became of each token', schema: ApprovalsResult },
        400: BAD_REQUEST,
        ...refusals,
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/vaults/trade',
      summary: 'Buy options from a vault, or sell them to it',
      body: vaultTradeBody(symbols),
      answers: {
        200: { about: 'What was traded', schema: VaultTradeResult },
        400: badRequest(
          'invalid_expiration',
          'unknown_vault',
          'contract_refused',
          'insufficient_balance',
          'insufficient_allowance',
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
  const route = (path: string, summary: string, query: TSchema, schema: TSchema): RouteDoc => ({
    method: 'GET',
    path,
    needsKey: true,
    tag: 'Account',
    summary,
    query,
    answers: { 200: { about: 'What it holds', schema }, 400: BAD_REQUEST, 501: NO_WALLET, 503: UNREACHABLE },
  });
  return [
    route('/account/collateral_balances', 'Balances of all tokens', AccountQuery, CollateralBalances),
    route('/account/native_balance', "The balance of the chain's own coin", AccountQuery, NativeBalance),
    route('/account/option_balance', 'Option positions, in the form of the cloud', WalletQuery, OptionBalances),
    route('/account/option_balances', 'Option positions, in either form', OptionBalancesQuery, OptionBalances),
  ];
}

const Health = closed({ status: Type.Literal('alive') });
const Ready = closed({ ready: Type.Boolean(), reasons: Type.Array(Type.String()) });
const PageSettings = closed({
  chainId: Type.String(),
  router: Type.String({ description: 'The contract that takes collateral from makers and takers.' }),
  apiKey: Type.Union([Type.String(), Type.Null()]),
  rpcUrl: Type.Union([Type.String(), Type.Null()], { description: "JSON-RPC of a local set-up's chain." }),
});
const Document: AnswerDoc = { about: 'The document', schema: Type.Object({}) };

/** Routes about the service itself; they need no key. */
export function statusDocs(): RouteDoc[] {
  const route = (path: string, summary: string, answers: RouteDoc['answers']): RouteDoc => {
    return { method: 'GET', path, needsKey: false, tag: 'Service', summary, answers };
  };
  return [
    route('/health', 'Whether the process lives', { 200: { about: 'It does', schema: Health } }),
    route('/ready', 'Whether it serves what the chains say now', {
      200: { about: 'It does', schema: Ready },
      503: { about: 'It does not, and why', schema: Ready },
    }),
    route('/openapi.json', 'The REST API as OpenAPI 3.1', { 200: Document }),
    route('/asyncapi.json', 'The WebSocket API as AsyncAPI 3.0', { 200: Document }),
    route('/docs', 'Both, for people', { 200: { about: 'A page', mediaType: 'text/html' } }),
    route('/', 'The market, for people: where the page was built', {
      200: { about: 'A page', mediaType: 'text/html' },
      304: NOT_MODIFIED,
      403: failure('A WebSocket handshake of a page whose origin is not allowed', 'origin_forbidden'),
      426: failure('A WebSocket handshake of another version than 13', 'unsupported_websocket_version'),
      429: failure('A WebSocket handshake from an address that has as many sockets as it may', 'too_many_connections'),
      503: failure(
        'A WebSocket handshake while there are as many sockets as there may be; anything while the chains have not been reached',
        'server_full',
      ),
    }),
    route('/page.json', 'What that page asks for', {
      200: { about: 'The chain, and on a local set-up the key that this browser may use', schema: PageSettings },
    }),
  ];
}
