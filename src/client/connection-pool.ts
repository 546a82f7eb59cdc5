import type { FeedChannel } from '../wire/socket.js';
import {
  Connection,
  type ConnectionOptions,
  type ConnectionState,
  type Outcome,
  type Reply,
  UNKNOWN_KEY,
} from './connection.js';
import { Emitter } from './emitter.js';
import { ConnectionLostError, RefusedError } from './errors.js';
import type { HeartbeatMessage, RfqStatusEvent } from './messages.js';
import type { StopTimer } from './ports.js';
import type { Subscription } from './subscription.js';

interface PooledConnection {
  readonly connection: Connection;
  readonly subscriptions: Map<FeedChannel, Subscription>;
  /** Requests outside subscriptions that the server has not answered yet. */
  unanswered: number;
  /** All its subscriptions have been detached. */
  isLeft: boolean;
  /** It stays open without subscriptions. */
  isKept: boolean;
}

interface WaitingRequest {
  readonly message: object;
  readonly isCall: boolean;
  readonly keepsConnection: boolean;
  readonly onOutcome: (outcome: Outcome<Reply>) => void;
  readonly cancelTimer: StopTimer;
}

export interface AskOptions {
  /** Other messages do not wait for its answer. */
  readonly isCall?: boolean;
  /** The connection that carries it stays open until the pool is closed. */
  readonly keepsConnection?: boolean;
}

/** The state of several connections is the first of these that one of them has. */
const WORST_FIRST: readonly ConnectionState[] = ['UNAUTHORIZED', 'WAITING', 'CONNECTING', 'OPEN', 'CLOSED'];

/**
 * Opens connections on demand. One carries at most one subscription of each channel, so a second book takes a second
 * connection.
 */
export class ConnectionPool {
  readonly states = new Emitter<ConnectionState>();
  readonly heartbeats = new Emitter<HeartbeatMessage>();
  readonly rfqStatuses = new Emitter<RfqStatusEvent>();
  /** Resolves when the pool has been closed. */
  readonly closed: Promise<void>;
  #onClosed: () => void = () => undefined;
  /** It closes when nothing is under way any more. */
  #isDraining = false;
  readonly #options: Omit<ConnectionOptions, 'onState' | 'onMessage'>;
  readonly #connections = new Set<PooledConnection>();
  /** Requests outside subscriptions that wait for an open connection. */
  readonly #waiting = new Set<WaitingRequest>();
  #lastState: ConnectionState = 'CLOSED';
  #isClosed = false;

