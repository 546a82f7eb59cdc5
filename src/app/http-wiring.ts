import type { Logger } from 'pino';
import { asyncApi, type ChannelDoc } from '../api-docs/asyncapi.js';
import { Examples } from '../api-docs/examples.js';
import { llmsText } from '../api-docs/llms.js';
import { openApi, type RouteDoc } from '../api-docs/openapi.js';
import { docsPage, socketsPage } from '../api-docs/page.js';
import { authDocs, optionDocs, orderbookDocs, statusDocs, tradingDocs } from '../api-docs/routes.js';
import { socketDocs } from '../api-docs/sockets.js';
import type { KeyStore } from '../auth/key-store.js';
import type { Limits } from '../config/limits.js';
import type { Clock, Random } from '../engine/ports.js';
import { AnswerHeaders, refuse, unavailable } from '../http/responses.js';
import { socketCalls } from '../http/socket-calls.js';
import { createRouter, type RequestObserver, type Route, methodLabel, relaxedPath, routePath } from '../http/router.js';
import type { ApiDocuments } from '../http/static-routes.js';
import { measuredSockets } from '../metrics/instrument.js';
import type { Metrics } from '../metrics/metrics.js';
import type { BodyFault, NetHandler, NetOptions, NetRequestHead, NetResponse, SocketHandlers } from '../net/net.js';
import { type OpenedServer, openServer } from '../net/open-server.js';
import type { Quotas } from '../quota/rate-limits.js';
import type { UnknownKeyGuard } from '../quota/unknown-key-guard.js';
import { PACKAGE_VERSION } from '../system/package-version.js';
import { onChain } from '../wire/primitives.js';
import { READABLE_SUBPROTOCOL, SUBPROTOCOLS } from '../ws/session.js';
import { type Core, reasonsNotReady, staleness } from './core.js';
import { Listeners } from './listeners.js';
import { TroubleLog } from './trouble-log.js';
import type { ServiceOptions } from './service-options.js';

export interface ServedRoutes {
  /** Everything that is served over HTTP: what the documents must tell of. */
  readonly routes: readonly Route[];
  /** Those that sockets alone may call. */
  readonly socketOnly: readonly Route[];
}

export interface HttpWiringOptions extends ServedRoutes {
  readonly core: Core;
  readonly keys: KeyStore;
  readonly quotas: Quotas;
  readonly watch: RequestObserver;
  readonly unknownKeys: UnknownKeyGuard;
  readonly corsOrigins: readonly string[];
  readonly limits: Limits;
}

export interface HttpWiring {
  readonly handler: NetHandler;
  /** Calls over sockets. */
  readonly calls: ReturnType<typeof socketCalls>;
  /** Result of GET /ready. */
  isReady(): boolean;
  /** The answer to a request that is rejected before its body is read; null for any other. */
  refuseHead(request: NetRequestHead): NetResponse | null;
  refuseBody(fault: BodyFault, request: NetRequestHead): NetResponse;
  /** Most bytes of the body of a request. */
  readonly bodyBytes: (method: string, path: string) => number;
}

/** Puts the router over the routes. */
export function createHttp(options: HttpWiringOptions): HttpWiring {
  const { routes, socketOnly, core, keys, quotas, unknownKeys, watch, limits } = options;
  const { chains } = core;
  const answerHeaders = new AnswerHeaders({
    allowOrigin: allowedOrigin(options.corsOrigins),
    // Asked for with every request, and next to always there is nothing to say.
    staleness: (nowMs) => staleness(chains, nowMs),
  });
  const paths = new Set(routes.map(({ path }) => path));
  const router = createRouter(routes, {
    answerHeaders,
    watch,
    checkKey(rawKey, from) {
      const caller = keys.verify(rawKey);
      if (caller !== 'NOT_FOUND') return caller;
      const retryAfterMs = unknownKeys.strike(from.remoteAddress);
      return retryAfterMs > 0 ? { retryAfterMs } : caller;
    },
    quotas: {
      takeRequest: (caller) => quotas.takeRequest(caller),
      headers: (caller, quotes, into) => quotas.headers(caller, quotes, into),
    },
    replica: core.replica,
    maxQueryBytes: limits.queryBytes,
  });
  return {
    calls: socketCalls([...routes, ...socketOnly]),
    handler: router.handle,
    refuseHead: (request) => router.refuseHead(request),
    isReady: () => reasonsNotReady(core).length === 0,
    refuseBody,
    bodyBytes: bodyLimits(routes, limits),
  };

  /** No handler runs, but the answer is logged and gets the usual headers. The time that its body took is not counted. */
  function refuseBody(fault: BodyFault, request: NetRequestHead): NetResponse {
    const { path } = request;
    const answer = refusedBody(fault, request);
    const requestId = watch.idOf(request);
    const known = [path, relaxedPath(path)].find((each) => paths.has(each));
    const route = known ?? routePath(paths, path) ?? 'other';
    watch.answered({ requestId, method: methodLabel(request.method), path, route, status: answer.status, tookMs: 0 });
    return answerHeaders.addTo(request, answer, watch.nowMs(), requestId, []);
  }
}

