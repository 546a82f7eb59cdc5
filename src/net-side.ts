import type { HttpSide } from './http-side.js';
import { measuredSockets } from './metrics/instrument.js';
import type { NetOptions, NetServer, SocketHandlers } from './net/net.js';
import { openServer } from './net/open-server.js';
import type { ServiceOptions } from './service-options.js';

/** Requests that carry a batch, and may be larger than others. */
const BATCH_PATHS: ReadonlySet<string> = new Set(['/quotes', '/orders/query', '/pools', '/pool/settle']);

/** One server for routes and sockets; it does not listen yet. */
export function openNetwork(
  options: ServiceOptions,
  http: HttpSide,
  sockets: SocketHandlers,
  onFault: (error: unknown) => void,
): NetServer {
  const { limits, logger, metrics, spareDescriptors } = options;
  const descriptors: NetOptions['descriptors'] = spareDescriptors && {
    spare: spareDescriptors,
    onFew(few) {
      if (few) logger.warn('few file descriptors are left: no more connections are taken until there are more');
      else logger.info('connections are taken again');
    },
  };
  const { server, uwsUnavailable } = openServer(options, {
    http: http.handler,
    refuseHead: (request) => http.refuseHead(request),
    refuseBody: (fault, request) => http.refuseBody(fault, request),
    socketPath: '/',
    trustedProxies: options.trustedProxies ?? [],
    sockets: metrics === null ? sockets : measuredSockets(sockets, metrics),
    limits: {
      ...limits,
      bodyBytes: (method, path) =>
        method === 'POST' && BATCH_PATHS.has(path) ? limits.batchBodyBytes : limits.bodyBytes,
    },
    ...(descriptors !== undefined && { descriptors }),
    onFault,
  });
  if (uwsUnavailable !== undefined) logger.warn({ why: uwsUnavailable }, 'serving through node:http and ws');
  metrics?.network.set({ backend: server.backend, ...server.library }, 1);
  return server;
}
