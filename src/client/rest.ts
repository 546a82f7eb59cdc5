import type { Hex } from 'viem';
import type { BookQuery, BookResult, PastTickersResult, TickersResult } from '../wire/feed-messages.js';
import type { QuoteHistoryQuery, QuoteHistoryResult } from '../wire/history.js';
import type {
  InstrumentJson,
  Option,
  PoolJson,
  PoolsQuery,
  PostPoolsResult,
  SettleResponse,
  VaultQuoteQuery,
  VaultQuoteResult,
} from '../wire/options.js';
import type {
  CreateKeyBody,
  CreateKeyResult,
  NonceResult,
  SignOutResult,
  VerifyBody,
  VerifyResult,
} from '../wire/auth.js';
import type { CollateralBalances, OptionBalances } from '../wire/account.js';
import type { CandlesQuery, CandlesResult, TradesQuery, TradesResult } from '../wire/market.js';
import type { ValuedTickersResult } from '../wire/valuation.js';
import type {
  AuthorizationBody,
  AuthorizationsResult,
  FillLimitBody,
  FillLimitsResult,
  RevocationBody,
  TimerResult,
} from '../wire/protections.js';
import type {
  RestoreQuotesResult,
  WithdrawAllJson,
  WithdrawalJson,
  WithdrawnQuotesPage,
  WithdrawnQuotesQuery,
  WithdrawQuotesResult,
} from '../wire/withdrawals.js';
import type {
  AsOfQuery,
  CoverQuery,
  CoverTerms,
  DryRunResult,
  OrderbookQuote,
  OrdersQueryParams,
  OrdersResponse,
  PostedQuoteJson,
  PostQuotesResult,
  QuotesQuery,
  RfqQuotesQuery,
} from '../wire/orderbook.js';
import type { PostRfqBody, RfqCompetition, RfqCover, RfqsPage, RfqsQuery, RfqsResult } from '../wire/rfq.js';
import type { BookProof } from '../wire/history.js';
import { ApiError, lacksScope } from './errors.js';
import type { Fetch } from './ports.js';
import { type Quotas, readQuotas } from './quotas.js';
import type { Credentials } from './sign-in.js';

/** GET /ready. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export interface RestOptions {
  /** Without a slash at its end. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly chainId: string;
  readonly fetch: Fetch;
}

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;
/** Parameters that answers have as numbers: `next` is an `afterSeq`, `seq` an `asOfSeq`. */
type Counted = 'limit' | 'from' | 'to' | 'afterSeq' | 'depth' | keyof AsOfQuery;
type WithNumbers<Q> = { [K in keyof Q]: K extends Counted ? Q[K] | number : Q[K] };
type WithoutChain<Q> = WithNumbers<Omit<Q, 'chainId'>>;

/**
 * The HTTP routes, typed as docs/reference/api.md has them: amounts are decimal strings of 1e-18 units, times Unix seconds. Each
 * rejects with ApiError when the answer has a status other than 2xx or a body that is not JSON, and with the error of
 * `fetch` without an answer.
 */
export class Rest {
  readonly #options: RestOptions;
  #quotas: Quotas = new Map();

  constructor(options: RestOptions) {
    this.#options = options;
  }

  /** The key's quotas by name, each as the last answer that named it said; `quotes` is in those of `postQuotes` alone. */
  get quotas(): Quotas {
    return this.#quotas;
  }

  /** The best quotes that cover `size`; with `taker` that taker's private ones are merged in. */
  quotes(query: WithoutChain<QuotesQuery>): Promise<OrderbookQuote[]> {
    return this.#get('/quotes', this.#ofChain(query));
  }

  /** The best quotes that cover `size`, with what a taker approves, pays and sends. */
  cover(query: WithoutChain<CoverQuery>): Promise<CoverTerms> {
    return this.#get('/quotes/cover', this.#ofChain(query));
  }

  /** One taker's private quotes, best first. */
  rfqQuotes(query: WithoutChain<RfqQuotesQuery>): Promise<OrderbookQuote[]> {
    return this.#get('/rfq_quotes', this.#ofChain(query));
  }

  /** Asks makers for quotes of 1 to 8 legs: a request for each, in their order. The same again with a `clientId` is safe. */
  openRfq(request: WithoutChain<PostRfqBody>): Promise<RfqsResult> {
    return this.#post('/rfqs', { ...request, chainId: this.#options.chainId });
  }

  /** The key's own requests, the newest first. `next` of the answer is the `cursor` of the next page. */
  rfqs(query: WithoutChain<RfqsQuery> = {}): Promise<RfqsPage> {
    return this.#get('/rfqs', this.#ofChain(query));
  }

