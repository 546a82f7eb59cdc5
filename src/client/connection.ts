import { isCallResult } from '../wire/feed-layout.js';
import type { ServerMessageV2 } from '../wire/feed-messages.js';
import { decodeFrame, type FeedEncoding, SUBPROTOCOL, type UnknownMessage } from './decode.js';
import { ConnectionLostError, RefusedError } from './errors.js';
import type { Acknowledgement } from './messages.js';
import type { StopTimer, ClientClock, ClientPorts, ClientSocket } from './ports.js';
import type { Credentials } from './sign-in.js';

/** Bounds of the pause before the next try, milliseconds. */
export interface BackoffRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/** `OPEN`: authorised. `WAITING`: lost, reconnects after a pause. `UNAUTHORIZED`: the key was refused; final. */
export type ConnectionState = 'CONNECTING' | 'OPEN' | 'WAITING' | 'UNAUTHORIZED' | 'CLOSED';

export interface ClientTimeouts {
  /** From connecting to a successful AUTH, and for each answer but those of calls. */
  readonly answerMs: number;
  /** For the answer of a call, whose transactions may take long to be mined. */
  readonly callMs: number;
  /** Without any frame the connection counts as dead: three heartbeats. */
  readonly silenceMs: number;
  readonly reconnect: BackoffRange;
}

export const DEFAULT_TIMEOUTS: ClientTimeouts = {
  answerMs: 10_000,
  callMs: 120_000,
  silenceMs: 15_000,
  reconnect: { minMs: 250, maxMs: 30_000 },
};

export interface ConnectionOptions {
  /** ws: or wss:. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly encoding: FeedEncoding;
  readonly timeouts: ClientTimeouts;
  readonly ports: ClientPorts;
  onState(state: ConnectionState): void;
  /** Called with every message that is not an answer. */
  onMessage(message: ServerMessageV2): void;
}

/** The server's answer to a message. `subscribed`: the acknowledgement of a FILTER. */
export interface Reply {
  readonly message: string;
  readonly subscribed: Acknowledgement | null;
  /** Of a call: its result. */
  readonly result?: unknown;
}

/** Keeps one authorised WebSocket open: reconnects after each loss until `close`. */
export class Connection {
  readonly #options: ConnectionOptions;
  #state: ConnectionState = 'CLOSED';
  #socket: ClientSocket | null = null;
  #requests: PendingRequests<Reply> | null = null;
  /** Calls without an answer, by their id. */
  readonly #calls = new Map<
    string,
    { readonly onOutcome: (outcome: Outcome<Reply>) => void; readonly stopTimer: StopTimer }
  >();
  #lastCall = 0;
  #attempt = 0;
  #nextAttemptMs: number | null = null;
  #refusal: RefusedError | null = null;
  #heard = false;
  #cancelTimer: StopTimer = () => undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Unix milliseconds at which a lost connection is tried again; null: it is not lost. */
  get nextAttemptMs(): number | null {
    return this.#state === 'WAITING' ? this.#nextAttemptMs : null;
  }

  /** The server's answer to the last AUTH, where it refused that; null: it is open, or was lost otherwise. */
  get refusal(): RefusedError | null {
    return this.#refusal;
  }

