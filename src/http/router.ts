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
  /** Puts what is left into an answer's own headers. `quotes`: of quotes, too. */
  headers(caller: Caller, quotes: boolean, into: string[]): void;
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
  /** Value of `access-control-allow-origin` for whoever asks; null: none. */
  allowOrigin(request: Pick<NetRequestHead, 'header'>): string | null;
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

  function dispatch(answering: Answering): NetResponse | Promise<NetResponse> {
    const { request } = answering;
    const methods = byPath.get(request.path);
    if (methods === undefined) return refuse(request, 404, 'Not found');
    answering.route = request.path;
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
    answering.caller = caller;
    answering.takesQuotes = route.takesQuotes === true;
    const retryAfterMs = options.quotas.takeRequest(caller);
    return retryAfterMs > 0 ? rateLimited(request, retryAfterMs) : route.handle(request, caller);
  }

  function finish(answering: Answering, response: NetResponse): NetResponse {
    const { request, requestId, startMs, route, caller, takesQuotes } = answering;
    const { method, path } = request;
    const { status, headers, body } = response;
    const tookMs = options.watch.nowMs() - startMs;
    options.watch.answered({ requestId, method: METHODS.has(method) ? method : 'OTHER', path, route, status, tookMs });
    const ownHeaders = ['x-request-id', requestId];
    if (caller !== null) options.quotas.headers(caller, takesQuotes, ownHeaders);
    addCommonHeaders(ownHeaders, request, options);
    return { status, headers, ownHeaders, body };
  }

  function fail(answering: Answering, error: unknown): NetResponse {
    options.watch.failed(answering.requestId, error);
    return finish(answering, refuse(answering.request, 500, 'Internal server error'));
  }

  return (request) => {
    const { watch } = options;
    const answering: Answering = {
      request,
      requestId: watch.idOf(request),
      startMs: watch.nowMs(),
      route: 'other',
      caller: null,
      takesQuotes: false,
    };
    try {
      const response = dispatch(answering);
      if (!(response instanceof Promise)) return finish(answering, response);
      return response.then(
        (late) => finish(answering, late),
        (error: unknown) => fail(answering, error),
      );
    } catch (error) {
      return fail(answering, error);
    }
  };
}

/** What is known of a request until its answer is finished. */
interface Answering {
  readonly request: NetRequest;
  readonly requestId: string;
  readonly startMs: number;
  /** As `AnsweredRequest` has it. */
  route: string;
  /** Null: nobody pays for it. */
  caller: Caller | null;
  takesQuotes: boolean;
}

/** An answer that no route gives, with what every answer carries. */
export function withCommonHeaders(
  request: NetRequestHead,
  response: NetResponse,
  common: CommonHeaders,
  requestId: string,
): NetResponse {
  const ownHeaders = ['x-request-id', requestId];
  addCommonHeaders(ownHeaders, request, common);
  return { ...response, ownHeaders };
}

type CommonHeaders = Pick<RouterOptions, 'allowOrigin' | 'staleness'>;

/** Of every answer: who may read it, and whether the chains it tells of are behind. */
function addCommonHeaders(headers: string[], request: NetRequestHead, { allowOrigin, staleness }: CommonHeaders): void {
  const origin = allowOrigin(request);
  const stale = staleness();
  if (origin !== null) {
    headers.push('access-control-allow-origin', origin, 'access-control-expose-headers', CORS_EXPOSED_HEADERS);
    if (origin !== '*') headers.push('vary', 'origin');
  }
  if (stale !== null) headers.push('x-stale', stale);
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