  /** Cancels a request, or all legs of a package. */
  cancelRfq(id: string): Promise<RfqsResult> {
    return this.#call('DELETE', `/rfqs/${id}`);
  }

  /** Price of a request, or of a package, by the quotes of the book. */
  rfqCover(id: string): Promise<RfqCover> {
    return this.#get(`/rfqs/${id}/cover`, {});
  }

  /** How a maker stands among those that answer a request. */
  rfqCompetition(rfqId: string, provider: Hex): Promise<RfqCompetition> {
    return this.#get(`/rfqs/${rfqId}/competition`, { provider });
  }

  /** A page of a quote's events, the oldest first. `next` of the answer is the `afterSeq` of the next page. */
  quoteHistory(quoteId: Hex, query: WithNumbers<QuoteHistoryQuery> = {}): Promise<QuoteHistoryResult> {
    return this.#get(`/quotes/${quoteId}/history`, query);
  }

  /** Inputs to compute a pool's book hash as of event `seq` from the chains: `quotebook verify-book` does it. */
  bookProof(poolAddress: Hex, seq: string | number): Promise<BookProof> {
    return this.#get(`/book/${poolAddress}/proof`, this.#ofChain({ seq }));
  }

  /**
   * Orders by any mix of filters, newest first. `size` is each one's smallest fillable size. More than 40 `quoteIds` go
   * in a body, which every proxy takes; with `asOf...`, which the body does not have, in the URL. An empty `quoteIds`
   * returns no orders: sent as a query without ids, it would return all.
   */
  async orders(query: WithoutChain<OrdersQueryParams> = {}): Promise<OrdersResponse> {
    const { quoteIds, limit } = query;
    if (quoteIds?.length === 0) {
      return { validQuotes: [], invalidQuotes: [], ...(limit !== undefined && { nextCursor: null }) };
    }
    const isPast = [query.asOfSeq, query.asOfBlock, query.asOfTime].some((point) => point !== undefined);
    if (quoteIds === undefined || quoteIds.length <= MOST_IDS_IN_A_URL || isPast) {
      return this.#get('/orders', this.#ofChain(query));
    }
    return this.#post('/orders/query', {
      ...this.#ofChain(query),
      ...(limit !== undefined && { limit: Number(limit) }),
    });
  }

  /**
   * `orders` of one provider: its private quotes, too, where the service shows them to this key; public ones alone where
   * `privacy` is proven, and the key has neither proven the address nor the scope `takers:all`.
   */
  ordersOf(
    provider: Hex,
    query: Omit<WithoutChain<OrdersQueryParams>, 'provider' | 'taker'> = {},
  ): Promise<OrdersResponse> {
    return this.orders({ ...query, provider, taker: '*' }).catch((error: unknown) => {
      // A service of before `taker=*` refuses the parameter.
      const isOlder = error instanceof ApiError && error.param === 'taker';
      if (!lacksScope(error) && !isOlder) throw error;
      return this.orders({ ...query, provider });
    });
  }

  /** The price levels of a pool's public quotes, now or in the past. `pool`: its address, or the name of its option. */
  book(pool: string, query: WithoutChain<BookQuery> = {}): Promise<BookResult> {
    return this.#get(`/book/${encodeURIComponent(pool)}`, this.#ofChain(query));
  }

  /** Every pool's best prices, and what was filled in 24 hours. */
  tickers(): Promise<TickersResult> {
    return this.#get('/tickers', this.#ofChain({}));
  }

  /** The same as of a past event, block or time. */
  pastTickers(point: WithNumbers<AsOfQuery>): Promise<PastTickersResult> {
    return this.#get('/tickers', this.#ofChain(point));
  }

  /** The same as of now, each with the name and an estimate of its option. */
  valuedTickers(): Promise<ValuedTickersResult> {
    return this.#get('/tickers', this.#ofChain({ fields: 'valuation' }));
  }

  /** Fills on the settlement chain, the newest first. `next` of the answer is the `cursor` of the next page. */
  trades(query: WithoutChain<TradesQuery> = {}): Promise<TradesResult> {
    return this.#get('/trades', this.#ofChain(query));
  }

  /** A pool's trades by intervals of time, the oldest first; intervals without a trade are left out. */
  candles(query: WithoutChain<CandlesQuery>): Promise<CandlesResult> {
    return this.#get('/candles', this.#ofChain(query));
  }

  /** Publishes 1 to 1,000 signed quotes. The next `quotes` returns those in `created`. Posting again is safe. */
  postQuotes(quotes: readonly PostedQuoteJson[]): Promise<PostQuotesResult> {
    return this.#post('/quotes', quotes);
  }

  /** The result that posting these quotes would have, with every reason against each. Publishes nothing. */
  checkQuotes(quotes: readonly PostedQuoteJson[]): Promise<DryRunResult> {
    return this.#post('/quotes?dryRun=true', quotes);
  }

  /**
   * Hides quotes at once, until `restoreQuotes`; on chain they can still be filled. `signed` is of `signWithdrawal`. Once
   * the client has signed in with the provider's address, `chainId`, `provider` and `quoteIds` alone will do.
   */
  withdrawQuotes(signed: WithdrawalJson): Promise<WithdrawQuotesResult> {
    return this.#call('DELETE', '/quotes', JSON.stringify(signed));
  }

  /**
   * Hides all quotes of a provider that the client has signed in with, of one pool or of every. Resolves to the ids of
   * those hidden by it, once none is left; those of calls before a rejection are hidden, too.
   */
  async withdrawAllQuotes(provider: Hex, { poolAddress }: { readonly poolAddress?: Hex } = {}): Promise<Hex[]> {
    const body: WithdrawAllJson = {
      chainId: this.#options.chainId,
      provider,
      all: true,
      ...(poolAddress !== undefined && { poolAddress }),
    };
    const ids: Hex[] = [];
    for (let isLeft = true; isLeft;) {
      const { withdrawn, more } = await this.#call<WithdrawQuotesResult>('DELETE', '/quotes', JSON.stringify(body));
      ids.push(...withdrawn);
      isLeft = more === true;
    }
    return ids;
  }

  /** Shows withdrawn quotes again. `signed` is of `signRestore`; a sign-in replaces it as for `withdrawQuotes`. */
  restoreQuotes(signed: WithdrawalJson): Promise<RestoreQuotesResult> {
    return this.#post('/quotes/restore', signed);
  }

  /** A provider's withdrawn quotes, by id. `next` of the answer is the `cursor` of the next page. */
  withdrawnQuotes(query: WithoutChain<WithdrawnQuotesQuery>): Promise<WithdrawnQuotesPage> {
    return this.#get('/quotes/withdrawn', this.#ofChain(query));
  }

  /** Lets this key act for a provider until the deadline. `signed` is of `signKeyAuthorization`. */
  authorizeKey(signed: AuthorizationBody): Promise<AuthorizationsResult> {
    return this.#post('/authorizations', signed);
  }

  /**
   * Ends that. `body` is of `signKeyRevocation`, and may name another key than this client's. A sign-in with the
   * provider's address replaces the signature. This key's own authorisation ends without either.
   */
  revokeKey(body: RevocationBody): Promise<AuthorizationsResult> {
    return this.#call('DELETE', '/authorizations', JSON.stringify(body));
  }

  /** The id of this key, which providers sign, and the providers that it may act for. */
  authorizations(): Promise<AuthorizationsResult> {
    return this.#get('/authorizations', {});
  }

  /**
   * All quotes of the provider are withdrawn unless another heartbeat comes within `timeoutSeconds`: 2 to 3,600, or 0,
   * which stops that.
   */
  heartbeat(provider: Hex, timeoutSeconds: number): Promise<TimerResult> {
    return this.#post('/heartbeat', { chainId: this.#options.chainId, provider, timeoutSeconds });
  }

  /** All quotes of the provider in a pool are withdrawn once more was filled within the window. */
  setFillLimit(limit: WithoutChain<FillLimitBody>): Promise<FillLimitsResult> {
    return this.#post('/fill_limits', { ...limit, chainId: this.#options.chainId });
  }

  fillLimits(provider: Hex): Promise<FillLimitsResult> {
    return this.#get('/fill_limits', this.#ofChain({ provider }));
  }

  /** Positions of a wallet in every pool that was deployed; default the operator's. */
  optionBalances(walletAddr?: Hex): Promise<OptionBalances> {
    return this.#get('/account/option_balances', { walletAddr });
  }

  /** Whole tokens that a wallet has of every token of the chain; default the operator's. */
  collateralBalances(walletAddr?: Hex): Promise<CollateralBalances> {
    return this.#get('/account/collateral_balances', { walletAddr });
  }

  /** Pools deployed in the last 90 days that have not expired. */
  pools(query: PoolsQuery = {}): Promise<PoolJson[]> {
    return this.#get('/pools', query);
  }

  /** Every pool that has a name and has not expired. */
  instruments(): Promise<InstrumentJson[]> {
    return this.#get('/instruments', {});
  }

  /** Deploys 1 to 100 pools. */
  deployPools(options: readonly Option[]): Promise<PostPoolsResult> {
    return this.#post('/pools', options);
  }

  /** The present price of a trade with the pair's vault, for the operator. */
  vaultQuote(query: VaultQuoteQuery): Promise<VaultQuoteResult> {
    return this.#get('/vaults/quote', query);
  }

  /** Settles the operator's positions in 1 to 1,000 expired options. */
  settle(options: readonly Option[]): Promise<SettleResponse> {
    return this.#post('/pool/settle', options);
  }

  /** A nonce for one sign-in message of the key; `client.signIn` does all of it. */
  signInNonce(): Promise<NonceResult> {
    return this.#post('/auth/nonce', {});
  }

  /** Proves an address with a signed message. */
  verifySignIn(signed: VerifyBody): Promise<VerifyResult> {
    return this.#post('/auth/verify', signed);
  }

  /** A nonce for `createKey`; `requestApiKey` does all of it. */
  createKeyNonce(): Promise<NonceResult> {
    return this.#post('/auth/keys/nonce', {});
  }

  /** Creates an API key of the self tier for the address that signed. */
  createKey(signed: CreateKeyBody): Promise<CreateKeyResult> {
    return this.#post('/auth/keys', signed);
  }

  /** Ends the session whose token is sent as the key. */
  endSession(): Promise<SignOutResult> {
    return this.#post('/auth/signout', {});
  }

  /** Whether the server has read both chains to their heads, and why not. */
  async ready(): Promise<Readiness> {
    const { status, body, header } = await this.#ask('GET', '/ready');
    // A proxy that cannot reach the server answers 503, too.
    if (!isReadiness(body)) throw new ApiError(status, body, header);
    return body;
  }

  #ofChain(query: Query): Query {
    return { ...query, chainId: this.#options.chainId };
  }

  #get<T>(path: string, query: Query): Promise<T> {
    return this.#call('GET', `${path}${queryString(query)}`);
  }

  #post<T>(path: string, body: unknown): Promise<T> {
    return this.#call('POST', path, JSON.stringify(body));
  }

  async #call<T>(method: Method, path: string, sent?: string): Promise<T> {
    const { status, body, isJson, header } = await this.#ask(method, path, sent);
    if (status < 200 || status > 299 || !isJson) throw new ApiError(status, body, header);
    return body as T;
  }

  async #ask(method: Method, path: string, body?: string) {
    const { credentials } = this.#options;
    const sent = credentials.current;
    const answer = await this.#exchange(sent, method, path, body);
    // A session that has ended: the server has done nothing, and the key may still be good.
    return answer.status === 401 && credentials.drop(sent)
      ? this.#exchange(credentials.current, method, path, body)
      : answer;
  }

  async #exchange(apiKey: string, method: Method, path: string, body?: string) {
    const { fetch, url } = this.#options;
    const headers = {
      accept: ACCEPTED,
      'x-apikey': apiKey,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    // A followed redirect would send the key to another host, and may turn a POST into a GET that succeeds.
    const init = { method, headers, redirect: 'manual' as const, ...(body !== undefined && { body }) };
    const response = await fetch(`${url}${path}`, init);
    const header = (name: string): string | null => response.headers.get(name);
    const { status } = response;
    this.#quotas = new Map([...this.#quotas, ...readQuotas(header('ratelimit'), header('ratelimit-policy'))]);
    if (isRedirect(status)) throw new ApiError(status, { message: 'A redirect is not followed' }, header);
    return { status, header, ...parsed(await response.text()) };
  }
}

