import { type RawData, WebSocket } from 'ws';
import type { CancelTimer, Clock, Random } from '../../engine/ports.js';
import { type BlockHead, readHead } from '../contracts/blocks-and-logs.js';
import { backoff, type BackoffBounds } from '../../system/timers.js';

export interface HeadWatchTiming extends BackoffBounds {
  /** Between pings; a connection that says nothing from one to the next is left. */
  readonly pingMs: number;
}

export interface HeadWatchListener {
  /** The node has accepted the subscription: it announces each block from now on. */
  onOpen(): void;
  onHead(head: BlockHead): void;
  /** The subscription is over; called also for one that never began. */
  onClose(): void;
}

/** The id of the request that subscribes. */
const SUBSCRIBE = 1;

/** A header has one or two kilobytes, with many validators some more. */
const MESSAGE_BYTES = 64 << 10;
/** Most bytes between two pings: those of a thousand headers; a small message counts as `LEAST_BYTES`. */
const BYTES_BETWEEN_PINGS = 2 << 20;
const LEAST_BYTES = 512;
/** Failed connections in a row that one that sent more counts for: the pause before the next is among the longest. */
const FLOOD_FAILURES = 10;

/**
 * Subscribes to `newHeads` (geth's `eth_subscribe`) and passes on the header of each block. A message missed or doubled
 * does no harm, and what is invented has no place in the chain of hashes that is read. Reconnects for ever until stopped.
 */
export class HeadWatch {
  #socket: WebSocket | null = null;
  #stopped = false;
  #failures = 0;
  #cancelRetry: CancelTimer = () => undefined;
  #cancelPing: CancelTimer = () => undefined;
  /** Something came since the last ping. */
  #heard = false;
  /** Since the last ping. */
  #bytes = 0;

  constructor(
    private readonly url: string,
    private readonly listener: HeadWatchListener,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly timing: HeadWatchTiming,
  ) {}

  start(): void {
    if (this.#stopped) return;
    const socket = new WebSocket(this.url, { maxPayload: MESSAGE_BYTES, perMessageDeflate: false });
    this.#socket = socket;
    socket.on('open', () => {
      this.#heard = true;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: SUBSCRIBE, method: 'eth_subscribe', params: ['newHeads'] }));
    });
    socket.on('ping', () => this.#mayRead(socket));
    socket.on('pong', () => (this.#heard = this.#mayRead(socket)));
    socket.on('message', (data) => {
      if (!this.#mayRead(socket, (data as Buffer).length)) return;
      this.#heard = true;
      const message = readMessage(data);
      const head = headIn(message);
      const isAccepted = message?.id === SUBSCRIBE && typeof message.result === 'string';
      // A node that refuses the subscription answers, too: it is to be asked ever more rarely.
      if (head !== null || isAccepted) this.#failures = 0;
      if (head !== null) this.listener.onHead(head);
      else if (isAccepted) this.listener.onOpen();
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

  /** False where the node has sent so much that the connection ends: each message takes time to read. */
  #mayRead(socket: WebSocket, bytes = 0): boolean {
    this.#bytes += Math.max(LEAST_BYTES, bytes);
    if (this.#bytes <= BYTES_BETWEEN_PINGS) return true;
    this.#failures = FLOOD_FAILURES;
    socket.terminate(); // 'close' follows
    return false;
  }

  /** A peer that is gone need not say so, and a handshake may hang: TCP alone would notice after hours, if at all. */
  #supervise(socket: WebSocket): void {
    this.#bytes = 0;
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
    this.listener.onClose();
    if (this.#stopped) return;
    const pauseMs = backoff(this.timing, ++this.#failures, this.random);
    this.#cancelRetry = this.clock.after(pauseMs, () => this.start());
  }
}

interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly params?: { readonly result?: unknown };
}

function readMessage(data: RawData): Message | null {
  try {
    return JSON.parse((data as Buffer).toString('utf8')) as Message | null;
  } catch {
    return null;
  }
}

function headIn(message: Message | null): BlockHead | null {
  try {
    return readHead(message?.params?.result);
  } catch {
    return null;
  }
}
