import {
  type BodyFault,
  CloseCode,
  internalError,
  type NetLimits,
  type NetOptions,
  type NetRequest,
  type NetRequestHead,
  type NetResponse,
  type NetSocket,
  type UpgradeDecision,
  wrongWebSocketVersion,
} from './net.js';

type Handlers = Pick<NetOptions, 'sockets' | 'onFault'>;

/** Decides an upgrade request; refuses it if the handler throws. */
export function decideUpgrade({ sockets, onFault }: Handlers, request: NetRequestHead): UpgradeDecision {
  if (request.header('sec-websocket-version') !== '13') return wrongWebSocketVersion.to(request);
  try {
    return sockets.upgrade(request);
  } catch (error) {
    onFault(error);
    return internalError.to(request);
  }
}

/** The answer to a body that is refused. */
export function refusalOfBody(
  { refuseBody, onFault }: Pick<NetOptions, 'refuseBody' | 'onFault'>,
  fault: BodyFault,
  request: NetRequest,
): NetResponse {
  try {
    return refuseBody(fault, request);
  } catch (error) {
    onFault(error);
    return internalError.to(request);
  }
}

/** The answer to a request whose head alone is reason enough to refuse it; null: its body may come. */
export function refusalOfHead(
  { refuseHead, onFault }: Pick<NetOptions, 'refuseHead' | 'onFault'>,
  request: NetRequest,
): NetResponse | null {
  try {
    return refuseHead?.(request) ?? null;
  } catch (error) {
    onFault(error);
    return internalError.to(request);
  }
}

/** Limits of every socket of a server. */
export interface SocketBounds {
  readonly bufferedBytes: number;
  readonly drainMs: number;
  readonly idleFrames: number;
}

/** Throws RangeError if `wsIdleSeconds` is not one that the libraries can keep. */
export function socketBounds({ wsIdleSeconds, wsBufferedBytes, drainMs, wsIdleFrames }: NetLimits): SocketBounds {
  if (wsIdleSeconds < 8 || wsIdleSeconds > 960) throw new RangeError('wsIdleSeconds must be 8 to 960');
  return { bufferedBytes: wsBufferedBytes, drainMs, idleFrames: wsIdleFrames };
}

/** The close reason of a socket that has left too much unread. */
export function overBudgetReason({ sockets, onFault }: Handlers, socket: NetSocket): string {
  try {
    return sockets.overBudgetReason?.(socket) ?? 'Too slow';
  } catch (error) {
    onFault(error);
    return 'Too slow';
  }
}

/** A call of a socket's handler. One that throws is a fault of ours: its socket is closed. */
export function guard({ onFault }: Handlers, socket: NetSocket, call: () => void): void {
  try {
    call();
  } catch (error) {
    onFault(error);
    socket.close(CloseCode.internalError, 'Internal server error');
  }
}

/** Counts what a server that stops waits for: answers not yet written, sockets not yet closed. */
export class DrainTracker {
  #count = 0;
  #whenNone: (() => void) | null = null;

  began(): void {
    this.#count++;
  }

  ended(): void {
    this.#count--;
    if (this.#count === 0) this.#whenNone?.();
  }

  /** Resolves when nothing is under way, after `patienceMs` at the latest. */
  none(patienceMs: number): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = setTimeout(resolve, patienceMs);
      this.#whenNone = () => {
        clearTimeout(deadline);
        resolve();
      };
    });
  }
}
