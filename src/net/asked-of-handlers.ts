import { internalError, wrongWebSocketVersion } from './backend-answers.js';
import { CloseCode } from './close-codes.js';
import type { NetOptions, NetRequestHead, NetSocket, UpgradeDecision } from './net.js';

type Handlers = Pick<NetOptions, 'sockets' | 'onFault'>;

/** What becomes of an upgrade request; one that the handler fails at is refused. */
export function decideUpgrade({ sockets, onFault }: Handlers, request: NetRequestHead): UpgradeDecision {
  if (request.header('sec-websocket-version') !== '13') return wrongWebSocketVersion;
  try {
    return sockets.upgrade(request);
  } catch (error) {
    onFault(error);
    return internalError;
  }
}

/** What a socket is told that has left too much unread. */
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