  open(): void {
    const { url, encoding, ports } = this.#options;
    this.#enter('CONNECTING');
    // A listener may have closed it.
    if (this.#state !== 'CONNECTING') return;
    const socket = new ports.WebSocket(url, [SUBPROTOCOL[encoding]]);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    // An abandoned socket may still fire events: ignore them.
    const ifCurrent = (task: () => void) => () => {
      if (this.#socket === socket) task();
    };
    socket.onopen = ifCurrent(() => this.#authorize(socket));
    socket.onmessage = ({ data }) => ifCurrent(() => this.#take(data))();
    socket.onclose = ifCurrent(() => this.#lose());
    // The error event carries no cause, and `close` follows it.
    socket.onerror = () => undefined;
    this.#cancelTimer = ports.clock.after(this.#options.timeouts.answerMs, () => this.restart());
  }

  /** Only while it is open. */
  ask(message: object, onOutcome: (outcome: Outcome<Reply>) => void): void {
    if (this.#requests === null) onOutcome({ ok: false, error: new ConnectionLostError() });
    else this.#requests.ask(message, onOutcome);
  }

  /**
   * As `ask`, with an id: the answer may come after those to later messages. Fails with ConnectionLostError after
   * `callMs`: what became of it is not known.
   */
  call(message: object, onOutcome: (outcome: Outcome<Reply>) => void): void {
    if (this.#requests === null || this.#socket === null) {
      onOutcome({ ok: false, error: new ConnectionLostError() });
      return;
    }
    this.#lastCall += 1;
    const id = `call-${this.#lastCall}`;
    const { ports, timeouts } = this.#options;
    const stopTimer = ports.clock.after(timeouts.callMs, () => {
      const error = new ConnectionLostError(`No answer within ${timeouts.callMs} ms`);
      this.#takeCall(id)?.({ ok: false, error });
    });
    this.#calls.set(id, { onOutcome, stopTimer });
    this.#socket.send(JSON.stringify({ ...message, id }));
  }

  /** The credentials have changed: continues with the new ones, over another socket where the server refuses that. */
  reauthorize(): void {
    const { credentials } = this.#options;
    this.#requests?.ask({ type: 'AUTH', apiKey: credentials.current, body: null }, (outcome) => {
      if (!outcome.ok && outcome.error instanceof RefusedError) this.restart();
    });
  }

  /**
   * Runs `task` after a pause as before a reconnect, of at least `leastMs`, unless it is stopped. `attempt`: from 0; the
   * pause grows with it.
   */
  afterPause(attempt: number, leastMs: number, task: () => void): StopTimer {
    const { timeouts, ports } = this.#options;
    const pauseMs = Math.max(
      leastMs,
      backoffMs(timeouts.reconnect, attempt, () => ports.random()),
    );
    return ports.clock.after(pauseMs, task);
  }

  /** Abandons this socket and opens another after a pause. `refusal`: of an AUTH; it may ask for a longer pause. */
  restart(refusal: RefusedError | null = null): void {
    const socket = this.#socket;
    this.#lose(refusal);
    socket?.close();
  }

  close(): void {
    const socket = this.#socket;
    this.#end('CLOSED');
    socket?.close(NORMAL_CLOSURE);
  }

  #authorize(socket: ClientSocket): void {
    const { credentials, ports, timeouts } = this.#options;
    this.#requests = new PendingRequests<Reply>({
      send: (message) => socket.send(JSON.stringify(message)),
      clock: ports.clock,
      answerMs: timeouts.answerMs,
      onSilence: () => this.restart(),
    });
    const apiKey = credentials.current;
    this.#requests.ask({ type: 'AUTH', apiKey, body: null }, (outcome) => {
      if (outcome.ok) {
        this.#cancelTimer();
        this.#watch();
        this.#refusal = null;
        this.#enter('OPEN');
        return;
      }
      const { error } = outcome;
      if (error.message === UNKNOWN_KEY && !credentials.drop(apiKey)) {
        this.#end('UNAUTHORIZED');
        socket.close(NORMAL_CLOSURE);
      } else if (this.#socket === socket) this.restart(error instanceof RefusedError ? error : null);
    });
  }

