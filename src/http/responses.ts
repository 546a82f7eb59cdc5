import type { TakerAccess } from '../auth/taker-access.js';
import type { Hex } from '../engine/quote.js';
import { type NetRequest, type NetRequestHead, type NetResponse, SharedHeaders } from '../net/net.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import type { QuotaHolder } from '../quota/rate-limits.js';
import type { TokenCapRefusal } from '../quota/token-caps.js';
import type { PacedWork } from '../system/paced-work.js';
import { delayCode, type ERROR_CODES, type HttpErrorCode, RETRY_SOON_MS } from '../wire/error-codes.js';
import { noPoolText } from '../wire/primitives.js';
import { type ErrorBody, type ErrorCause, renderError } from '../wire/problem.js';
import type { SchemaError } from '../wire/validation.js';
import { lower } from './parse.js';

/** Where answers that cost more than a request should are made, one at a time for each key. */
export interface LargeAnswerRunner {
  /** Gives when to retry where too many answers of the key wait already; `make` is not called then. */
  run<T>(
    caller: QuotaHolder,
    make: (work: PacedWork) => T | Promise<T>,
  ): Promise<T> | { readonly retryAfterMs: number };
}

/** The answer that `make` gives, or 429. For a client that went away while it waited, nothing is made. */
export function largeAnswer(
  answers: LargeAnswerRunner,
  request: NetRequest,
  caller: Parameters<LargeAnswerRunner['run']>[0],
  make: (work: PacedWork) => NetResponse | Promise<NetResponse>,
): NetResponse | Promise<NetResponse> {
  const made = answers.run(caller, (work) => (request.aborted ? UNREAD : make(work)));
  return 'retryAfterMs' in made ? rateLimited(request, made.retryAfterMs) : made;
}

const NO_HEADERS = {};
const UNREAD: NetResponse = { status: 503, headers: NO_HEADERS, body: '' };
const JSON_HEADERS = { 'content-type': 'application/json' };

/** An answer whose body is JSON already. */
export function json(text: string | Uint8Array, status = 200): NetResponse {
  return { status, headers: JSON_HEADERS, body: text };
}

/** An error as plain JSON, or as RFC 9457 if the client accepts that. The status is that of its code. */
export function refuse(
  request: NetRequestHead,
  cause: ErrorCause,
  error: string | ErrorBody | readonly SchemaError[],
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): NetResponse {
  const content = typeof error === 'string' ? { message: error } : error;
  const { status, contentType, body } = renderError(cause, content, request.header('accept'));
  return { status, headers: { ...headers, 'content-type': contentType }, body };
}

/** An expiration date that no option has. */
export const BAD_EXPIRATION = { code: 'invalid_expiration', param: 'expiration' } as const;

const RETRY_SOON = retryAfter(RETRY_SOON_MS);

/** 503, with when to try again. */
export function unavailable(request: NetRequestHead, code: UnavailableCode, message: string): NetResponse {
  return refuse(request, code, message, RETRY_SOON);
}

/** Codes whose status is 503. */
type UnavailableCode = {
  [Code in HttpErrorCode]: (typeof ERROR_CODES)[Code]['status'] extends 503 ? Code : never;
}[HttpErrorCode];

/** Why nothing can be written just now, in the words of the journal or of the chains. */
export function notNow(request: NetRequestHead, refusal: string): NetResponse {
  return unavailable(request, delayCode(refusal), refusal);
}

/** RFC 6585, 4: over a quota. Existing clients know the word. */
export function rateLimited(request: NetRequestHead, retryAfterMs: number): NetResponse {
  return refuse(request, 'rate_limited', 'RATELIMITED', retryAfter(retryAfterMs));
}

/** The header, in whole seconds. */
function retryAfter(ms: number): Record<string, string> {
  return { 'retry-after': String(Math.ceil(ms / 1000)) };
}

