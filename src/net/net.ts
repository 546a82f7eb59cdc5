/**
 * What the service needs of a network library, and nothing of what the library calls it. Two backends implement it
 * (uWebSockets.js, and node:http with ws) and pass one test suite.
 */
export type NetBackend = 'uWebSockets.js' | 'node';

/** Everything is copied out of the library's own buffers before the handler sees it. */
export interface NetRequest {
  /** Upper case. */
  readonly method: string;
  readonly path: string;
  /** What follows `?`, still encoded; empty when there is none. */
  readonly query: string;
  /** The header's value, or undefined; `name` in lower case. */
  header(name: string): string | undefined;
  /** Text form of the peer's address. */
  readonly remoteAddress: string;
  /** The whole body; empty for GET. */
  readonly body: Uint8Array;
  /** The client went away: nothing that is answered will be read. */
  readonly aborted: boolean;
}

export interface NetResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** A handler that throws is answered with 500 by the backend and reported to `onFault`. */
export type NetHandler = (request: NetRequest) => NetResponse | Promise<NetResponse>;

/** Why no whole body reached the handler; the routes say how each is answered. */
export type BodyFault = 'TOO_LARGE' | 'TOO_SLOW';

export interface NetSocket {
  /** Unique while the server lives, from 1. */
  readonly id: number;
  readonly remoteAddress: string;
  /** The subprotocol that was agreed on, or an empty string. */
  readonly protocol: string;
  /** True from the moment the socket is closing: nothing more is sent. */
  readonly closed: boolean;
  /** One whole message. False when the socket was over its budget and is being closed instead. */
  send(message: string | Uint8Array, isBinary: boolean): boolean;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  /** Bytes that the peer has not taken yet. */
  bufferedBytes(): number;
  /** RFC 6455 close; `reason` at most 123 bytes. */
  close(code: number, reason: string): void;
}

/** Accept with the subprotocol to answer (empty: none), or refuse with a response. */
export type UpgradeDecision = { readonly accept: true; readonly protocol: string } | NetResponse;

export interface SocketHandlers {
  /** Called once for each upgrade request; must answer at once. */
  upgrade(request: Omit<NetRequest, 'body' | 'aborted'>): UpgradeDecision;
  open(socket: NetSocket): void;
  /** `data` is valid only during the call. */
  message(socket: NetSocket, data: Uint8Array, isBinary: boolean): void;
  close(socket: NetSocket, code: number): void;
}

/** Every bound the backend enforces; the numbers come from the configuration's limits. */
export interface NetLimits {
  /** Body bytes allowed for this request; over it the answer is 413 and the handler is not called. */
  bodyBytes(method: string, path: string): number;
  /** From the end of the headers to the end of the body, else 408 and the connection is closed. */
  readonly bodyDeadlineMs: number;
  readonly wsMessageBytes: number;
  /** Bytes a peer may leave unread before its socket is closed with 1013. */
  readonly wsBufferedBytes: number;
  /** Without a byte from the peer (pings are sent by the server), 8 to 960. */
  readonly wsIdleSeconds: number;
}

export interface NetOptions {
  readonly http: NetHandler;
  /** Sockets are served at this path alone. */
  readonly socketPath: string;
  readonly sockets: SocketHandlers;
  readonly limits: NetLimits;
  readonly onFault: (error: unknown) => void;
}

export interface NetServer {
  readonly backend: NetBackend;
  /** Port 0 picks a free one. Resolves to the port; rejects when it is taken. */
  listen(host: string, port: number): Promise<number>;
  /** To every socket subscribed to `topic`, in the order of the calls. What one tick publishes is sent together. */
  publish(topic: string, message: string | Uint8Array, isBinary: boolean): void;
  /** Takes no more connections; those that are open live on. */
  stopListening(): void;
  /** Closes every socket (code, reason) and connection, and resolves when none is left. */
  close(code: number, reason: string): Promise<void>;
}