function refusedBody(fault: BodyFault, request: NetRequestHead): NetResponse {
  if (fault === 'TOO_MANY') return unavailable(request, 'busy', 'BUSY');
  return fault === 'TOO_LARGE'
    ? refuse(request, 'body_too_large', 'The body is too large')
    : refuse(request, 'body_timeout', 'The body came too slowly');
}

/** Null: a page of the request's origin may not read the answer. */
function allowedOrigin(allowed: readonly string[]): (request: Pick<NetRequestHead, 'header'>) => string | null {
  if (allowed.includes('*')) return () => '*';
  return (request) => {
    const origin = request.header('origin');
    return origin !== undefined && allowed.includes(origin) ? origin : null;
  };
}

/** Of batches, of bodies from callers without a key, and of all others. */
function bodyLimits(routes: readonly Route[], limits: Limits): HttpWiring['bodyBytes'] {
  const special = new Map<string, number>();
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    if (route.needsKey && route.takesBatch === true) special.set(name, limits.batchBodyBytes);
    if (!route.needsKey && route.method === 'POST') special.set(name, limits.keylessBodyBytes);
  }
  return (method, path) =>
    special.get(`${method} ${path}`) ?? special.get(`${method} ${relaxedPath(path)}`) ?? limits.bodyBytes;
}

/**
 * The servers for routes and sockets; none listens yet. `container`: sockets of the second listener, if there is one.
 */
export function openNetwork(
  options: ServiceOptions,
  http: HttpWiring,
  sockets: { readonly main: SocketHandlers; readonly container: SocketHandlers },
  onFault: (error: unknown) => void,
): Listeners {
  const { logger, metrics, containerPort = null } = options;
  const { server, uwsUnavailable } = openOneServer(options, http, sockets.main, onFault, true);
  if (uwsUnavailable !== undefined) logger.warn({ reason: uwsUnavailable }, 'uWebSockets.js unavailable');
  metrics?.network.set({ backend: server.backend, ...server.library }, 1);
  const container = containerPort === null ? null : openOneServer(options, http, sockets.container, onFault, false);
  return new Listeners(server, container?.server ?? null);
}

/** `tells`: whether it says when the process is short of file descriptors, which one server says for all. */
function openOneServer(
  options: ServiceOptions,
  http: HttpWiring,
  sockets: SocketHandlers,
  onFault: (error: unknown) => void,
  tells: boolean,
): OpenedServer {
  const { limits, logger, metrics, spareDescriptors } = options;
  const descriptors: NetOptions['descriptors'] = spareDescriptors && {
    spare: spareDescriptors,
    onFew(few) {
      if (!tells) return;
      if (few) logger.warn('connections paused');
      else logger.info('connections resumed');
    },
  };
  return openServer(options, {
    http: http.handler,
    refuseHead: (request) => http.refuseHead(request),
    refuseBody: (fault, request) => http.refuseBody(fault, request),
    socketPath: '/',
    trustedProxies: options.trustedProxies ?? [],
    sockets: metrics === null ? sockets : measuredSockets(sockets, metrics),
    limits: {
      ...limits,
      bodyBytes: http.bodyBytes,
    },
    ...(descriptors !== undefined && { descriptors }),
    onFault,
  });
}