  #take(data: unknown): void {
    this.#heard = true;
    try {
      this.#read(decodeFrame(data));
    } catch {
      // A malformed message. Errors of listeners do not arrive here.
      this.restart();
    }
  }

  #read(message: ServerMessageV2 | UnknownMessage): void {
    if (isCallResult(message)) {
      const answer = { message: '', subscribed: null, result: message.body };
      return this.#takeCall(message.id)?.({ ok: true, answer });
    }
    switch (message.type) {
      case null:
        return;
      case 'INFO':
        return this.#requests?.answered({ message: message.message, subscribed: message.body });
      case 'ERROR':
        return this.#refused(message);
      case 'HEARTBEAT':
        // The connection has lasted until a heartbeat: the backoff starts over.
        this.#attempt = 0;
        return this.#options.onMessage(message);
      default:
        this.#options.onMessage(message);
    }
  }

  #refused({ message, code, body, id }: Extract<ServerMessageV2, { readonly type: 'ERROR' }>): void {
    const error = new RefusedError(message, code, body);
    const call = this.#takeCall(id);
    if (call === undefined) this.#requests?.refused(error);
    else call({ ok: false, error });
  }

  #takeCall(id = ''): ((outcome: Outcome<Reply>) => void) | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    call?.stopTimer();
    return call?.onOutcome;
  }

  /** A dead peer sends nothing, not even `close`. `silentLooks`: checks in a row without a new frame. */
  #watch(silentLooks = 0): void {
    this.#heard = false;
    this.#cancelTimer = this.#options.ports.clock.after(this.#options.timeouts.silenceMs / LOOKS, () => {
      if (this.#heard) this.#watch();
      else if (silentLooks + 1 < LOOKS) this.#watch(silentLooks + 1);
      else this.restart();
    });
  }

  #lose(refusal: RefusedError | null = null): void {
    if (this.#socket === null) return;
    this.#refusal = refusal;
    const { timeouts, ports } = this.#options;
    this.#end('WAITING');
    if (this.#state !== 'WAITING') return;
    const drawnMs = backoffMs(timeouts.reconnect, this.#attempt, () => ports.random());
    const pauseMs = Math.max(drawnMs, refusal?.retryAfterMs ?? 0);
    this.#attempt += 1;
    this.#nextAttemptMs = ports.clock.wallMs() + pauseMs;
    this.#cancelTimer = ports.clock.after(pauseMs, () => this.open());
  }

  #end(state: ConnectionState): void {
    this.#cancelTimer();
    this.#socket = null;
    const requests = this.#requests;
    this.#requests = null;
    this.#enter(state);
    // After the state has changed: a callback of a failed request may close the connection.
    requests?.end();
    for (const id of [...this.#calls.keys()]) this.#takeCall(id)?.({ ok: false, error: new ConnectionLostError() });
  }

  #enter(state: ConnectionState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState(state);
  }
}

/** Checks per `silenceMs`: a dead connection is noticed at most a third of that late. */
const LOOKS = 3;
/** RFC 6455, 7.4.1. */
const NORMAL_CLOSURE = 1000;
/** The answer to AUTH with a key that is unknown or revoked. */
export const UNKNOWN_KEY = 'NOT_FOUND';

/** The answer to a request, or why it failed. */
export type Outcome<A> =
  | { readonly ok: true; readonly answer: A }
  | { readonly ok: false; readonly error: RefusedError | ConnectionLostError };

interface PendingRequest<A> {
  readonly message: object;
  /** Called in the same tick as the answer arrives: the messages after it depend on its effect. */
  readonly onOutcome: (outcome: Outcome<A>) => void;
}

export interface PendingRequestsOptions {
  readonly send: (message: object) => void;
  readonly clock: ClientClock;
  /** Deadline of each answer, milliseconds. */
  readonly answerMs: number;
  /** The deadline has passed: the connection counts as dead. */
  readonly onSilence: () => void;
}

/** Answers carry no request id, so one request is sent at a time: the next INFO or ERROR answers it. */
class PendingRequests<A> {
  readonly #options: PendingRequestsOptions;
  readonly #waiting: PendingRequest<A>[] = [];
  #asked: PendingRequest<A> | null = null;
  #cancelTimer: StopTimer = () => undefined;

  constructor(options: PendingRequestsOptions) {
    this.#options = options;
  }

  ask(message: object, onOutcome: (outcome: Outcome<A>) => void): void {
    this.#waiting.push({ message, onOutcome });
    this.#next();
  }

  answered(answer: A): void {
    this.#finish({ ok: true, answer });
  }

  refused(error: RefusedError): void {
    this.#finish({ ok: false, error });
  }

  /** Nothing more will be answered. */
  end(): void {
    this.#cancelTimer();
    const open = [...(this.#asked === null ? [] : [this.#asked]), ...this.#waiting.splice(0)];
    this.#asked = null;
    for (const { onOutcome } of open) onOutcome({ ok: false, error: new ConnectionLostError() });
  }

  #next(): void {
    if (this.#asked !== null) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#asked = next;
    const { clock, answerMs, onSilence, send } = this.#options;
    this.#cancelTimer = clock.after(answerMs, onSilence);
    send(next.message);
  }

  #finish(outcome: Outcome<A>): void {
    this.#cancelTimer();
    const asked = this.#asked;
    this.#asked = null;
    asked?.onOutcome(outcome);
    this.#next();
  }
}

/**
 * Pause before try number `attempt`, from 0: anywhere between the shortest and a bound that doubles each time. A server
 * that restarts loses all its readers in one instant; drawn over the whole range they come back spread out.
 */
export function backoffMs({ minMs, maxMs }: BackoffRange, attempt: number, random: () => number): number {
  // Doubling 0 would stay 0.
  const first = Math.max(minMs, 1);
  const bound = Math.min(maxMs, first * 2 ** (Math.min(attempt, MAX_DOUBLINGS) + 1));
  return minMs + random() * (bound - minMs);
}

const MAX_DOUBLINGS = 20;