export interface AnswerHeaderOptions {
  /** Value of `access-control-allow-origin` for this request, one of few; null: no header. */
  allowOrigin(request: Pick<NetRequestHead, 'header'>): string | null;
  /** Why what is answered may be behind the chains; null when it is not. `nowMs` is monotonic. */
  staleness(nowMs: number): string | null;
}

/** Headers that a page on another origin may read. */
const CORS_EXPOSED_HEADERS =
  'etag, retry-after, ratelimit, ratelimit-policy, x-request-id, x-stale, x-quotebook-as-of, x-quotebook-seq';
/**
 * For answers without caching headers of their own. A shared cache may store the answer to a request with `x-apikey`,
 * unlike one with `authorization` (RFC 9111, 3.5), and may guess how long it is fresh (4.2.2).
 */
const FOR_ONE_READER = { 'cache-control': 'private, no-cache' };

/** Header sets for answers without their own caching headers, and for those with them. */
interface CorsHeaders {
  readonly unsaid: readonly SharedHeaders[];
  readonly said: readonly SharedHeaders[];
}

function corsHeaders(headers: Readonly<Record<string, string>>): CorsHeaders {
  return {
    unsaid: [new SharedHeaders({ ...headers, ...FOR_ONE_READER })],
    said: [new SharedHeaders(headers)],
  };
}

/** Where not everybody may read it: a cache may not give a page what another origin, or none, was answered. */
const BY_ORIGIN = corsHeaders({ vary: 'origin' });

/** Headers of every answer: the request id, CORS, caching, and whether the followed chains are behind. */
export class AnswerHeaders {
  readonly #options: AnswerHeaderOptions;
  readonly #byOrigin = new Map<string, CorsHeaders>();

  constructor(options: AnswerHeaderOptions) {
    this.#options = options;
  }

  /** `ownHeaders`: more of this answer alone, which becomes the answer's. */
  addTo(
    request: NetRequestHead,
    response: NetResponse,
    nowMs: number,
    requestId: string,
    ownHeaders: string[],
  ): NetResponse {
    ownHeaders.push('x-request-id', requestId);
    const stale = this.#options.staleness(nowMs);
    if (stale !== null) ownHeaders.push('x-stale', stale);
    const { status, headers, shared, body } = response;
    const forReader = this.#corsHeadersFor(request)[headers['cache-control'] === undefined ? 'unsaid' : 'said'];
    return { status, headers, shared: shared === undefined ? forReader : [...shared, ...forReader], ownHeaders, body };
  }

  #corsHeadersFor(request: NetRequestHead): CorsHeaders {
    const origin = this.#options.allowOrigin(request);
    if (origin === null) return BY_ORIGIN;
    let known = this.#byOrigin.get(origin);
    if (known === undefined) {
      known = corsHeaders({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': CORS_EXPOSED_HEADERS,
        ...(origin !== '*' && { vary: 'origin' }),
      });
      this.#byOrigin.set(origin, known);
    }
    return known;
  }
}

/** The operator pays for nothing more just now: for this key, or for any. */
export function gasRefused(request: NetRequestHead, refusal: GasRefusal | TokenCapRefusal): NetResponse {
  switch (refusal.type) {
    case 'OVER_BUDGET':
      return rateLimited(request, refusal.retryAfterMs);
    case 'BEYOND_DAY': {
      // Not 429: such a request would never be accepted.
      const { unit, needed, limit } = refusal;
      if (limit === 0) return refuse(request, 'gas_not_paid', 'The operator pays no gas for this key');
      return refuse(
        request,
        'beyond_daily_quota',
        `The request needs ${needed} ${unit}, and a day of the key has ${limit}`,
      );
    }
    case 'STORAGE_FULL':
      return unavailable(request, 'storage_full', 'STORAGE_FULL');
    case 'SPEND_CAP':
      return capped(request, refusal, `The wallet ${refusal.wallet} has spent what it may in a day`);
    case 'OPERATOR_CAP':
      return capped(request, refusal, `The operator's wallet has spent what ${refusal.spender} may in a day`);
    case 'TOKEN_CAP':
      return capped(request, refusal, `The operator's wallet may not pay so much ${refusal.symbol} in a day`);
  }
}

