import { QuoteDigest } from '../../src/auth/quote-signature.js';
import { limits } from '../../src/config/limits.js';
import type { NetSocket } from '../../src/net/net.js';
import { openServer } from '../../src/net/open-server.js';
import { enter, POOL, sampleQuote, START } from '../engine/samples.js';
import { FeedFixture } from '../feed/feed-fixture.js';

/** Events of one commit, and how often there is one: about 100 KB a second for each reader. */
const EVENTS_PER_COMMIT = 5;
const COMMIT_MS = 50;
/** Payload that fills readers' buffers. */
const FILLER = 'x'.repeat(4 << 10);

/** Asked of this process. */
export type FeedServerTask =
  /**
   * Sends to each socket but the first `besides` until it has so much unread: the last one `from` bytes, the first one
   * `to`.
   */
  | { readonly fill: { readonly besides: number; readonly from: number; readonly to: number } }
  | { readonly report: true };

export interface FeedServerReport {
  readonly backend: string;
  readonly rssBytes: number;
  /** Most bytes that ever waited for one socket. */
  readonly mostUnread: number;
  readonly openSockets: number;
  /** Sockets closed with 1013. */
  readonly tooSlow: number;
}

/** The engine, the feed and the network as the service has them, in a process of its own, with a clock that runs. */
const digests = new QuoteDigest(421_613, 1);
const fixture = new FeedFixture({
  keccak256: (bytes) => digests.keccak256(bytes),
  limits: { ...limits, wsConnections: 10_000, wsConnectionsPerAddress: 10_000 },
  connections: 10_000,
});
const { gateway } = fixture;
const sockets = new Set<NetSocket>();
let mostUnread = 0;
let tooSlow = 0;
const { server } = openServer(
  { netBackend: 'auto' },
  {
    http: () => ({ status: 404, headers: {}, body: '' }),
    refuseBody: () => ({ status: 413, headers: {}, body: '' }),
    socketPath: '/',
    sockets: {
      upgrade: (request) => gateway.upgrade(request),
      open(socket) {
        sockets.add(socket);
        gateway.open(socket);
      },
      message: (socket, data, isBinary) => gateway.message(socket, data, isBinary),
      close(socket) {
        sockets.delete(socket);
        gateway.close(socket);
      },
      overBudgetReason(socket) {
        tooSlow += 1;
        return gateway.overBudgetReason(socket);
      },
    },
    limits: { ...limits, bodyBytes: () => 0 },
    onFault(fault) {
      throw fault;
    },
  },
);
fixture.publish = (...message) => server.publish(...message);

let n = 0;

/** A commit of new quotes, each with the time of its commit as its salt: microseconds since 1970. */
function commit(): void {
  const salt = Math.round((performance.timeOrigin + performance.now()) * 1_000);
  for (let i = 0; i < EVENTS_PER_COMMIT; i++) {
    n += 1;
    const about = { n, pool: POOL, price: BigInt(1_000 + (n % 50)), deadline: START + 100_000, blockNumber: 100 + n };
    fixture.submit(enter({ ...sampleQuote(about), salt }, {}, 60));
  }
  fixture.commit();
}

async function fill({ besides, from, to }: Extract<FeedServerTask, { fill: object }>['fill']): Promise<void> {
  const filled = [...sockets].slice(besides);
  const fillTo = (socket: NetSocket, bytes: number): void => {
    while (!socket.closed && socket.bufferedBytes() < bytes) socket.send(FILLER, false);
  };
  for (const socket of filled) {
    fillTo(socket, from);
    // The commits go on meanwhile.
    await new Promise((resolve) => setImmediate(resolve));
  }
  filled.forEach((socket, i) => fillTo(socket, to - ((to - from) * i) / filled.length));
}

function report(): FeedServerReport {
  const rssBytes = process.memoryUsage.rss();
  return { backend: server.backend, rssBytes, mostUnread, openSockets: sockets.size, tooSlow };
}

process.on('message', (task: FeedServerTask) => {
  if ('report' in task) process.send?.(report());
  else void fill(task.fill).then(() => process.send?.('filled'));
});
process.on('disconnect', () => process.exit());

let lastMs = performance.now();
setInterval(() => {
  const nowMs = performance.now();
  fixture.clock.advance(nowMs - lastMs);
  lastMs = nowMs;
  for (const socket of sockets) mostUnread = Math.max(mostUnread, socket.bufferedBytes());
}, 10);
setInterval(commit, COMMIT_MS);
process.send?.({ port: await server.listen('127.0.0.1', 0) });
