import type { KeyHolder } from '../auth/key-store.js';
import type { CancelTimer } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Encoding, EncodingName } from '../feed/event-messages.js';
import type { Narrowing } from '../feed/filters.js';
import type { TopicIndex } from '../feed/topic-index.js';
import type { NetSocket } from '../net/net.js';
import { leastRetryMs } from '../wire/error-codes.js';
import type { CallResultType } from '../wire/feed-layout.js';
import type { ServerMessageV2 } from '../wire/feed-messages.js';
import type { Channel, FeedChannel } from '../wire/socket.js';
import type { ReaderPace } from './catch-up.js';
import type { Acknowledged, FeedReader } from './feed-reader.js';
import type { ChannelChange, MessageProblem } from './messages.js';
import type { SocketKeys, SocketLimits, SocketQuotas } from './ports.js';
import type { RfqQueue } from './rfq-queue.js';

export interface Credentials {
  /** As the client sent it: verified again on each message, since a key can be revoked at any time. */
  readonly apiKey: string;
  readonly keyId: string;
}

/** Parts that the sessions of a gateway share. */
export interface SessionPorts {
  readonly keys: Pick<SocketKeys, 'verify'>;
  readonly quotas: Pick<SocketQuotas, 'charge' | 'debtMs'>;
  readonly limits: SocketLimits;
  newReader(session: Session): FeedReader;
  newRfqQueue(): RfqQueue;
}

/**
 * State of one open socket. Most are of clients that follow one plain channel: what others need is made when they ask
 * for it (measured: half of such a socket's memory).
 */
export class Session {
  readonly socket: NetSocket;
  /** Null: the plain protocol. */
  readonly encoding: Encoding | null;
  readonly calls = new AnswerQueue();
  /** Messages answered with ERROR. */
  readonly badMessages: SlidingWindowLimiter;
  /** The limit is one more than is allowed: reaching it is the first refusal. */
  readonly subscribes: SlidingWindowLimiter;
  /** Rate limit of its key's rows and bytes. */
  readonly pace: ReaderPace;
  /** FILTERs and UNSUBSCRIBEs that wait for their turn, oldest first. */
  readonly waiting: { readonly change: ChannelChange; readonly id: string | undefined }[] = [];
  /** Ends the wait of the first of them. */
  cancelWait: CancelTimer | null = null;
  /** Null until a good AUTH. */
  credentials: Credentials | null = null;
  /** Ends the wait for AUTH, or for the end of the session that it named. */
  cancelDeadline: CancelTimer | null = null;
  readonly #ports: SessionPorts;
  readonly #topics: TopicIndex;
  readonly #subscribed = new Map<FeedChannel, readonly string[]>();
  #takers: Map<FeedChannel, Hex | '*'> | null = null;
  #reader: FeedReader | null = null;
  #rfqs: RfqQueue | null = null;

  /** `topics`: of plain QUOTES and RFQ, in the form that the socket receives them in. */
  constructor(socket: NetSocket, encoding: Encoding | null, topics: TopicIndex, ports: SessionPorts) {
    const { limits } = ports;
    this.socket = socket;
    this.encoding = encoding;
    this.#topics = topics;
    this.#ports = ports;
    this.pace = new KeyPace(this, ports);
    this.badMessages = new SlidingWindowLimiter(limits.wsBadMessages, limits.wsBadMessageWindowMs);
    this.subscribes = new SlidingWindowLimiter(limits.wsSubscribes + 1, limits.wsSubscribeWindowMs);
  }

