import type { HttpRequest, HttpResponse, us_socket_context_t, WebSocket, WebSocketBehavior } from 'uws-native';
import { decideUpgrade, guard, overBudgetReason, type SocketBounds, socketBounds } from '../handlers.js';
import { headFault } from '../head-check.js';
import { CloseCode, type NetOptions, type NetSocket, TOO_MANY_PINGS } from '../net.js';
import { UwsExchange, type UwsExchangeHost } from './exchange.js';
import { UwsRequest } from './request.js';

/** Attached to the library's socket when it is upgraded. */
interface UwsSocketData {
  readonly socket: UwsSocket;
}

/** The part of the socket table that a socket uses. */
interface UwsSocketHost {
  readonly bounds: SocketBounds;
  overBudgetReason(socket: UwsSocket): string;
}

/**
 * One WebSocket. The library's own object is dead from its close event on, so every use of it is behind `closed`.
 *
 * The library buffers without a limit, because its own limit drops single messages and still sends later ones. This
 * class applies the limit instead: above it the socket sends nothing more and closes.
 */
class UwsSocket implements NetSocket {
  readonly id: number;
  readonly remoteAddress: string;
  readonly protocol: string;
  /**
   * Whether a whole frame came since the last look: a peer that feeds one frame byte by byte is never idle otherwise.
   */
  heard = true;
  /** Frames since the last look that no handler heard of. */
  idleFrames = 0;
  readonly #host: UwsSocketHost;
  #ws: WebSocket<UwsSocketData> | null = null;
  #closed = false;
  #leaving: { readonly code: number; readonly reason: string; readonly deadline: NodeJS.Timeout } | null = null;

  constructor(id: number, remoteAddress: string, protocol: string, host: UwsSocketHost) {
    this.id = id;
    this.remoteAddress = remoteAddress;
    this.protocol = protocol;
    this.#host = host;
  }

  get closed(): boolean {
    return this.#closed;
  }

  send(message: string | Uint8Array, isBinary: boolean): boolean {
    if (this.#closed || this.#ws === null) return false;
    // 1 is sent; 0 is sent as far as the peer takes it, the rest buffered.
    if (this.#ws.send(message, isBinary, false) === 1) return true;
    return this.keepToBudget();
  }

  sendAll(messages: readonly Uint8Array[], isBinary: boolean): void {
    this.#ws?.cork(() => {
      for (const message of messages) this.send(message, isBinary);
    });
  }

