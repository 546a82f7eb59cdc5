import { createServer } from 'node:http';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { listenOn } from '../net/address.js';

/** Upper bounds in seconds: from an answer out of memory to one that waits for a chain. */
const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
/** From a publication that waits for one block of a fast chain to one that the queue holds up. */
const PUBLICATION_SECONDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const COMMIT_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** Everything that is measured, by the names under which Prometheus finds it. One registry a service. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = new Histogram({
    ...this.#named('quotebook_http_request_seconds', 'Time from a request to its answer, by route and status.'),
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_SECONDS,
  });
  readonly refusedByQuota = new Counter({
    ...this.#named('quotebook_quota_refusals_total', 'What was refused because a key had used up a quota of its tier.'),
    labelNames: ['quota', 'tier'],
  });
  readonly publishedQuotes = new Counter({
    ...this.#named(
      'quotebook_published_quotes_total',
      'Quotes that the operator published, by the key they came with.',
    ),
    labelNames: ['key', 'tier'],
  });
  readonly chargedGas = new Counter({
    ...this.#named(
      'quotebook_charged_gas_total',
      'Gas that is charged to the keys: for these quotes, for pools that were deployed and positions that were settled.',
    ),
    labelNames: ['key', 'tier'],
  });
  readonly walletSpent = new Gauge({
    ...this.#named('quotebook_wallet_spent_gwei', 'What the wallet has spent on gas in its present day, by chain.'),
    labelNames: ['chain'],
  });
  readonly walletBalance = new Gauge({
    ...this.#named('quotebook_wallet_balance_gwei', 'What the wallet has, as the chain told it last, by chain.'),
    labelNames: ['chain'],
  });
  readonly orders = new Gauge({
    ...this.#named(
      'quotebook_orders',
      'Known orders: bids and asks that can be filled, those that cannot, and withdrawn ones.',
    ),
    labelNames: ['state'],
  });
  readonly pools = new Gauge(this.#named('quotebook_pools', 'Deployed pools that have not matured.'));
  readonly events = new Counter({
    ...this.#named('quotebook_events_total', 'Committed events by type.'),
    labelNames: ['type'],
  });
  readonly seq = new Gauge(this.#named('quotebook_seq', 'Number of the newest event.'));
  readonly commits = new Histogram({
    ...this.#named('quotebook_commit_seconds', 'From the first record of a group to its commit.'),
    buckets: COMMIT_SECONDS,
  });
  readonly commitRecords = new Counter(this.#named('quotebook_committed_records_total', 'Records made durable.'));
  readonly eventToSocket = new Histogram({
    ...this.#named(
      'quotebook_event_to_socket_seconds',
      'From the commit of a group to when its messages are handed to the sockets.',
    ),
    buckets: COMMIT_SECONDS,
  });
  readonly publication = new Histogram({
    ...this.#named(
      'quotebook_publication_seconds',
      "From quotes' acceptance for publication to their result on the chain, by result.",
    ),
    labelNames: ['result'],
    buckets: PUBLICATION_SECONDS,
  });
  readonly logBytes = new Gauge(this.#named('quotebook_log_bytes', "Size of the log's segments and snapshots."));
  readonly diskFree = new Gauge(
    this.#named('quotebook_disk_free_bytes', "Room that the log's volume has for this process."),
  );
  readonly snapshotAge = new Gauge(
    this.#named('quotebook_snapshot_age_seconds', 'How long ago the last record of the newest snapshot was written.'),
  );
  readonly tradeFilesFailing = new Gauge(
    this.#named('quotebook_trade_files_failing', '1 while trades that are committed cannot be written to their files.'),
  );
  readonly publications = new Counter(
    this.#named('quotebook_publications_total', 'Messages handed out, each once for all who follow its topic.'),
  );
  readonly publishedBytes = new Counter(this.#named('quotebook_published_bytes_total', 'Their size.'));
  readonly build = new Gauge({
    ...this.#named('quotebook_build_info', '1, with the version of the service and of Node.'),
    labelNames: ['version', 'node'],
  });
  readonly network = new Gauge({
    ...this.#named('quotebook_network_info', '1, with the network library: backend, version and where it came from.'),
    labelNames: ['backend', 'version', 'source'],
  });
  readonly sockets = new Gauge(this.#named('quotebook_sockets', 'Open WebSockets.'));
  readonly slowestReader = new Gauge(
    this.#named('quotebook_slowest_reader_bytes', 'Most bytes that wait for one WebSocket to read them.'),
  );
  readonly socketMessages = new Counter(this.#named('quotebook_socket_messages_total', 'Messages from clients.'));
  readonly socketCalls = new Histogram({
    ...this.#named(
      'quotebook_socket_call_seconds',
      'Time from a call over a WebSocket to its answer, by call and outcome: ok, or the code of the error.',
    ),
    labelNames: ['call', 'outcome'],
    buckets: REQUEST_SECONDS,
  });
  readonly socketRefusals = new Counter({
    ...this.#named(
      'quotebook_socket_refusals_total',
      'WebSockets that were not let in, by status; 429: too many of one address, 503: in all.',
    ),
    labelNames: ['status'],
  });
  readonly socketCloses = new Counter({
    ...this.#named(
      'quotebook_socket_closes_total',
      "Closed WebSockets by code, `other` for a client's own; 1013: it read too slowly.",
    ),
    labelNames: ['code'],
  });
  readonly chainHead = new Gauge({
    ...this.#named('quotebook_chain_head_block', 'Newest block seen of each chain.'),
    labelNames: ['chain'],
  });
  readonly chainAge = new Gauge({
    ...this.#named('quotebook_chain_head_age_seconds', 'How long ago that block was made, by its own timestamp.'),
    labelNames: ['chain'],
  });
  readonly chainLag = new Gauge({
    ...this.#named('quotebook_chain_lag_blocks', 'Blocks between the newest one and the last that the book holds.'),
    labelNames: ['chain'],
  });
  readonly chainStale = new Gauge({
    ...this.#named('quotebook_chain_stale', '1 while the chain is stale.'),
    labelNames: ['chain'],
  });
  readonly reorgs = new Counter({
    ...this.#named('quotebook_reorgs_total', 'Times that a chain took blocks back which the book had read.'),
    labelNames: ['chain'],
  });
  readonly rpcRequests = new Counter({
    ...this.#named('quotebook_rpc_requests_total', 'JSON-RPC requests by chain, method and outcome.'),
    labelNames: ['chain', 'method', 'outcome'],
  });
  readonly readFailures = new Counter(
    this.#named('quotebook_read_failures_total', 'Looks at the chains that failed; each is repeated.'),
  );
  readonly refusedEvents = new Counter({
    ...this.#named('quotebook_refused_events_total', 'Published events that are no quote for this book, by reason.'),
    labelNames: ['why'],
  });
  readonly ignoredEvents = new Counter({
    ...this.#named(
      'quotebook_ignored_events_total',
      'Fills, cancels and pools that count for nothing here, by reason.',
    ),
    labelNames: ['why'],
  });
  readonly lateLogs = new Counter({
    ...this.#named(
      'quotebook_late_logs_total',
      "Events that came after the rest of their block: its node's log index was behind, or left them out.",
    ),
    labelNames: ['chain'],
  });
  readonly traceSpans = new Counter({
    ...this.#named(
      'quotebook_trace_spans_total',
      'Spans of traces: sent to the collector, failed on the way, or dropped because too many waited.',
    ),
    labelNames: ['outcome'],
  });
  readonly ready = new Gauge(this.#named('quotebook_ready', '1 while GET /ready answers 200.'));

  readonly #fills: (() => Promise<void> | void)[] = [];

  constructor() {
    // Event-loop delay, heap, file descriptors, CPU.
    collectDefaultMetrics({ register: this.registry });
    // Absent until a log was looked at: a disk with 0 bytes free raises an alert.
    for (const gauge of [this.logBytes, this.diskFree, this.snapshotAge]) gauge.remove();
  }

  /** `fill` runs before each reading: for what costs too much to keep up with all the time. */
  beforeReading(fill: () => Promise<void> | void): void {
    this.#fills.push(fill);
  }

  /** All of it in the text format of Prometheus. */
  async text(): Promise<string> {
    for (const fill of this.#fills) await fill();
    return this.registry.metrics();
  }

  #named(name: string, help: string): { name: string; help: string; registers: [Registry] } {
    return { name, help, registers: [this.registry] };
  }
}

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