  /** Its subscriptions to the feed: all channels of the subprotocols, and ORDERBOOK. */
  get reader(): FeedReader {
    return (this.#reader ??= this.#ports.newReader(this));
  }

  /** Null: it has followed no channel of the feed, and gets no heartbeats. */
  get startedReader(): FeedReader | null {
    return this.#reader;
  }

  get rfqs(): RfqQueue {
    return (this.#rfqs ??= this.#ports.newRfqQueue());
  }

  /** Takers whose private quotes or requests its channels show. */
  get takers(): Iterable<Hex | '*'> {
    return this.#takers?.values() ?? [];
  }

  get isPlain(): boolean {
    return this.encoding === null;
  }

  /** Channels followed. */
  get channels(): number {
    return this.#subscribed.size + (this.#reader?.followed.size ?? 0);
  }

  follows(channel: FeedChannel): boolean {
    return this.#subscribed.has(channel) || this.#reader?.followed.has(channel) === true;
  }

  /** `id`: of the message that is answered. False if the peer is too slow: the socket is being closed. */
  sendInfo(message: string, id?: string): boolean {
    return this.#reply({ type: 'INFO', body: null, message, ...(id !== undefined && { id }) });
  }

  /** `details`: of a call, what HTTP answers beside code and text. Plain clients receive the text alone. */
  sendError({ code, message, retryAfterMs }: MessageProblem, id?: string, details: object | null = null): boolean {
    if (this.encoding === null) return this.socket.send(JSON.stringify({ type: 'ERROR', body: null, message }), false);
    const waitMs = retryAfterMs ?? leastRetryMs(code);
    const body = waitMs === null ? details : { ...details, retryAfterMs: Math.ceil(waitMs) };
    return this.#reply({ type: 'ERROR', body, message, code, ...(id !== undefined && { id }) });
  }

  /** Answers a call of a subprotocol. */
  sendResult(type: CallResultType, body: unknown, id?: string): boolean {
    // The route that made the body is documented to answer with what the message's schema says.
    return this.#reply({ type, body, ...(id !== undefined && { id }) } as ServerMessageV2);
  }

  /** Subprotocols also receive `epoch` and the number to resume from. */
  acknowledge(message: string, { channel, keys, seq }: Acknowledged, epoch: string, id?: string): boolean {
    if (this.encoding === null) return this.sendInfo(message);
    const body = { channel, keys: [...keys], seq, epoch };
    return this.#reply({ type: 'INFO', body, message, ...(id !== undefined && { id }) });
  }

  /** Subscribes to plain QUOTES or RFQ; replaces the channel's previous subscription. */
  subscribe(channel: Channel, keys: readonly string[], narrowing: Narrowing): void {
    this.unsubscribe(channel);
    const topics = keys.map((key) => this.#topics.join(key, narrowing));
    for (const topic of topics) this.socket.subscribe(topic);
    this.#subscribed.set(channel, topics);
  }

  /** The channel shows the private quotes or requests of that taker; null: of none. */
  shows(channel: FeedChannel, taker: Hex | '*' | null): void {
    if (taker === null) this.#takers?.delete(channel);
    else (this.#takers ??= new Map()).set(channel, taker);
  }

  unsubscribe(channel: FeedChannel): void {
    this.#takers?.delete(channel);
    this.#reader?.followed.drop(channel);
    for (const topic of this.#subscribed.get(channel) ?? []) {
      this.socket.unsubscribe(topic);
      this.#topics.leave(topic);
    }
    this.#subscribed.delete(channel);
  }

  /** The socket is closed: the library has dropped its topics, the index must do so here. */
  end(): void {
    this.cancelDeadline?.();
    this.cancelWait?.();
    this.waiting.length = 0;
    this.#reader?.followed.end();
    for (const topics of this.#subscribed.values()) {
      for (const topic of topics) this.#topics.leave(topic);
    }
    this.#subscribed.clear();
  }

  #reply(reply: Parameters<Encoding['message']>[0]): boolean {
    if (this.encoding === null) return this.socket.send(JSON.stringify(reply), false);
    return this.socket.send(this.encoding.message(reply), this.encoding.isBinary);
  }
}

/** Charges the key that the socket has at the moment of each call; before AUTH, none. */
class KeyPace implements ReaderPace {
  readonly #session: Session;
  readonly #ports: SessionPorts;

  constructor(session: Session, ports: SessionPorts) {
    this.#session = session;
    this.#ports = ports;
  }

  debtMs(): number {
    const holder = this.#holder();
    return holder === null ? 0 : this.#ports.quotas.debtMs(holder);
  }

  charge(rows: number, bytes: number): void {
    const holder = this.#holder();
    if (holder !== null) this.#ports.quotas.charge(holder, rows, bytes);
  }

  #holder(): KeyHolder | null {
    const { credentials } = this.#session;
    const holder = credentials && this.#ports.keys.verify(credentials.apiKey);
    return typeof holder === 'string' ? null : holder;
  }
}

/** Counts events within a sliding window of time, up to a limit. Allocates nothing until the first event. */
export class SlidingWindowLimiter {
  readonly #limit: number;
  readonly #windowMs: number;
  /** Times of the last `limit` events, a ring once it is full. */
  readonly #timesMs: number[] = [];
  #next = 0;

  /** `limit`: at least 1. */
  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts one at `nowMs`, which never goes back; true when it is the `limit`-th, or more, of the window. */
  reaches(nowMs: number): boolean {
    this.#timesMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#limit;
    if (this.#timesMs.length < this.#limit) return false;
    const oldest = this.#timesMs[this.#next] ?? nowMs;
    return nowMs - oldest < this.#windowMs;
  }
}

/** Subprotocols by their name in `sec-websocket-protocol`. */
export const SUBPROTOCOLS = {
  'quotebook.v2.json': 'json',
  'quotebook.v2.msgpack': 'msgpack',
} as const satisfies Readonly<Record<string, EncodingName>>;

/** The plain protocol with pushes by symbols and in whole units. */
export const READABLE_SUBPROTOCOL = 'quotebook.readable';

/** The first requested subprotocol that is known; empty: the plain protocol (RFC 6455, 4.2.2). */
export function agreedProtocol(asked: string | undefined): string {
  const names = (asked ?? '').split(',').map((name) => name.trim());
  return names.find((name) => name === READABLE_SUBPROTOCOL || Object.hasOwn(SUBPROTOCOLS, name)) ?? '';
}

/** Null: a plain connection, in either form. */
export function encodingOf(protocol: string, encodings: Readonly<Record<EncodingName, Encoding>>): Encoding | null {
  const known: Readonly<Partial<Record<string, EncodingName>>> = SUBPROTOCOLS;
  const name = known[protocol];
  return name === undefined ? null : encodings[name];
}

const NOTHING_TO_AWAIT = Promise.resolve();

/** Answers one socket's calls in the order in which they came, while they are carried out at the same time. */
class AnswerQueue {
  #waiting = 0;
  #lastAnswer = NOTHING_TO_AWAIT;

  /** Calls without an answer. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Calls `answer` once the call and all before it have settled; `fail` where the call was rejected. */
  add<T>(call: Promise<T>, answer: (outcome: T) => void, fail: (fault: unknown) => void): void {
    this.#waiting += 1;
    const settled = call.then(
      (outcome) => () => answer(outcome),
      (fault: unknown) => () => fail(fault),
    );
    this.#lastAnswer = this.#lastAnswer.then(async () => {
      const send = await settled;
      this.#waiting -= 1;
      send();
    });
  }
}