  subscribe(topic: string): void {
    if (!this.#closed) this.#ws?.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    if (!this.#closed) this.#ws?.unsubscribe(topic);
  }

  bufferedBytes(): number {
    return this.#ws?.getBufferedAmount() ?? 0;
  }

  /** A peer that has not read what came before gets `drainMs` for it: the close frame can only follow. */
  close(code: number, reason: string): void {
    if (this.#closed || this.#ws === null) return;
    this.#closed = true;
    if (this.#ws.getBufferedAmount() === 0) {
      this.#ws.end(code, reason);
      return;
    }
    for (const topic of this.#ws.getTopics()) this.#ws.unsubscribe(topic);
    const deadline = setTimeout(() => this.#ws?.close(), this.#host.bounds.drainMs);
    this.#leaving = { code, reason, deadline };
  }

  /** Closes a peer that leaves too much unread; says whether it may stay. */
  keepToBudget(): boolean {
    if (this.bufferedBytes() <= this.#host.bounds.bufferedBytes) return true;
    this.close(CloseCode.tryAgainLater, this.#host.overBudgetReason(this));
    return false;
  }

  /** The library's open event. */
  opened(ws: WebSocket<UwsSocketData>): void {
    this.#ws = ws;
  }

  /**
   * A ping, a pong, or what comes while the socket is being closed. A peer that pings and reads nothing makes us buffer
   * pongs.
   */
  idleFrame(): void {
    this.heard = true;
    this.idleFrames += 1;
    if (this.idleFrames <= this.#host.bounds.idleFrames) {
      if (!this.#closed) this.keepToBudget();
    } else if (this.#closed) this.#ws?.close();
    else this.close(CloseCode.policyViolation, TOO_MANY_PINGS);
  }

  /** The library's drain event. */
  drained(): void {
    if (this.#leaving === null || this.#ws === null || this.#ws.getBufferedAmount() > 0) return;
    this.#ws.end(this.#leaving.code, this.#leaving.reason);
  }

  /** The library's close event. */
  gone(): void {
    this.#closed = true;
    this.#ws = null;
    clearTimeout(this.#leaving?.deadline);
  }
}

/** Frame header of a server's message, RFC 6455 section 5.2. */
const FRAME_HEADER_BYTES = 10;

/** Every WebSocket of one server: how each comes to be, and what all of them are held to. */
export class UwsSockets implements UwsSocketHost {
  readonly bounds: SocketBounds;
  readonly #options: NetOptions;
  readonly #host: UwsExchangeHost;
  readonly #sockets = new Set<UwsSocket>();
  readonly #listening: NodeJS.Timeout;
  #lastId = 0;
  #publishedBytes = 0;
  #lookingAgain = false;
  /** Of a connection that was taken before the server stopped listening, an upgrade may come after `closeAll`. */
  #closing: { readonly code: number; readonly reason: string } | null = null;

  constructor(host: UwsExchangeHost) {
    const { limits } = host.options;
    this.bounds = socketBounds(limits);
    this.#host = host;
    this.#options = host.options;
    this.#listening = setInterval(() => this.#dropSilent(), limits.wsIdleSeconds * 1000).unref();
  }

  behavior(): WebSocketBehavior<UwsSocketData> {
    const { limits } = this.#options;
    return {
      compression: 0,
      // Somewhat too large is ours to answer with 1009; the library just cuts the connection.
      maxPayloadLength: 4 * limits.wsMessageBytes,
      maxBackpressure: 0,
      idleTimeout: limits.wsIdleSeconds,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => this.#upgrade(res, req, context),
      open: (ws) => {
        const { socket } = ws.getUserData();
        socket.opened(ws);
        this.#sockets.add(socket);
        this.#host.underWay.began();
        guard(this.#options, socket, () => this.#options.sockets.open(socket));
        if (this.#closing !== null) socket.close(this.#closing.code, this.#closing.reason);
      },
      message: (ws, data, isBinary) => {
        const { socket } = ws.getUserData();
        if (socket.closed) return socket.idleFrame();
        socket.heard = true;
        if (data.byteLength > limits.wsMessageBytes) socket.close(CloseCode.messageTooBig, 'Message too big');
        else guard(this.#options, socket, () => this.#options.sockets.message(socket, new Uint8Array(data), isBinary));
      },
      // By then the library has sent the pong.
      ping: (ws) => ws.getUserData().socket.idleFrame(),
      pong: (ws) => ws.getUserData().socket.idleFrame(),
      drain: (ws) => ws.getUserData().socket.drained(),
      close: (ws, code) => {
        const { socket } = ws.getUserData();
        socket.gone();
        this.#sockets.delete(socket);
        this.#host.underWay.ended();
        // The library calls this from within our own calls to `end`, too: told a moment later, nobody is re-entered.
        queueMicrotask(() => guard(this.#options, socket, () => this.#options.sockets.close(socket, code)));
      },
    };
  }

  /**
   * To be called with each message published. A socket's backlog can grow by no more than what was published, so it is
   * looked at every quarter of the budget: no peer is ever more than that quarter, a message, and one tick's batch over
   * it.
   */
  published(message: string | Uint8Array): void {
    this.#publishedBytes += Buffer.byteLength(message) + FRAME_HEADER_BYTES;
    if (this.#publishedBytes * 4 < this.bounds.bufferedBytes) return;
    this.#publishedBytes = 0;
    this.#keepToBudget();
    // The library hands this tick's publications to the sockets only at its end.
    if (this.#lookingAgain) return;
    this.#lookingAgain = true;
    setImmediate(() => {
      this.#lookingAgain = false;
      this.#keepToBudget();
    });
  }

  #keepToBudget(): void {
    for (const socket of this.#sockets) if (!socket.closed) socket.keepToBudget();
  }

  /** Closes every socket, and each that opens from now on. */
  closeAll(code: number, reason: string): void {
    this.#closing = { code, reason };
    for (const socket of this.#sockets) socket.close(code, reason);
  }

  stop(): void {
    clearInterval(this.#listening);
  }

  overBudgetReason(socket: UwsSocket): string {
    return overBudgetReason(this.#options, socket);
  }

  #upgrade(res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const request = new UwsRequest(req, res, this.#host.proxies);
    const fault = headFault((visit) => req.forEach(visit), this.#options.limits);
    const decision = fault?.to(request) ?? decideUpgrade(this.#options, request);
    if (!('accept' in decision)) {
      UwsExchange.refuse(res, req, this.#host, decision);
      return;
    }
    const socket = new UwsSocket(++this.#lastId, request.remoteAddress, decision.protocol, this);
    // No extensions: compression costs CPU and memory for each peer.
    res.upgrade<UwsSocketData>({ socket }, req.getHeader('sec-websocket-key'), decision.protocol, '', context);
    request.release();
  }

  /**
   * The library closes a peer from which no byte came for `wsIdleSeconds`, and pings before; but any byte counts. A
   * peer without one whole frame in two such periods is feeding us a frame byte by byte.
   */
  #dropSilent(): void {
    for (const socket of this.#sockets) {
      if (!socket.heard) socket.close(CloseCode.policyViolation, 'No whole frame in time');
      socket.heard = false;
      socket.idleFrames = 0;
    }
  }
}
