import { type RawData, WebSocket } from 'ws';
import type { CancelTimer, Clock, Random } from '../../engine/ports.js';
import { type BlockHead, readHead } from '../contracts/blocks-and-logs.js';
import { backoff, type BackoffBounds } from '../../system/timers.js';

export interface HeadWatchTiming extends BackoffBounds {
  /** Between pings; a connection that says nothing from one to the next is left. */
  readonly pingMs: number;
}

/**
 * Subscribes to `newHeads` (geth's `eth_subscribe`) and calls `onHead` for each message. A wake-up, and a block header
 * that need not be asked for: a message missed or doubled does no harm, and what is invented has no place in the chain
 * of hashes that is read. Reconnects for ever until stopped.
 */
export class HeadWatch {
  #socket: WebSocket | null = null;
  #stopped = false;
  #failures = 0;
  #cancelRetry: CancelTimer = () => undefined;
  #cancelPing: CancelTimer = () => undefined;
  /** Something came since the last ping. */
  #heard = false;

  constructor(
    private readonly url: string,
    /** `head`: the block that the message tells of; null: it is none of a block. */
    private readonly onHead: (head: BlockHead | null) => void,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly timing: HeadWatchTiming,
  ) {}

  start(): void {
    if (this.#stopped) return;
    const socket = new WebSocket(this.url, { maxPayload: 1 << 20 });
    this.#socket = socket;
    socket.on('open', () => {
      this.#heard = true;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
    });
    socket.on('pong', () => (this.#heard = true));
    socket.on('message', (data) => {
      this.#heard = true;
      this.#failures = 0;
      this.onHead(headIn(data));
    });
    socket.on('error', () => undefined); // 'close' follows
    socket.on('close', () => this.#retry());
    this.#supervise(socket);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelRetry();
    this.#cancelPing();
    this.#socket?.terminate();
  }

  /** A peer that is gone need not say so, and a handshake may hang: TCP alone would notice after hours, if at all. */
  #supervise(socket: WebSocket): void {
    this.#cancelPing = this.clock.after(this.timing.pingMs, () => {
      if (!this.#heard) return socket.terminate(); // 'close' follows
      this.#heard = false;
      socket.ping();
      this.#supervise(socket);
    });
  }

  #retry(): void {
    this.#cancelPing();
    this.#heard = false;
    if (this.#stopped) return;
    const pauseMs = backoff(this.timing, ++this.#failures, this.random);
    this.#cancelRetry = this.clock.after(pauseMs, () => this.start());
  }
}

function headIn(data: RawData): BlockHead | null {
  try {
    const message = JSON.parse((data as Buffer).toString('utf8')) as { params?: { result?: unknown } } | null;
    return readHead(message?.params?.result);
  } catch {
    return null;
  }
}