type Method = 'GET' | 'POST' | 'DELETE';

/** Starts with `?`; lists become `name[]=a&name[]=b`; undefined values are omitted. */
function queryString(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (typeof value === 'object') return value.map((item) => `${name}[]=${encodeURIComponent(item)}`);
    return [`${name}=${encodeURIComponent(value)}`];
  });
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** A proxy may answer with something else than JSON. */
function parsed(text: string): { readonly body: unknown; readonly isJson: boolean } {
  try {
    return { body: JSON.parse(text), isJson: true };
  } catch {
    return { body: { message: text.slice(0, SHOWN_CHARACTERS) }, isJson: false };
  }
}

function isRedirect(status: number): boolean {
  return status === OPAQUE_REDIRECT || (status >= 300 && status < 400);
}

function isReadiness(body: unknown): body is Readiness {
  const { ready, reasons } = Object(body) as Readonly<Record<string, unknown>>;
  return typeof ready === 'boolean' && Array.isArray(reasons);
}

/** Errors come as problem details (RFC 9457), which have a code; a server that does not know them sends JSON. */
const ACCEPTED = 'application/json, application/problem+json';
/** Ids that fit in a request line of 4 KiB. The service takes all 1,000, but a proxy may not. */
const MOST_IDS_IN_A_URL = 40;
/** Status that browsers report for a redirect not followed (Fetch standard, "opaque-redirect filtered response"). */
const OPAQUE_REDIRECT = 0;
const SHOWN_CHARACTERS = 200;
