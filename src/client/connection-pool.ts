import type { FeedChannel } from '../wire/socket.js';
import {
  Connection,
  type ConnectionOptions,
  type ConnectionState,
  type Outcome,
  type Reply,
  UNKNOWN_KEY,
} from './connection.js';
import { ConnectionLostError, RefusedError } from './errors.js';
import type { HeartbeatMessage } from './messages.js';
import { type StopTimer, Listeners } from './ports.js';
import type { Subscription } from './subscription.js';

interface PooledConnection {
  readonly connection: Connection;
  readonly subscriptions: Map<FeedChannel, Subscription>;
  /** Messages of no subscription whose answers are to come. */
  unanswered: number;
  /** What it carried has been dropped. */
  isLeft: boolean;
}

interface WaitingRequest {
  readonly message: object;
  readonly onOutcome: (outcome: Outcome<Reply>) => void;
  readonly cancelTimer: StopTimer;
}

/** The worst first: what a user has to know of several connections. */
const WORST_FIRST: readonly ConnectionState[] = ['UNAUTHORIZED', 'WAITING', 'CONNECTING', 'OPEN', 'CLOSED'];

/**
 * Connections by need: one carries one subscription of each channel, so that a second book takes a second connection.
 */
export class ConnectionPool {
  readonly states = new Listeners<ConnectionState>();
  readonly heartbeats = new Listeners<HeartbeatMessage>();
  readonly #options: Omit<ConnectionOptions, 'onState' | 'onMessage'>;
  readonly #carriers = new Set<PooledConnection>();
  /** Messages of no subscription, until a connection is open. */
  readonly #waiting = new Set<WaitingRequest>();
  #told: ConnectionState = 'CLOSED';
  #isClosed = false;

  constructor(options: Omit<ConnectionOptions, 'onState' | 'onMessage'>) {
    this.#options = options;
  }

  /** Of all connections the worst; `CLOSED`: there is none. */
  get state(): ConnectionState {
    const states = [...this.#carriers].map(({ connection }) => connection.state);
    return WORST_FIRST.find((state) => states.includes(state)) ?? 'CLOSED';
  }

  /** Once all is closed, what is followed is closed too. */
  attach(subscription: Subscription): void {
    if (this.#isClosed) return subscription.close();
    const { channel } = subscription;
    const free = [...this.#carriers].find(({ subscriptions }) => isFree(subscriptions.get(channel)));
    const carrier = free ?? this.#add();
    // Before the connection is opened: whoever closes all on hearing of that closes this, too.
    carrier.subscriptions.set(channel, subscription);
    carrier.isLeft = false;
    if (free === undefined) return carrier.connection.open();
    const { state } = carrier.connection;
    if (state === 'OPEN') subscription.start(carrier.connection);
    if (state === 'UNAUTHORIZED') subscription.refuse(keyRefused());
  }

  /** A connection that carries nothing more is closed, once what was asked over it is answered. */
  detach(subscription: Subscription): void {
    const carrier = [...this.#carriers].find(
      ({ subscriptions }) => subscriptions.get(subscription.channel) === subscription,
    );
    // Before it is closed: whoever hears of that may follow the same channel over this connection.
    carrier?.subscriptions.delete(subscription.channel);
    subscription.close();
    if (carrier === undefined) return;
    carrier.isLeft = carrier.subscriptions.size === 0;
    this.#removeLeft();
  }

  /** Asks over any connection, once one is open: but not long after, when it may not be wanted any more. */
  ask(message: object, onOutcome: (outcome: Outcome<Reply>) => void): void {
    if (this.#isClosed) return onOutcome({ ok: false, error: new ConnectionLostError() });
    const { patience, ports } = this.#options;
    const giveUp = (): void => {
      this.#waiting.delete(waiting);
      onOutcome({ ok: false, error: new ConnectionLostError() });
      this.#removeLeft();
    };
    const waiting = { message, onOutcome, cancelTimer: ports.clock.after(patience.answerMs, giveUp) };
    this.#waiting.add(waiting);
    if (this.#carriers.size === 0) this.#add().connection.open();
    this.#askWaiting();
  }

  /** For good: no connection is opened any more. */
  close(): void {
    this.#isClosed = true;
    for (const carrier of [...this.#carriers]) {
      for (const subscription of carrier.subscriptions.values()) subscription.close();
      this.#remove(carrier);
    }
    this.#giveUpWaiting(new ConnectionLostError());
  }

  #add(): PooledConnection {
    const subscriptions = new Map<FeedChannel, Subscription>();
    const connection = new Connection({
      ...this.#options,
      onState: (state) => this.#onState(carrier, state),
      onMessage: (message) => {
        if (message.type === 'HEARTBEAT') this.heartbeats.emit(message);
        for (const subscription of [...subscriptions.values()]) subscription.take(message);
      },
    });
    const carrier: PooledConnection = { connection, subscriptions, unanswered: 0, isLeft: false };
    this.#carriers.add(carrier);
    return carrier;
  }

  #removeLeft(): void {
    if (this.#waiting.size > 0) return;
    for (const carrier of [...this.#carriers]) {
      if (carrier.isLeft && carrier.unanswered === 0) this.#remove(carrier);
    }
  }

  #remove(carrier: PooledConnection): void {
    this.#carriers.delete(carrier);
    carrier.connection.close();
  }

  #onState({ connection, subscriptions }: PooledConnection, state: ConnectionState): void {
    // A copy: what is followed by somebody who hears of this begins by itself.
    for (const subscription of [...subscriptions.values()]) {
      if (state === 'OPEN') subscription.start(connection);
      else if (state === 'UNAUTHORIZED') subscription.refuse(keyRefused());
      else subscription.pause();
    }
    this.#tellState();
    this.#askWaiting();
  }

  #askWaiting(): void {
    const open = [...this.#carriers].find(({ connection }) => connection.state === 'OPEN');
    if (open === undefined) {
      // A key that was refused is not tried again, so that there is nothing to wait for.
      if (this.state === 'UNAUTHORIZED') this.#giveUpWaiting(keyRefused());
      return;
    }
    for (const { message, onOutcome } of this.#takeWaiting()) {
      open.unanswered += 1;
      open.connection.ask(message, (outcome) => {
        open.unanswered -= 1;
        onOutcome(outcome);
        this.#removeLeft();
      });
    }
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

  #tellState(): void {
    const { state } = this;
    if (state === this.#told) return;
    this.#told = state;
    this.states.emit(state);
  }
}

/** One that was refused is over, closed or not. */
function isFree(subscription: Subscription | undefined): boolean {
  return subscription === undefined || subscription.state === 'REFUSED';
}

function keyRefused(): RefusedError {
  return new RefusedError(UNKNOWN_KEY);
}
