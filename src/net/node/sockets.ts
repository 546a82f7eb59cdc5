import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { decideUpgrade, guard, overBudgetReason, type SocketBounds, socketBounds } from '../handlers.js';
import type { NetOptions, NetResponse } from '../net.js';
import { NodeExchange, type NodeExchangeHost, nodeHeadFault, NodeRequest } from './exchange.js';
import { messageFrame, NodeSocket, type NodeSocketHost } from './socket.js';

/** Looks within `wsIdleSeconds`: a silent peer is pinged at the second and cut at the fifth. */
const LOOKS_PER_IDLE = 4;
const PING_AFTER_LOOKS = 2;

/** 16 bytes in base64, RFC 6455 section 4.1. */
const WEBSOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Every WebSocket of one server: how each comes to be, its topics, and what all of them are held to. */
export class NodeSockets implements NodeSocketHost {
  readonly bounds: SocketBounds;
  readonly #host: NodeExchangeHost;
  readonly #options: NetOptions;
  readonly #wss: WebSocketServer;
  readonly #sockets = new Set<NodeSocket>();
  readonly #topics = new Map<string, Set<NodeSocket>>();
  readonly #topicsOf = new Map<NodeSocket, Set<string>>();
  readonly #looking: NodeJS.Timeout;
  #unflushed: NodeSocket[] = [];
  #lastId = 0;
  #looks = 0;
  /** Of a connection that was taken before the server stopped listening, an upgrade may come after `closeAll`. */
  #closing: { readonly code: number; readonly reason: string } | null = null;

  constructor(host: NodeExchangeHost) {
    const { limits } = host.options;
    this.bounds = socketBounds(limits);
    this.#host = host;
    this.#options = host.options;
    this.#wss = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      // Compression costs CPU and memory for each peer.
      perMessageDeflate: false,
      maxPayload: limits.wsMessageBytes,
    });
    this.#looking = setInterval(() => this.#look(), (limits.wsIdleSeconds * 1000) / LOOKS_PER_IDLE).unref();
  }

  publish(topic: string, message: string | Uint8Array, isBinary: boolean): void {
    const subscribers = this.#topics.get(topic);
    if (subscribers === undefined) return;
    const frame = messageFrame(message, isBinary);
    for (const socket of subscribers) socket.sendFrame(frame);
  }

  /** Closes every socket, and each that opens from now on. */
  closeAll(code: number, reason: string): void {
    this.#closing = { code, reason };
    for (const socket of this.#sockets) socket.close(code, reason);
  }

  cutAll(): void {
    clearInterval(this.#looking);
    for (const socket of this.#sockets) socket.cut();
  }

  /** Whether an upgrade is to a WebSocket of ours, and asks for it as it must. */
  isForUs(incoming: IncomingMessage): boolean {
    const { method, headers } = incoming;
    return (
      method === 'GET' &&
      new NodeRequest(incoming, this.#host.proxies).path === this.#options.socketPath &&
      headers.upgrade?.toLowerCase() === 'websocket' &&
      WEBSOCKET_KEY.test(headers['sec-websocket-key'] ?? '')
    );
  }

  /** An upgrade that is for us, on a connection that is no longer node:http's. */
  upgrade(incoming: IncomingMessage, head: Buffer): void {
    const { socket } = incoming;
    const request = new NodeRequest(incoming, this.#host.proxies);
    const fault = nodeHeadFault(incoming, this.#options.limits);
    const decision = fault?.to(request) ?? decideUpgrade(this.#options, request);
    if (!('accept' in decision)) {
      this.#refuse(incoming, decision);
      return;
    }
    // The list has been read: ws answers the first name that it finds, and refuses a list that has a gap.
    delete incoming.headers['sec-websocket-protocol'];
    if (decision.protocol !== '') incoming.headers['sec-websocket-protocol'] = decision.protocol;
    this.#wss.handleUpgrade(incoming, socket, head, (ws) => this.#opened(ws, socket, request.remoteAddress));
  }

  join(socket: NodeSocket, topic: string): void {
    const subscribers = this.#topics.get(topic);
    if (subscribers === undefined) this.#topics.set(topic, new Set([socket]));
    else subscribers.add(socket);
    this.#topicsOf.get(socket)?.add(topic);
  }

  leave(socket: NodeSocket, topic: string): void {
    this.#topicsOf.get(socket)?.delete(topic);
    const subscribers = this.#topics.get(topic);
    subscribers?.delete(socket);
    if (subscribers?.size === 0) this.#topics.delete(topic);
  }

  leaveAll(socket: NodeSocket): void {
    for (const topic of this.#topicsOf.get(socket) ?? []) this.leave(socket, topic);
  }

  flushLater(socket: NodeSocket): void {
    if (this.#unflushed.push(socket) === 1) process.nextTick(() => this.#flush());
  }

  overBudgetReason(socket: NodeSocket): string {
    return overBudgetReason(this.#options, socket);
  }

  #flush(): void {
    const unflushed = this.#unflushed;
    this.#unflushed = [];
    for (const socket of unflushed) socket.flush();
  }

  /** Answers and closes the connection, so that a client that keeps its end open holds no place here. */
  #refuse(incoming: IncomingMessage, answer: NetResponse): void {
    const { socket } = incoming;
    const res = new ServerResponse(incoming);
    res.shouldKeepAlive = false;
    res.assignSocket(socket);
    res.on('finish', () => socket.destroySoon());
    new NodeExchange(incoming, res, this.#host).refuse(answer);
  }

  #opened(ws: WebSocket, connection: Socket, remoteAddress: string): void {
    const socket = new NodeSocket(++this.#lastId, remoteAddress, ws, connection, this);
    this.#sockets.add(socket);
    this.#host.discount(connection);
    this.#topicsOf.set(socket, new Set());
    this.#host.underWay.began();
    ws.on('message', (data, isBinary) => {
      if (socket.closed) return socket.idleFrame();
      socket.silentLooks = 0;
      guard(this.#options, socket, () => this.#options.sockets.message(socket, NodeSocket.bytes(data), isBinary));
    });
    // By then ws has sent the pong.
    ws.on('ping', () => socket.idleFrame());
    ws.on('pong', () => socket.idleFrame());
    // ws closes the socket with the code of the fault: 1002, 1007, 1009.
    ws.on('error', () => socket.leave());
    ws.on('close', (code) => {
      socket.gone();
      this.#sockets.delete(socket);
      this.#topicsOf.delete(socket);
      this.#host.underWay.ended();
      guard(this.#options, socket, () => this.#options.sockets.close(socket, code));
    });
    guard(this.#options, socket, () => this.#options.sockets.open(socket));
    if (this.#closing !== null) socket.close(this.#closing.code, this.#closing.reason);
  }

  /** Cuts a peer without one whole frame in `wsIdleSeconds`, and pings it before. */
  #look(): void {
    const isWholeIdle = ++this.#looks % LOOKS_PER_IDLE === 0;
    for (const socket of this.#sockets) {
      if (isWholeIdle) socket.idleFrames = 0;
      socket.silentLooks++;
      if (socket.silentLooks > LOOKS_PER_IDLE) socket.cut();
      else if (socket.silentLooks === PING_AFTER_LOOKS) socket.ping();
    }
  }
}
