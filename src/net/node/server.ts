import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { listenOn, plainAddress } from '../address.js';
import { Capacity } from '../capacity.js';
import { DrainTracker } from '../handlers.js';
import { ENOUGH_AGAIN, type NetOptions, type NetServer } from '../net.js';
import { TrustedProxies } from '../trusted-proxies.js';
import { UnfinishedAnswers } from '../unfinished-answers.js';
import { NodeExchange, type NodeExchangeHost, nodeHeadFault } from './exchange.js';
import { NodeSockets } from './sockets.js';

/** HTTP status for each code of node:http's parser; for any other it is 400. */
const PARSER_STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/**
 * Whether a server on node:http has file descriptors for another connection. Where none is left, Node accepts and closes
 * the connection with a spare descriptor. When another thread opens a file at that moment, Node loses the spare one and
 * retries as fast as it can, which keeps a core busy (20.20). So some are left.
 */
class DescriptorLimit {
  readonly #options: Pick<NetOptions, 'descriptors' | 'limits'>;
  #isFew = false;

  constructor(options: Pick<NetOptions, 'descriptors' | 'limits'>) {
    this.#options = options;
  }

  /** To be asked about each connection: 20 us, and less often than requests come. */
  hasRoom(): boolean {
    const { descriptors, limits } = this.#options;
    if (descriptors === undefined) return true;
    const least = this.#isFew ? ENOUGH_AGAIN * limits.spareDescriptors : limits.spareDescriptors;
    const isFew = descriptors.spare() < least;
    if (isFew !== this.#isFew) descriptors.onFew(isFew);
    this.#isFew = isFew;
    return !isFew;
  }
}

/** The service's network on node:http and ws, for where uWebSockets.js has no binary. */
export class NodeServer implements NetServer, NodeExchangeHost {
  readonly backend = 'node';
  readonly library = { version: process.versions.node, source: 'node:http and ws' };
  readonly options: NetOptions;
  readonly underWay = new DrainTracker();
  readonly proxies: TrustedProxies;
  readonly bodies: Capacity;
  readonly answers: UnfinishedAnswers;
  readonly #connections: Capacity;
  /** Addresses of the connections that count in `#connections`. */
  readonly #counted = new Map<Socket, string>();
  stopping = false;
  readonly #http: Server;
  readonly #sockets: NodeSockets;
  readonly #unanswered = new WeakMap<Socket, Set<NodeExchange>>();
  /** Connections that are closed after an answer which did not wait for its request's body: what follows is ignored. */
  readonly #refused = new WeakSet<Socket>();
  /** Connections that node:http has let go of, and nobody else has yet. */
  readonly #between = new Set<Socket>();
  #closed: Promise<void> | null = null;

