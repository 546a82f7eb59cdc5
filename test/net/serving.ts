import type { Test } from 'tap';
import type { NetBackend, NetLimits, NetOptions, NetServer, SocketHandlers } from '../../src/net/net.js';
import { NodeServer } from '../../src/net/node/server.js';
import { loadUws, UwsServer } from '../../src/net/uws/server.js';

export interface Backend {
  readonly name: NetBackend;
  /** As the documents name it: the versions of uWebSockets.js differ in what they answer to malformed requests. */
  readonly documented: 'node:http' | 'uWebSockets.js 20.30' | 'uWebSockets.js 20.57';
  readonly create: (options: NetOptions) => NetServer;
}

export const limits: NetLimits = {
  headBytes: 16 << 10,
  headerFields: 48,
  refusedBodyMs: 1_000,
  bodyBytes: () => 1024,
  bodyDiscardBytes: 16 << 20,
  bodySmallPieces: 1_000,
  bodiesBytes: 1 << 20,
  bodiesBytesPerAddress: 1 << 20,
  unfinishedAnswersBytes: 256 << 20,
  answerGraceMs: 15_000,
  leastAnswerBytesPerSecond: 16 << 10,
  httpConnections: 10_000,
  httpConnectionsPerAddress: 10_000,
  bodyDeadlineMs: 10_000,
  httpIdleMs: 10_000,
  pipelinedRequests: 16,
  requestsPerTurn: 256,
  spareDescriptors: 16,
  descriptorCheckMs: 10,
  wsMessageBytes: 1024,
  wsBufferedBytes: 1 << 20,
  wsIdleSeconds: 30,
  wsIdleFrames: 1_000,
  drainMs: 2_000,
};

export const quietSockets: SocketHandlers = {
  upgrade: () => ({ accept: true, protocol: '' }),
  open: () => undefined,
  message: () => undefined,
  close: () => undefined,
};

/** Runs `suite` as a subtest of its own for each backend that can run here, and says so where one cannot. */
export function eachBackend(t: Test, suite: (t: Test, backend: Backend) => Promise<void> | void): void {
  const load = loadUws(limits.headBytes);
  const node = { name: 'node', documented: 'node:http' } as const;
  const backends: Backend[] = [{ ...node, create: (options) => new NodeServer(options) }];
  if ('module' in load) {
    const documented = load.version.startsWith('20.30.') ? 'uWebSockets.js 20.30' : 'uWebSockets.js 20.57';
    t.comment(`uWebSockets.js ${load.version} of ${load.source} on Node.js ${process.version}`);
    backends.unshift({ name: 'uWebSockets.js', documented, create: (options) => new UwsServer(load, options) });
  } else {
    t.comment(`uWebSockets.js is not tested: it does not run on Node.js ${process.version} here (${load.unavailable})`);
  }
  for (const backend of backends) t.test(backend.name, async (t) => suite(t, backend));
}

export interface Serving {
  readonly server: NetServer;
  readonly port: number;
  readonly url: string;
  readonly wsUrl: string;
  readonly faults: unknown[];
}

/** A server on a free port of IPv4 loopback, closed when the test ends. Faults that no test expects fail it. */
export async function serve(
  t: Test,
  backend: Backend,
  options: Partial<Omit<NetOptions, 'limits'>> & { limits?: Partial<NetLimits>; faults?: 'expected' } = {},
): Promise<Serving> {
  const faults: unknown[] = [];
  const server = backend.create({
    http: () => ({ status: 200, headers: {}, body: 'ok' }),
    socketPath: '/',
    sockets: quietSockets,
    refuseBody: (fault) => ({
      status: { TOO_LARGE: 413, TOO_SLOW: 408, TOO_MANY: 503 }[fault],
      headers: {},
      body: fault,
    }),
    onFault: (error) => faults.push(error),
    ...options,
    limits: { ...limits, ...options.limits },
  });
  const port = await server.listen('127.0.0.1', 0);
  t.teardown(async () => {
    await server.close(1001, 'test is over');
    if (options.faults !== 'expected' && faults.length > 0) throw new AggregateError(faults, 'The server had faults');
  });
  return { server, port, url: `http://127.0.0.1:${port}`, wsUrl: `ws://127.0.0.1:${port}/`, faults };
}
