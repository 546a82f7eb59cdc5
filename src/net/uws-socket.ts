import type { WebSocket } from 'uws-native';
import { CloseCode, TOO_MANY_PINGS } from './close-codes.js';
import type { NetSocket } from './net.js';

/** Attached to the library's socket when it is upgraded. */
export interface UwsSocketData {
  readonly socket: UwsSocket;
}

/** What a socket needs of the table that it is in. */
export interface UwsSocketHost {
  readonly bufferedBytes: number;
  readonly drainMs: number;
  readonly idleFrames: number;
  overBudgetReason(socket: UwsSocket): string;
}

/**
 * One WebSocket. The library's own object is dead from its close event on, so every use of it is behind `closed`.
 *
 * The library is told to buffer without a limit, because its limit drops messages, and one that it dropped may be
 * followed by one that it sends. The limit is kept here: over it nothing more is sent, and the peer is closed.
 */
export class UwsSocket implements NetSocket {
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
    const deadline = setTimeout(() => this.#ws?.close(), this.#host.drainMs);
    this.#leaving = { code, reason, deadline };
  }

  /** Closes a peer that leaves too much unread; says whether it may stay. */
  keepToBudget(): boolean {
    if (this.bufferedBytes() <= this.#host.bufferedBytes) return true;
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
    if (this.idleFrames <= this.#host.idleFrames) {
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
