import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type { SocketBounds } from '../handlers.js';
import { CloseCode, type NetSocket, TOO_MANY_PINGS } from '../net.js';

/** First byte of a whole, uncompressed data message: FIN and the opcode (RFC 6455 section 5.2). */
const TEXT_FRAME = 0x81;
const BINARY_FRAME = 0x82;

/** A server's message as its one frame: never masked, never split. */
export function messageFrame(message: string | Uint8Array, isBinary: boolean): Buffer {
  const size = Buffer.byteLength(message);
  const headerBytes = size < 126 ? 2 : size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headerBytes + size);
  frame[0] = isBinary ? BINARY_FRAME : TEXT_FRAME;
  if (headerBytes === 2) {
    frame[1] = size;
  } else if (headerBytes === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(size, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(size), 2);
  }
  if (typeof message === 'string') frame.write(message, headerBytes);
  else frame.set(message, headerBytes);
  return frame;
}

/** WebSocket.OPEN */
const OPEN = 1;

/** Bytes that one tick may gather for one peer before they are written. */
const GATHER_BYTES = 64 << 10;

/** The part of the socket table that a socket uses. */
export interface NodeSocketHost {
  readonly bounds: SocketBounds;
  overBudgetReason(socket: NodeSocket): string;
  join(socket: NodeSocket, topic: string): void;
  leave(socket: NodeSocket, topic: string): void;
  leaveAll(socket: NodeSocket): void;
  /** Calls `flush` of this socket at the end of the tick. */
  flushLater(socket: NodeSocket): void;
}

/**
 * One WebSocket. Reading, control frames and the closing handshake are ws's; messages are written to the connection as
 * finished frames, so that one that goes to a thousand peers is encoded once. They cannot meet half a frame of ws's
 * own: without compression it writes each frame in one go.
 */
export class NodeSocket implements NetSocket {
  readonly id: number;
  readonly remoteAddress: string;
  readonly protocol: string;
  /** Looks since the last whole frame from the peer. */
  silentLooks = 0;
  /** Frames in the present `wsIdleSeconds` that no handler heard of. */
  idleFrames = 0;
  readonly #ws: WebSocket;
  readonly #connection: Duplex;
  readonly #host: NodeSocketHost;
  #closed = false;
  #gathered = 0;
  #deadline: NodeJS.Timeout | undefined;

  constructor(id: number, remoteAddress: string, ws: WebSocket, connection: Duplex, host: NodeSocketHost) {
    this.id = id;
    this.remoteAddress = remoteAddress;
    this.protocol = ws.protocol;
    this.#ws = ws;
    this.#connection = connection;
    this.#host = host;
  }

  get closed(): boolean {
    return this.#closed || this.#ws.readyState !== OPEN;
  }

  send(message: string | Uint8Array, isBinary: boolean): boolean {
    return !this.closed && this.sendFrame(messageFrame(message, isBinary));
  }

  sendAll(messages: readonly Uint8Array[], isBinary: boolean): void {
    for (const message of messages) this.send(message, isBinary);
  }

  /** Gathers a tick's frames into one system call. */
  sendFrame(frame: Buffer): boolean {
    if (this.closed) return false;
    if (this.#gathered === 0) {
      this.#connection.cork();
      this.#host.flushLater(this);
    }
    this.#gathered += frame.length;
    this.#connection.write(frame);
    return this.#gathered < GATHER_BYTES || this.flush();
  }

  /** Writes what was gathered, and closes a peer that leaves too much unread; says whether it may stay. */
  flush(): boolean {
    if (this.#gathered > 0) {
      this.#gathered = 0;
      this.#connection.uncork();
    }
    return !this.closed && this.#keepToBudget();
  }

  subscribe(topic: string): void {
    if (!this.closed) this.#host.join(this, topic);
  }

  unsubscribe(topic: string): void {
    this.#host.leave(this, topic);
  }

  bufferedBytes(): number {
    return this.#connection.writableLength;
  }

  /** The close frame follows what is buffered; a peer that has not read it and answered after `drainMs` is cut. */
  close(code: number, reason: string): void {
    if (this.#closed) return;
    this.leave();
    this.#ws.close(code, reason);
  }

  /** From here on only the closing handshake goes on, and not for long. */
  leave(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#host.leaveAll(this);
    this.#deadline = setTimeout(() => this.#ws.terminate(), this.#host.bounds.drainMs);
  }

  cut(): void {
    this.#ws.terminate();
  }

  ping(): void {
    this.#ws.ping();
  }

  /**
   * A ping, a pong, or what comes while the socket is being closed. A peer that pings and reads nothing makes us buffer
   * pongs.
   */
  idleFrame(): void {
    this.silentLooks = 0;
    this.idleFrames += 1;
    if (this.idleFrames <= this.#host.bounds.idleFrames) {
      if (!this.closed) this.#keepToBudget();
    } else if (this.closed) this.cut();
    else this.close(CloseCode.policyViolation, TOO_MANY_PINGS);
  }

  /** The connection is gone. */
  gone(): void {
    this.#closed = true;
    this.#host.leaveAll(this);
    clearTimeout(this.#deadline);
  }

  #keepToBudget(): boolean {
    if (this.bufferedBytes() <= this.#host.bounds.bufferedBytes) return true;
    this.close(CloseCode.tryAgainLater, this.#host.overBudgetReason(this));
    return false;
  }

  static bytes(data: RawData): Uint8Array {
    if (Array.isArray(data)) return Buffer.concat(data);
    return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  }
}