  constructor(options: NetOptions) {
    const { headBytes, headerFields, httpIdleMs } = options.limits;
    this.options = options;
    this.proxies = new TrustedProxies(options.trustedProxies ?? []);
    const { bodiesBytes, bodiesBytesPerAddress, httpConnections, httpConnectionsPerAddress } = options.limits;
    this.answers = new UnfinishedAnswers(options.limits);
    this.bodies = new Capacity(bodiesBytes, bodiesBytesPerAddress, this.proxies);
    this.#connections = new Capacity(httpConnections, httpConnectionsPerAddress, this.proxies);
    this.#sockets = new NodeSockets(this);
    this.#http = createServer({
      maxHeaderSize: headBytes,
      // Checked with all else that heads are refused for: node:http would look at what comes behind such a request.
      requireHostHeader: false,
      headersTimeout: httpIdleMs,
      keepAliveTimeout: httpIdleMs,
      // The body has a deadline of its own.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.ceil(httpIdleMs / 4),
    });
    // One more than are allowed: what is beyond, node:http drops, and nobody would hear of it.
    this.#http.maxHeadersCount = headerFields + 1;
    const room = new DescriptorLimit(options);
    this.#http.on('connection', (socket: Socket) => {
      // One that is given back has been taken already.
      if (socket.bytesRead === 0 && !(room.hasRoom() && this.#count(socket))) socket.destroy();
    });
    this.#http.on('request', (incoming, res) => this.#serve(incoming, res, false));
    this.#http.on('checkContinue', (incoming: IncomingMessage, res: ServerResponse) =>
      this.#serve(incoming, res, true),
    );
    this.#http.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#cannotParse(error, socket));
    this.#http.on('upgrade', (incoming: IncomingMessage, _, head: Buffer) => this.#upgrade(incoming, head));
  }

  async listen(host: string, port: number): Promise<number> {
    const ownPort = await listenOn(this.#http, host, port);
    this.#http.on('error', this.options.onFault);
    return ownPort;
  }

  publish(topic: string, message: string | Uint8Array, isBinary: boolean): void {
    this.#sockets.publish(topic, message, isBinary);
  }

  stopListening(): void {
    if (this.stopping) return;
    this.stopping = true;
    this.#http.close();
  }

  close(code: number, reason: string): Promise<void> {
    this.#closed ??= this.#close(code, reason);
    return this.#closed;
  }

  /** node:http keeps reading while answers wait, so a client that sends many requests and reads nothing is cut off. */
  #serve(incoming: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    const { socket } = incoming;
    const unanswered = this.#unanswered.get(socket) ?? new Set();
    if (!this.#unanswered.has(socket)) {
      this.#unanswered.set(socket, unanswered);
      // node:http tells nothing of answers that wait for their turn when the connection breaks.
      socket.once('close', () => {
        unanswered.forEach((exchange) => exchange.end());
        this.#between.delete(socket);
      });
    }
    if (this.#refused.has(socket)) {
      incoming.resume();
      return;
    }
    if (unanswered.size >= this.options.limits.pipelinedRequests) {
      socket.destroy();
      return;
    }
    const exchange = new NodeExchange(incoming, res, this);
    unanswered.add(exchange);
    res.on('close', () => unanswered.delete(exchange));
    const fault = nodeHeadFault(incoming, this.options.limits);
    if (fault === null) exchange.serve(awaitsContinue);
    else exchange.refuseFault(fault, awaitsContinue);
  }

  /** False: there are too many. */
  #count(socket: Socket): boolean {
    const address = plainAddress(socket.remoteAddress ?? '');
    if (this.#connections.take(address, 1) !== null) return false;
    this.#counted.set(socket, address);
    socket.once('close', () => this.discount(socket));
    return true;
  }

  discount(socket: Socket): void {
    const address = this.#counted.get(socket);
    if (address === undefined) return;
    this.#counted.delete(socket);
    this.#connections.release(address, 1);
  }

  ignoreNext(socket: Socket): void {
    this.#refused.add(socket);
  }

  /**
   * As node:http does, except for an answer that is being written: node:http would drop it, and it may be the answer to
   * the head of the request whose body cannot be parsed.
   */
  #cannotParse({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
    const isFree = [...(this.#unanswered.get(socket) ?? [])].every(({ answered }) => !answered);
    if (socket.writable && isFree && !this.#refused.has(socket)) {
      const status = PARSER_STATUS[code] ?? 400;
      socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\n\r\n`);
    }
    if (code === 'ECONNRESET') socket.destroy();
    else socket.destroySoon();
  }

  /**
   * node:http has let go of the connection. Earlier requests on it are answered first: two answers cannot be written at
   * a time, nor one among a WebSocket's frames.
   */
  #upgrade(incoming: IncomingMessage, head: Buffer): void {
    const { socket } = incoming;
    socket.off('error', destroy).on('error', destroy);
    // Of a peer that does not take what was asked before.
    socket.off('timeout', destroy).on('timeout', destroy);
    const before = [...(this.#unanswered.get(socket) ?? [])].at(-1);
    if (before === undefined) {
      this.#goOn(incoming, head);
      return;
    }
    this.#between.add(socket);
    before.onOver(() => {
      this.#between.delete(socket);
      this.#goOn(incoming, head);
    });
  }

  /** As a WebSocket; a wish for anything else is ignored, and node:http is given back the connection. */
  #goOn(incoming: IncomingMessage, head: Buffer): void {
    const { socket } = incoming;
    if (!socket.writable) return;
    if (this.#sockets.isForUs(incoming)) {
      this.#sockets.upgrade(incoming, head);
      return;
    }
    socket.unshift(Buffer.concat([headWithoutUpgrade(incoming), head]));
    // Of the wait since an earlier request.
    socket.setTimeout(0);
    this.#http.emit('connection', socket);
  }

  async #close(code: number, reason: string): Promise<void> {
    this.stopListening();
    this.#sockets.closeAll(code, reason);
    await this.underWay.none(this.options.limits.drainMs);
    this.#sockets.cutAll();
    this.#http.closeAllConnections();
    for (const socket of this.#between) socket.destroy();
    // The close events of what was cut come with the next turns of the loop.
    await this.underWay.none(this.options.limits.drainMs);
  }
}

function destroy(this: Socket): void {
  this.destroy();
}

/**
 * A request's head as it came, but for its wish to go on in another protocol, which a server may ignore (RFC 9110
 * section 7.8). node:http reads no body of a request that has one; of this head it does.
 */
function headWithoutUpgrade({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.toLowerCase() !== 'upgrade') head += `${name}: ${rawHeaders[i + 1] ?? ''}\r\n`;
  }
  // As node:http made it a text: a byte a character.
  return Buffer.from(`${head}\r\n`, 'latin1');
}
