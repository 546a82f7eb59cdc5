import type { KeyHolder } from '../auth/key-store.js';
import type { NetHandler, NetRequest, NetRequestHead, NetResponse } from '../net/net.js';
import { pathParameters } from './parse.js';
import { type AnswerHeaders, noOperatorScope, rateLimited, refuse, unavailable } from './responses.js';

/** The verified key of a request, by its id. */
export type Caller = Omit<KeyHolder, 'expiresAtMs'>;

/** `retryAfterMs`: the key is unknown, and too many such came from this address. */
export type KeyCheck = (
  rawKey: string | undefined,
  /** Asked for its address only when it matters: reading that costs more than all else here. */
  from: Pick<NetRequestHead, 'remoteAddress'>,
) => Caller | 'MISSING' | 'NOT_FOUND' | { readonly retryAfterMs: number };

/** Rate limits of the callers. */
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
      readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
      readonly path: string;
      readonly needsKey: true;
      /** Callers pay for each quote, too. */
      readonly takesQuotes?: true;
      /** Its body is a batch, and may be larger than others. */
      readonly takesBatch?: true;
      /** Keys without this scope are refused with 403, before their body is read. */
      readonly scope?: 'operator';
      readonly handle: RouteHandler<Caller>;
    }
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly needsKey: false;
      /** The refusal of a request before its body is read; null: it must be. Absent: none is refused. */
      readonly refuse?: (request: NetRequestHead) => NetResponse | null;
      readonly handle: RouteHandler<null>;
    };

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
export interface RequestObserver {
  /** Monotonic. */
  nowMs(): number;
  /** The id that the client gave, or a new one. */
  idOf(request: NetRequestHead): string;
  answered(answered: AnsweredRequest): void;
  /** The route threw, and is answered with 500. */
  failed(requestId: string, error: unknown): void;
}

/** How far a book that follows another process's has come. */
export interface ReplicaView {
  /** The last event that it shows. */
  seq(): number;
  /** Resolves to whether it shows that event in time; at once to false when too many wait. */
  reaches(seq: number): Promise<boolean>;
}

export interface RouterOptions {
  readonly watch: RequestObserver;
  readonly checkKey: KeyCheck;
  readonly quotas: RequestQuotas;
  readonly answerHeaders: AnswerHeaders;
  /**
   * Of a gateway: each answer says in `x-quotebook-seq` how far its book has come, and a request may say in `x-min-seq`
   * how far it has to have come, such as to what another gateway answered before. Null: the book is this process's own.
   */
  readonly replica: ReplicaView | null;
  readonly maxQueryBytes: number;
}

/** Headers that a page on another origin may send. */
const CORS_REQUEST_HEADERS = 'content-type, x-apikey, if-none-match, accept, x-request-id, x-min-seq';
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

/** The method as a metric label: one of a bounded set. */
export function methodLabel(method: string): string {
  return METHODS.has(method) ? method : 'OTHER';
}

export interface Router {
  readonly handle: NetHandler;
  /**
   * The refusal of a request by its head: a wrong path, method or key. Null: its body must be read. So the service
   * buffers no body of a client without a key, but for the small ones of routes that need none.
   */
  refuseHead(request: NetRequestHead): NetResponse | null;
}

/** The template among `templates` that a request's path matches; undefined without a match. */
export function routePath(templates: Iterable<string>, path: string): string | undefined {
  for (const template of templates) if (pathParameters(template, path) !== null) return template;
  return undefined;
}

/**
 * The path that is tried where no route has the one of a request. Clients of the public container may end a path with a
 * slash and write it in any letter case. A path with parameters is not tried: the letter case of those counts.
 */
export function relaxedPath(path: string): string {
  return path.toLowerCase().replace(/\/$/, '');
}