function capped(
  request: NetRequestHead,
  { retryAfterMs }: { readonly retryAfterMs: number },
  message: string,
): NetResponse {
  return refuse(request, 'spend_cap_reached', message, retryAfter(retryAfterMs));
}

/** A pool by its address or by the name of its option. */
interface PoolQuery {
  readonly poolAddress?: string | undefined;
  readonly instrument?: string | undefined;
}

/** The pool that a query names, in lower case, or the refusal if it names it in both ways, in none, or names no pool. */
export function poolOf(
  request: NetRequestHead,
  { poolAddress, instrument }: PoolQuery,
  poolNamed: (instrument: string) => Hex | null,
): Hex | NetResponse {
  if (poolAddress !== undefined && instrument === undefined) return lower(poolAddress);
  if (instrument === undefined || poolAddress !== undefined) {
    return refuse(request, 'invalid_parameter', 'Name the pool by either poolAddress or instrument');
  }
  return poolNamed(instrument) ?? noPoolNamed(request, instrument);
}

/** The same where a query need not name a pool; null: it names none. */
export function optionalPoolOf(
  request: NetRequestHead,
  query: PoolQuery,
  poolNamed: (instrument: string) => Hex | null,
): Hex | null | NetResponse {
  const isOfAll = query.poolAddress === undefined && query.instrument === undefined;
  return isOfAll ? null : poolOf(request, query, poolNamed);
}

export function noPoolNamed(request: NetRequestHead, name: string): NetResponse {
  return refuse(request, 'pool_not_deployed', noPoolText(name));
}

/** The key is known, but only keys with the scope operator may act with the operator's wallet. */
export function noOperatorScope(request: NetRequestHead): NetResponse {
  return refuse(
    request,
    'missing_scope',
    "This key may not act with the operator's wallet: it takes one with the scope operator",
  );
}

/** The refusal of a request for what is private to a taker, of one provider or of all; null: the caller may see it. */
export function takerRefusal(
  request: NetRequestHead,
  takers: TakerAccess,
  caller: Parameters<TakerAccess['maySee']>[0],
  taker: Hex | '*' | undefined,
  provider?: Hex,
): NetResponse | null {
  if (takers.maySeeOfProvider(caller, taker ?? null, provider)) return null;
  if (taker === '*') {
    return refuse(request, 'missing_scope', "Every taker's quotes and requests take a key with the scope takers:all");
  }
  return refuse(
    request,
    { code: 'taker_not_proven', param: 'taker' },
    'This key has not proven the address of the taker: sign in with it',
  );
}

export function noWallet(request: NetRequestHead): NetResponse {
  return refuse(
    request,
    'no_wallet',
    "No wallet is configured: set walletKey or walletKeyFile to the operator's private key",
  );
}

export function chainUnreachable(request: NetRequestHead): NetResponse {
  return unavailable(request, 'chain_unavailable', 'The chain does not answer');
}

/**
 * The refusal of a settlement chain that exists, but is not the one that is served: in the words of a schema that allows
 * one alone. `item`: the place in the body's array that has it; null: it is in the query, or in the body itself.
 */
export function wrongChain(request: NetRequestHead, served: string, item: number | null = null): NetResponse {
  const error = {
    keyword: 'enum',
    instancePath: item === null ? '/chainId' : `/${item}/chainId`,
    schemaPath: `#${item === null ? '' : '/items'}/properties/chainId/enum`,
    params: { allowedValues: [served] },
    message: 'must be equal to one of the allowed values',
  };
  return refuse(request, 'unsupported_chain', [error]);
}
