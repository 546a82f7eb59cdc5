import type { Logger } from 'pino';
import { isChainFailure, failureSummary } from '../chain/contracts/contract-errors.js';
import type { ChainIdentity } from '../chain/contracts/deployments.js';
import { WrongChain } from '../chain/rpc/rpc-errors.js';
import type { Limits } from '../config/limits.js';
import type { Clock, Random } from '../engine/ports.js';
import { json, unavailable } from '../http/responses.js';
import { CloseCode, type NetRequestHead, type NetResponse, type UpgradeDecision } from '../net/net.js';
import { openServer, type ServerChoice } from '../net/open-server.js';
import { backoff, Deadline } from '../system/timers.js';
import { briefly } from './trouble-log.js';

export interface AwaitChainsOptions extends ServerChoice {
  /** Asks both chains who they are. */
  readonly ask: () => Promise<ChainIdentity>;
  readonly host: string;
  readonly port: number;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The service is to end. */
  readonly stopping: Promise<unknown>;
}

/**
 * Identifies the chains as soon as their nodes answer; null when the service is to end before that. Until then nothing
 * shows which chains the log belongs to, so the service serves nothing; /health and /ready say what it waits for.
 * Rejects with WrongChain, which waiting does not cure, and when the port is taken.
 */
export async function awaitChains(options: AwaitChainsOptions): Promise<ChainIdentity | null> {
  const { clock, limits, logger, stopping } = options;
  const probe = new ChainProbe(options);
  void stopping.then(() => probe.stop());
  const found = probe.untilAnswered();
  const first = await new Deadline(clock, limits.startPatienceMs).wait(found);
  if (first !== 'TOO_LONG') return first;
  const server = await openWaitingServer({
    ...options,
    reason: () => probe.reason,
    onFault: (error) => logger.error({ err: error }, 'internal error'),
  }).catch((error: unknown) => {
    probe.stop();
    throw error;
  });
  logger.warn({ port: server.port }, 'waiting for the chains');
  try {
    return await found;
  } finally {
    await server.close();
  }
}

class ChainProbe {
  /** Why there is no answer yet. */
  reason = 'The chains have not been reached yet: no answer so far';
  /** The reason that was logged last. */
  #reported: string | null = null;
  #stopped = false;
  #wake: () => void = () => undefined;

  constructor(private readonly options: AwaitChainsOptions) {}

  /** Null: stopped before. */
  async untilAnswered(): Promise<ChainIdentity | null> {
    const { ask, clock, limits, random, logger } = this.options;
    const range = { backoffMs: limits.chainBackoffMs, maxBackoffMs: limits.chainMaxBackoffMs };
    const beganMs = clock.monotonicMs();
    for (let failures = 1; !this.#stopped; failures++) {
      try {
        return await Promise.race([ask(), this.#untilStopped()]);
      } catch (error) {
        if (error instanceof WrongChain || !isChainFailure(error)) throw error;
        // Public: readable without a key.
        this.reason = `The chains have not been reached yet: ${failureSummary(error)}`;
        const waitedSeconds = Math.round((clock.monotonicMs() - beganMs) / 1000);
        const isNews = this.#reported !== this.reason;
        this.#reported = this.reason;
        if (isNews) logger.warn({ reason: briefly(error), waitedSeconds }, 'chains unreachable');
        else logger.debug({ err: error, waitedSeconds }, 'chains unreachable');
      }
      await new Deadline(clock, backoff(range, failures, random)).wait(this.#untilStopped());
    }
    return null;
  }

  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  /** Asked for once at a time. */
  #untilStopped(): Promise<null> {
    return new Promise((resolve) => {
      this.#wake = () => resolve(null);
      if (this.#stopped) resolve(null);
    });
  }
}

export interface WaitingServerOptions extends ServerChoice {
  readonly host: string;
  readonly port: number;
  readonly limits: Limits;
  /** Why the service does not serve yet. */
  readonly reason: () => string;
  readonly onFault: (error: unknown) => void;
}

export interface WaitingServer {
  readonly port: number;
  /** Gives the port free. */
  close(): Promise<void>;
}

/**
 * Holds the service's place while there is no book to serve from yet: says that the process lives and is not ready, so
 * that a supervisor can tell waiting from broken, and sends everybody else away for a moment.
 */
async function openWaitingServer(options: WaitingServerOptions): Promise<WaitingServer> {
  const { limits, reason } = options;
  const { server } = openServer(options, {
    http: answer,
    refuseHead: answer,
    refuseBody: (_, request) => unavailable(request, 'chain_unavailable', reason()),
    socketPath: '/',
    sockets: {
      upgrade: (request): UpgradeDecision => unavailable(request, 'chain_unavailable', reason()),
      open: (socket) => socket.close(CloseCode.tryAgainLater, 'not ready'),
      message: () => undefined,
      close: () => undefined,
    },
    limits: { ...limits, bodyBytes: () => limits.bodyBytes },
    onFault: options.onFault,
  });
  const port = await server.listen(options.host, options.port);
  return { port, close: () => server.close(CloseCode.tryAgainLater, 'not ready') };

  function answer(request: NetRequestHead): NetResponse {
    if (request.path === '/health') return json('{"status":"alive"}');
    if (request.path === '/ready') return json(JSON.stringify({ ready: false, reasons: [reason()] }), 503);
    return unavailable(request, 'chain_unavailable', reason());
  }
}