/** One table of routes: finds the handler, checks the key, and adds what every answer carries. */
export function createRouter(routes: readonly Route[], options: RouterOptions): Router {
  const { replica } = options;
  const byPath = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const methods = byPath.get(route.path) ?? new Map<string, Route>();
    methods.set(route.method, route);
    if (route.method === 'GET') methods.set('HEAD', route);
    byPath.set(route.path, methods);
  }
  const withParameters = [...byPath.keys()].filter((path) => path.includes('{'));

  /** Decides by the head alone: the answer, or the handler that gives it once the body is there. */
  function admit(answering: Answering): NetResponse | NetHandler {
    const { request } = answering;
    const { path: asked } = request;
    const path = byPath.has(asked) ? asked : (routePath(withParameters, asked) ?? relaxedPath(asked));
    const methods = byPath.get(path);
    if (methods === undefined) return refuse(request, 'unknown_path', 'Not found');
    answering.route = path;
    if (request.method === 'OPTIONS') return preflight(methods);
    const route = methods.get(request.method);
    if (route === undefined)
      return refuse(request, 'method_not_allowed', 'Method not allowed', {
        allow: [...methods.keys(), 'OPTIONS'].join(', '),
      });
    if (request.query.length > options.maxQueryBytes)
      return refuse(request, 'query_too_long', 'The query string is too long');
    // Routes without a key never wait for `x-min-seq`, so strangers cannot fill the waiting places.
    if (!route.needsKey) return route.refuse?.(request) ?? ((whole) => route.handle(whole, null));
    const caller = options.checkKey(request.header('x-apikey'), request);
    if (caller === 'MISSING') return refuse(request, 'api_key_missing', 'API key not provided');
    if (caller === 'NOT_FOUND') return refuse(request, 'api_key_unknown', 'NOT_FOUND');
    if ('retryAfterMs' in caller) return rateLimited(request, caller.retryAfterMs);
    answering.caller = caller;
    if (route.scope !== undefined && !caller.scopes?.includes(route.scope)) return noOperatorScope(request);
    answering.takesQuotes = route.takesQuotes === true;
    if (route.method !== 'GET' && hasCoding(request))
      return refuse(request, 'unsupported_encoding', 'A body with a Content-Encoding is not taken', {
        'accept-encoding': 'identity',
      });
    const handler = onceReached(request, (whole) => route.handle(whole, caller));
    if (typeof handler !== 'function') return handler;
    return (whole) => {
      const retryAfterMs = options.quotas.takeRequest(caller);
      return retryAfterMs > 0 ? rateLimited(whole, retryAfterMs) : handler(whole);
    };
  }

  /** Has the handler wait for the event that the request names in `x-min-seq`. */
  function onceReached(request: NetRequestHead, handler: NetHandler): NetResponse | NetHandler {
    if (replica === null) return handler;
    const wanted = request.header('x-min-seq');
    if (wanted === undefined) return handler;
    if (!/^[0-9]{1,15}$/.test(wanted))
      return refuse(request, { code: 'invalid_parameter', param: 'x-min-seq' }, 'x-min-seq is the number of an event');
    return async (whole) =>
      (await replica.reaches(Number(wanted)))
        ? handler(whole)
        : unavailable(whole, 'event_not_reached', `Event ${wanted} is not known here yet`);
  }

  function finish(answering: Answering, response: NetResponse): NetResponse {
    const { request, requestId, startMs, caller, takesQuotes } = answering;
    const nowMs = options.watch.nowMs();
    answering.status = response.status;
    answering.tookMs = nowMs - startMs;
    options.watch.answered(answering);
    const ownHeaders: string[] = [];
    if (caller !== null) options.quotas.headers(caller, takesQuotes, ownHeaders);
    if (replica !== null) ownHeaders.push('x-quotebook-seq', String(replica.seq()));
    return options.answerHeaders.addTo(request, response, nowMs, requestId, ownHeaders);
  }

  function fail(answering: Answering, error: unknown): NetResponse {
    options.watch.failed(answering.requestId, error);
    return finish(answering, refuse(answering.request, 'internal_error', 'Internal server error'));
  }

  function handle(request: NetRequest): NetResponse | Promise<NetResponse> {
    const answering = new Answering(request, options.watch);
    try {
      const admitted = admit(answering);
      const response = typeof admitted === 'function' ? admitted(request) : admitted;
      if (!(response instanceof Promise)) return finish(answering, response);
      return response.then(
        (late) => finish(answering, late),
        (error: unknown) => fail(answering, error),
      );
    } catch (error) {
      return fail(answering, error);
    }
  }

  function refuseHead(request: NetRequestHead): NetResponse | null {
    const answering = new Answering(request, options.watch);
    try {
      const admitted = admit(answering);
      return typeof admitted === 'function' ? null : finish(answering, admitted);
    } catch (error) {
      return fail(answering, error);
    }
  }

  return { handle, refuseHead };
}

/** Collects the facts of one request, and reports them when its answer is finished. */
class Answering implements AnsweredRequest {
  readonly request: NetRequestHead;
  readonly requestId: string;
  readonly startMs: number;
  readonly method: string;
  readonly path: string;
  route = 'other';
  status = 0;
  tookMs = 0;
  /** Null: nobody pays for it. */
  caller: Caller | null = null;
  takesQuotes = false;

  constructor(request: NetRequestHead, watch: RequestObserver) {
    const { method, path } = request;
    this.request = request;
    this.requestId = watch.idOf(request);
    this.startMs = watch.nowMs();
    this.method = methodLabel(method);
    this.path = path;
  }
}

/** RFC 9110, 8.4 and 12.5.3: a body in a coding that is not taken is 415, and the answer says which one is. */
function hasCoding(request: NetRequestHead): boolean {
  const coding = request.header('content-encoding');
  return coding !== undefined && coding.toLowerCase() !== 'identity';
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
