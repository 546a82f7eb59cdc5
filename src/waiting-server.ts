import type { Limits } from './config/limits.js';
import { json, unavailable } from './http/responses.js';
import { CloseCode, type NetRequestHead, type NetResponse, type UpgradeDecision } from './net/net.js';
import { openServer, type ServerChoice } from './net/open-server.js';

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
 * that whoever starts it can tell waiting from broken, and sends everybody else away for a moment.
 */
export async function openWaitingServer(options: WaitingServerOptions): Promise<WaitingServer> {
  const { limits, reason } = options;
  const { server } = openServer(options, {
    http: answer,
    refuseHead: answer,
    refuseBody: (_, request) => unavailable(request, reason()),
    socketPath: '/',
    sockets: {
      upgrade: (request): UpgradeDecision => unavailable(request, reason()),
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
    return unavailable(request, reason());
  }
}