/** Request ids that a client may choose: they have to fit a log line and a header. */
const CLIENT_ID = /^[\w.:-]{1,64}$/;

/**
 * Names each request and tells of its answer: a line in the log (`debug`; `warn` for a route's first failure of ours) and, where there
 * are metrics, its time. Ids are the process's own random prefix and a count: unique, and next to free.
 */
export function openRequestWatch(
  logger: Logger,
  clock: Clock,
  random: Random,
  metrics: Metrics | null,
  /** How long no failure may come before a trouble is over, ms (`TroubleLog`). */
  calmMs: number,
): RequestObserver {
  const troubles = new TroubleLog(clock, calmMs);
  const prefix = Buffer.from(random.bytes(6)).toString('hex');
  const timers = new Map<string, { observe(seconds: number): void }>();
  let count = 0;

  function timer(method: string, route: string, status: number): { observe(seconds: number): void } | null {
    if (metrics === null) return null;
    const name = `${method} ${route} ${status}`;
    const known = timers.get(name) ?? metrics.requests.labels(method, route, String(status));
    timers.set(name, known);
    return known;
  }

  return {
    nowMs: () => clock.monotonicMs(),
    idOf(request) {
      const given = request.header('x-request-id');
      if (given !== undefined && CLIENT_ID.test(given)) return given;
      count += 1;
      return `${prefix}-${count.toString(36)}`;
    },
    answered({ requestId, method, path, route, status, tookMs }) {
      timer(method, route, status)?.observe(tookMs / 1000);
      const hasFailed = status >= 500;
      const isNews = hasFailed && troubles.failed(`${method} ${route}`);
      const over = hasFailed ? null : troubles.succeeded(`${method} ${route}`);
      if (over !== null) logger.info({ method, route, ...over }, 'route recovered');
      const details = { requestId, method, path, status, tookMs };
      if (isNews) logger.warn(details, 'request failed');
      else if (logger.isLevelEnabled('debug'))
        logger.debug(details, hasFailed ? 'request failed' : 'request completed');
    },
    failed(requestId, error) {
      logger.error({ requestId, err: error }, 'internal error');
    },
  };
}

/** Properties of one deployment that the schemas of its interface depend on. */
export interface DocumentedDeployment {
  /** The settlement chain's, as it goes on the wire. */
  readonly chainId: string;
  /** Symbols of the chain's tokens. */
  readonly symbols: readonly string[];
  /** Names of the base tokens that have a vault, as GET /oracles/iv takes them. */
  readonly vaultBases: readonly string[];
}

/** Every route that is served, documented: a test compares it with the router's table. */
export function documentedRoutes(
  limits: Limits,
  { symbols, vaultBases }: Omit<DocumentedDeployment, 'chainId'>,
): RouteDoc[] {
  return [
    ...orderbookDocs(limits),
    ...authDocs(),
    ...optionDocs(symbols, vaultBases, limits),
    ...tradingDocs(symbols, limits),
    ...statusDocs(),
  ];
}

/** Every protocol that is spoken over sockets, by name. */
function documentedChannels(limits: Limits): Readonly<Record<string, ChannelDoc>> {
  return socketDocs(limits, Object.keys(SUBPROTOCOLS), READABLE_SUBPROTOCOL);
}

/** The documents of the API that are served, made once. */
export function apiDocuments(limits: Limits, deployment: DocumentedDeployment): ApiDocuments {
  const { chainId, symbols } = deployment;
  const routes = documentedRoutes(limits, deployment);
  const channels = documentedChannels(limits);
  const info = { version: PACKAGE_VERSION };
  const examples = new Examples(chainId, symbols);
  return {
    openApi: JSON.stringify(onChain(openApi(routes, info, examples), chainId)),
    asyncApi: JSON.stringify(onChain(asyncApi(channels, info, examples), chainId)),
    page: docsPage(onChain(routes, chainId), onChain(channels, chainId), info),
    socketsPage: socketsPage(channels),
    llms: llmsText(routes, channels, info),
  };
}
