import { createServer } from 'node:http';
import { listenOn } from '../net/address.js';
import type { Metrics } from './metrics.js';

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface MetricsLimits {
  readonly metricsConnections: number;
  /** A connection without a whole request in so long is closed. */
  readonly httpIdleMs: number;
}

/**
 * GET /metrics on a port of its own, since it has no key: who may reach it is decided by where it listens. Rejects when
 * the port is taken.
 */
export async function serveMetrics(
  metrics: Metrics,
  host: string,
  port: number,
  { metricsConnections, httpIdleMs }: MetricsLimits,
): Promise<MetricsServer> {
  const server = createServer(
    { headersTimeout: httpIdleMs, requestTimeout: httpIdleMs, connectionsCheckingInterval: Math.ceil(httpIdleMs / 4) },
    (req, res) => {
      if (req.method !== 'GET' || req.url?.split('?')[0] !== '/metrics') {
        res.writeHead(404, { 'content-type': 'text/plain' }).end('Not found: GET /metrics\n');
        return;
      }
      metrics.text().then(
        (text) => res.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text),
        () => res.writeHead(500).end(),
      );
    },
  );
  server.maxConnections = metricsConnections;
  // It must never be what keeps the process alive.
  server.unref();
  const ownPort = await listenOn(server, host, port);
  // A connection that it cannot take, for want of file descriptors: an error without a listener would end the process.
  server.on('error', () => undefined);
  return {
    port: ownPort,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