  constructor(options: Omit<ConnectionOptions, 'onState' | 'onMessage'>) {
    this.#options = options;
    this.closed = new Promise((resolve) => (this.#onClosed = resolve));
  }

  /** The worst state of all connections; `CLOSED`: there is no connection. */
  get state(): ConnectionState {
    const states = [...this.#connections].map(({ connection }) => connection.state);
    return WORST_FIRST.find((state) => states.includes(state)) ?? 'CLOSED';
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Unix milliseconds at which the first lost connection is tried again; null: none is lost. */
  get nextAttemptMs(): number | null {
    const all = [...this.#connections]
      .map(({ connection }) => connection.nextAttemptMs)
      .filter((each) => each !== null);
    return all.length === 0 ? null : Math.min(...all);
  }

  /** Why the server refuses a connection for the present, such as `too_many_connections`; null: it refuses none. */
  get refusal(): RefusedError | null {
    return [...this.#connections].map(({ connection }) => connection.refusal).find((each) => each !== null) ?? null;
  }

  /**
   * Keeps one connection open until `close`, and opens it unless one is there; resolves when one is authorised. Rejects
   * with RefusedError if the key is refused, after `answerMs` with `refusal` or ConnectionLostError, and after `close`.
   */
  connect(): Promise<void> {
    const { timeouts, ports } = this.#options;
    return new Promise((resolve, reject) => {
      const end = (error: Error | null): void => {
        stopListening();
        cancelTimer();
        if (error === null) resolve();
        else reject(error);
      };
      const look = (): void => {
        const { state } = this;
        if (state === 'OPEN') end(null);
        else if (state === 'UNAUTHORIZED') end(keyRefused());
        else if (this.#isClosed) end(new ConnectionLostError());
      };
      const stopListening = this.states.add(look);
      const cancelTimer = ports.clock.after(timeouts.answerMs, () => end(this.#unavailable()));
      const [first] = this.#connections;
      if (first !== undefined) first.isKept = true;
      else if (!this.#isClosed) this.#add(true).connection.open();
      look();
    });
  }

  /** Gives the subscription a connection. After `close` it closes the subscription. */
  attach(subscription: Subscription): void {
    if (this.#isClosed) return subscription.close();
    const { channel } = subscription;
    const free = [...this.#connections].find(({ subscriptions }) => isFree(subscriptions.get(channel)));
    const pooled = free ?? this.#add(false);
    // Before the connection is opened: a listener of its state may close the client, which must close this, too.
    pooled.subscriptions.set(channel, subscription);
    pooled.isLeft = false;
    if (free === undefined) return pooled.connection.open();
    const { state } = pooled.connection;
    if (state === 'OPEN') subscription.start(pooled.connection);
    if (state === 'UNAUTHORIZED') subscription.refuse(keyRefused());
  }

  /** Closes the subscription, and a connection that is not kept once it has neither subscriptions nor unanswered requests. */
  detach(subscription: Subscription): void {
    const pooled = [...this.#connections].find(
      ({ subscriptions }) => subscriptions.get(subscription.channel) === subscription,
    );
    // Before it is closed: a listener of its state may follow the same channel over this connection.
    pooled?.subscriptions.delete(subscription.channel);
    subscription.close();
    if (pooled === undefined) return;
    pooled.isLeft = pooled.subscriptions.size === 0;
    this.#removeLeft();
  }

  /** Sends a request over any open connection. It fails if none opens within `answerMs`: it may not be wanted later. */
  ask(message: object, onOutcome: (outcome: Outcome<Reply>) => void, options: AskOptions = {}): void {
    if (this.#isClosed || this.#isDraining) {
      return onOutcome({ ok: false, error: new ConnectionLostError() });
    }
    const { timeouts, ports } = this.#options;
    const giveUp = (): void => {
      this.#waiting.delete(waiting);
      onOutcome({ ok: false, error: this.#unavailable() });
      this.#removeLeft();
    };
    const { isCall = false, keepsConnection = false } = options;
    const cancelTimer = ports.clock.after(timeouts.answerMs, giveUp);
    const waiting = { message, isCall, keepsConnection, onOutcome, cancelTimer };
    this.#waiting.add(waiting);
    if (this.#connections.size === 0) this.#add(true).connection.open();
    this.#askWaiting();
  }

  /** The credentials have changed. */
  reauthorize(): void {
    for (const { connection } of this.#connections) connection.reauthorize();
  }

  /** Takes no more requests, and closes all connections when those under way have their answers. */
  drain(): Promise<void> {
    this.#isDraining = true;
    this.#closeIfDrained();
    return this.closed;
  }

  /** Closes all connections for good. */
  close(): void {
    this.#isClosed = true;
    for (const pooled of [...this.#connections]) {
      for (const subscription of pooled.subscriptions.values()) subscription.close();
      this.#remove(pooled);
    }
    this.#giveUpWaiting(new ConnectionLostError());
    this.#onClosed();
  }

  #closeIfDrained(): void {
    if (!this.#isDraining || this.#isClosed || this.#waiting.size > 0) return;
    if ([...this.#connections].every(({ unanswered }) => unanswered === 0)) this.close();
  }

  #add(isKept: boolean): PooledConnection {
    const subscriptions = new Map<FeedChannel, Subscription>();
    const connection = new Connection({
      ...this.#options,
      onState: (state) => this.#onState(pooled, state),
      onMessage: (message) => {
        if (message.type === 'HEARTBEAT') this.heartbeats.emit(message);
        if (message.type === 'RFQ_STATUS') this.rfqStatuses.emit(message);
        for (const subscription of [...subscriptions.values()]) subscription.take(message);
      },
    });
    const pooled: PooledConnection = { connection, subscriptions, unanswered: 0, isLeft: false, isKept };
    this.#connections.add(pooled);
    return pooled;
  }

  #removeLeft(): void {
    this.#closeIfDrained();
    if (this.#waiting.size > 0) return;
    for (const pooled of [...this.#connections]) {
      if (pooled.isLeft && !pooled.isKept && pooled.unanswered === 0) this.#remove(pooled);
    }
  }

  #remove(pooled: PooledConnection): void {
    this.#connections.delete(pooled);
    pooled.connection.close();
  }

  #onState({ connection, subscriptions }: PooledConnection, state: ConnectionState): void {
    // A copy: a subscription that a listener adds meanwhile starts on its own.
    for (const subscription of [...subscriptions.values()]) {
      if (state === 'OPEN') subscription.start(connection);
      else if (state === 'UNAUTHORIZED') subscription.refuse(keyRefused());
      else subscription.pause();
    }
    this.#emitState();
    this.#askWaiting();
  }

  #askWaiting(): void {
    const open = [...this.#connections].filter(({ connection }) => connection.state === 'OPEN');
    const carrier = open.find(({ isKept }) => isKept) ?? open[0];
    if (carrier === undefined) {
      // The client does not retry a refused key, so no connection will open.
      if (this.state === 'UNAUTHORIZED') this.#giveUpWaiting(keyRefused());
      return;
    }
    for (const { message, isCall, keepsConnection, onOutcome } of this.#takeWaiting()) {
      carrier.isKept ||= keepsConnection;
      carrier.unanswered += 1;
      carrier.connection[isCall ? 'call' : 'ask'](message, (outcome) => {
        carrier.unanswered -= 1;
        onOutcome(outcome);
        this.#removeLeft();
      });
    }
  }

  /** Why there is no open connection. */
  #unavailable(): RefusedError | ConnectionLostError {
    return this.refusal ?? new ConnectionLostError();
  }

  #giveUpWaiting(error: RefusedError | ConnectionLostError): void {
    for (const { onOutcome } of this.#takeWaiting()) onOutcome({ ok: false, error });
  }

  #takeWaiting(): readonly WaitingRequest[] {
    const taken = [...this.#waiting];
    this.#waiting.clear();
    for (const { cancelTimer } of taken) cancelTimer();
    return taken;
  }

  #emitState(): void {
    const { state } = this;
    if (state === this.#lastState) return;
    this.#lastState = state;
    this.states.emit(state);
  }
}

/** A refused subscription no longer holds its channel. */
function isFree(subscription: Subscription | undefined): boolean {
  return subscription === undefined || subscription.state === 'REFUSED';
}

function keyRefused(): RefusedError {
  return new RefusedError(UNKNOWN_KEY, 'api_key_unknown');
}
