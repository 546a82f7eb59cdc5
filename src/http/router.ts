import type { NetHandler, NetRequest, NetRequestHead, NetResponse } from '../net/net.js';
import { rateLimited, refuse } from './answer.js';

/** Who asks: a verified key, by its id. */
export interface Caller {
  readonly id: string;
  readonly tier: 'free' | 'paid';
}

/** The last of them: too many unknown keys came from this address, and one more. */
export type KeyCheck = (
  rawKey: string | undefined,
  /** Asked for its address only when it matters: reading that costs more than all else here. */
  from: Pick<NetRequestHead, 'remoteAddress'>,
) => Caller | 'MISSING' | 'NOT_FOUND' | { readonly retryAfterMs: number };

/** What callers have left. */
export interface RequestQuotas {
  /** Takes one request. Returns 0, or for how many milliseconds there will be none. */
  takeRequest(caller: Caller): number;
  /** For the answer: what is left. `quotes`: of quotes, too. */
  headers(caller: Caller, quotes: boolean): Readonly<Record<string, string>>;
}

/** Answers one request; `caller` is null on routes that need no key. */
export type RouteHandler<C> = (request: NetRequest, caller: C) => NetResponse | Promise<NetResponse>;

export type Route =
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly needsKey: true;
      /** Callers pay for each quote, too. */
      readonly takesQuotes?: true;
      readonly handle: RouteHandler<Caller>;
    }
  | { readonly method: 'GET'; readonly path: string; readonly needsKey: false; readonly handle: RouteHandler<null> };

export interface AnsweredRequest {
  readonly requestId: string;
  /** Of HTTP's own methods; OTHER for any else. */
  readonly method: string;
  readonly path: string;
  /** The path when there is such a route, else `other`: a bounded set. */
  readonly route: string;
  readonly status: number;
  readonly tookMs: number;
}

/** Hears of every request, so that a log line can be found for an answer, and the other way round. */
export interface RequestWatch {
  /** Monotonic. */
  nowMs(): number;
  /** The id that the client gave, or a new one. */
  idOf(request: NetRequestHead): string;
  answered(answered: AnsweredRequest): void;
  /** The route threw, and is answered with 500. */
  failed(requestId: string, error: unknown): void;
}

export interface RouterOptions {
  readonly watch: RequestWatch;
  readonly checkKey: KeyCheck;
  readonly quotas: RequestQuotas;
  /** Value of `access-control-allow-origin` for this Origin; null: none. */
  allowOrigin(origin: string | undefined): string | null;
  /** Why what is answered may be behind the chains; null when it is not. */
  staleness(): string | null;
  readonly maxQueryBytes: number;
}

/** Headers that a page on another origin may send, and those it may read. */
const CORS_REQUEST_HEADERS = 'content-type, x-apikey, if-none-match, accept';
const CORS_EXPOSED_HEADERS = 'etag, retry-after, ratelimit, ratelimit-policy, x-request-id, x-stale';
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** One table of routes: finds the handler, checks the key, and adds what every answer carries. */
export function createRouter(routes: readonly Route[], options: RouterOptions): NetHandler {
  const byPath = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = byPath.get(route.path) ?? new Map<string, Route>();
    methods.set(route.method, route);
    if (route.method === 'GET') methods.set('HEAD', route);
    byPath.set(route.path, methods);
  }

  function dispatch(request: NetRequest): NetResponse | Promise<NetResponse> {
    const methods = byPath.get(request.path);
    if (methods === undefined) return refuse(request, 404, 'Not found');
    if (request.method === 'OPTIONS') return preflight(methods);
    const route = methods.get(request.method);
    if (route === undefined)
      return refuse(request, 405, 'Method not allowed', { allow: [...methods.keys()].join(', ') });
    if (request.query.length > options.maxQueryBytes) return refuse(request, 414, 'The query string is too long');
    if (!route.needsKey) return route.handle(request, null);
    const caller = options.checkKey(request.header('x-apikey'), request);
    if (caller === 'MISSING') return refuse(request, 401, 'API key not provided');
    if (caller === 'NOT_FOUND') return refuse(request, 401, 'NOT_FOUND');
    if ('retryAfterMs' in caller) return rateLimited(request, caller.retryAfterMs);
    const retryAfterMs = options.quotas.takeRequest(caller);
    const response = retryAfterMs > 0 ? rateLimited(request, retryAfterMs) : route.handle(request, caller);
    const withQuota = (answer: NetResponse): NetResponse => ({
      ...answer,
      headers: { ...options.quotas.headers(caller, route.takesQuotes === true), ...answer.headers },
    });
    return response instanceof Promise ? response.then(withQuota) : withQuota(response);
  }

  return (request) => {
    const { watch } = options;
    const { method, path } = request;
    const requestId = watch.idOf(request);
    const startMs = watch.nowMs();
    const finish = (response: NetResponse): NetResponse => {
      const { status } = response;
      const route = byPath.has(path) ? path : 'other';
      const tookMs = watch.nowMs() - startMs;
      watch.answered({ requestId, method: METHODS.has(method) ? method : 'OTHER', path, route, status, tookMs });
      return withCommonHeaders(request, response, options, requestId);
    };
    const fail = (error: unknown): NetResponse => {
      watch.failed(requestId, error);
      return finish(refuse(request, 500, 'Internal server error'));
    };
    try {
      const response = dispatch(request);
      return response instanceof Promise ? response.then(finish, fail) : finish(response);
    } catch (error) {
      return fail(error);
    }
  };
}

/** Every answer's own: its request's id, who may read it, and whether the chains it tells of are behind. */
export function withCommonHeaders(
  request: NetRequestHead,
  response: NetResponse,
  { allowOrigin, staleness }: Pick<RouterOptions, 'allowOrigin' | 'staleness'>,
  requestId: string,
): NetResponse {
  const origin = allowOrigin(request.header('origin'));
  const stale = staleness();
  const headers: Record<string, string> = { ...response.headers, 'x-request-id': requestId };
  if (origin !== null) {
    headers['access-control-allow-origin'] = origin;
    headers['access-control-expose-headers'] = CORS_EXPOSED_HEADERS;
    if (origin !== '*') headers.vary = 'origin';
  }
  if (stale !== null) headers['x-stale'] = stale;
  return { ...response, headers };
}

/** Fetch standard, "CORS-preflight fetch": no key, no body. */
function preflight(methods: ReadonlyMap<string, Route>): NetResponse {
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': [...methods.keys()].join(', '),
      'access-control-allow-headers': CORS_REQUEST_HEADERS,
      'access-control-max-age': '86400',
    },
    body: '',
  };
}
