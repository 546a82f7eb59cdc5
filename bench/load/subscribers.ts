import { crc32 } from 'node:zlib';
import { nowMicros } from '../servers/publish-schedule.js';
import {
  everything,
  mixedSubscription,
  publishedFrame,
  publishedQuote,
  type SubscriptionKind,
} from '../workload/published-quotes.js';
import { SocketConnection } from './socket-connection.js';

export interface Crowd {
  readonly port: number;
  readonly count: number;
  /** Mixed: every kind of subscription in turn; else each follows everything public. */
  readonly mixed: boolean;
  /** Key that the subscribers authenticate with; null: a bare server, which takes the name of a topic instead. */
  readonly apiKey: string | null;
}

export interface Expected {
  readonly first: number;
  readonly count: number;
}

export interface Delivered {
  /** To all subscribers together. */
  readonly messages: number;
  /** Subscribers that got something else than every message of theirs, in order and byte for byte. */
  readonly wrong: number;
  /**
   * Of each message, when the last subscriber had its last byte; microseconds of the system's monotonic clock. Only of
   * a crowd that is not mixed.
   */
  readonly lastAt: readonly number[];
}

const PARALLEL_HANDSHAKES = 64;
/** Without a byte for so long, what is missing is lost. */
const PATIENCE_MS = 10_000;

interface Subscriber {
  readonly connection: SocketConnection;
  readonly kind: SubscriptionKind;
  bytes: number;
  crc: number;
}

/** Subscribers of one server, all in this process. */
export class Subscribers {
  readonly #all: Subscriber[] = [];
  readonly #isMixed: boolean;
  #arrivals: Arrivals | null = null;
  #streams: ReadonlyMap<SubscriptionKind, Stream> = new Map();
  #unfinished = 0;
  #lastByteAt = 0;

  static async connect({ port, count, mixed, apiKey }: Crowd): Promise<Subscribers> {
    const subscribers = new Subscribers(mixed);
    let next = 0;
    const greet = async (): Promise<void> => {
      while (next < count) {
        const kind = mixed ? mixedSubscription(next) : everything;
        next += 1;
        const connection = await SocketConnection.open(port);
        if (apiKey !== null) {
          await connection.ask(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
          const filter = { type: 'FILTER', channel: 'QUOTES', body: kind.filter };
          const answer = (await connection.ask(JSON.stringify(filter))).toString();
          if (!answer.includes('Subscribed')) throw new Error(`Not subscribed: ${answer}`);
        } else {
          await connection.ask(kind.name);
        }
        subscribers.#all.push({ connection, kind, bytes: 0, crc: 0 });
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_HANDSHAKES }, greet));
    return subscribers;
  }

  private constructor(isMixed: boolean) {
    this.#isMixed = isMixed;
  }

  /** From now on the subscribers wait for these. Call it before the server publishes them. */
  expect({ first, count }: Expected): void {
    const quotes = Array.from({ length: count }, (_, i) => publishedQuote(first + i));
    const frames = quotes.map(publishedFrame);
    const streams = new Map<SubscriptionKind, Stream>();
    for (const { kind } of this.#all) {
      if (!streams.has(kind)) streams.set(kind, streamOf(frames.filter((_, i) => kind.takes(at(quotes, i)))));
    }
    const arrivals = this.#isMixed ? null : new Arrivals(frames, this.#all.length);
    this.#streams = streams;
    this.#arrivals = arrivals;
    this.#lastByteAt = performance.now();
    this.#unfinished = 0;
    for (const subscriber of this.#all) {
      const { bytes } = streamFor(streams, subscriber);
      subscriber.bytes = 0;
      subscriber.crc = 0;
      if (bytes > 0) this.#unfinished += 1;
      subscriber.connection.onBytes = (chunk) => {
        const before = subscriber.bytes;
        subscriber.bytes += chunk.length;
        subscriber.crc = crc32(chunk, subscriber.crc);
        this.#lastByteAt = performance.now();
        arrivals?.note(before, subscriber.bytes);
        if (before < bytes && subscriber.bytes >= bytes) this.#unfinished -= 1;
      };
    }
  }

  /** Resolves when every subscriber has as many bytes as it is to get, or nothing more comes. */
  async received(): Promise<Delivered> {
    const streams = this.#streams;
    while (this.#unfinished > 0 && performance.now() - this.#lastByteAt < PATIENCE_MS) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const good = this.#all.filter((subscriber) => {
      const { bytes, crc } = streamFor(streams, subscriber);
      return subscriber.bytes === bytes && subscriber.crc === crc;
    });
    const messages = good.reduce((sum, subscriber) => sum + streamFor(streams, subscriber).messages, 0);
    return { messages, wrong: this.#all.length - good.length, lastAt: this.#arrivals?.lastAt ?? [] };
  }

  close(): void {
    for (const { connection } of this.#all) connection.close();
  }
}

/** All that one subscriber is to get. */
interface Stream {
  readonly messages: number;
  readonly bytes: number;
  readonly crc: number;
}

function streamOf(frames: readonly Buffer[]): Stream {
  const bytes = frames.reduce((sum, { length }) => sum + length, 0);
  return { messages: frames.length, bytes, crc: frames.reduce((crc, frame) => crc32(frame, crc), 0) };
}

function streamFor(streams: ReadonlyMap<SubscriptionKind, Stream>, { kind }: Subscriber): Stream {
  const stream = streams.get(kind);
  if (stream === undefined) throw new Error(`Nothing is known of ${kind.name}`);
  return stream;
}

/**
 * Finds out from counts of bytes when each message had reached the last of so many subscribers that all get the same.
 */
class Arrivals {
  readonly #ends: number[] = [];
  readonly #places = new Map<number, number>();
  readonly #missing: number[];
  readonly lastAt: number[];

  constructor(frames: readonly Buffer[], subscribers: number) {
    let end = 0;
    for (const { length } of frames) this.#ends.push((end += length));
    this.#missing = frames.map(() => subscribers);
    this.lastAt = frames.map(() => NaN);
    // Where each subscriber stands is found by its count before the chunk, which is often the end of a message.
    this.#places.set(0, 0);
    this.#ends.forEach((each, i) => this.#places.set(each, i + 1));
  }

  note(before: number, after: number): void {
    const now = nowMicros();
    let i = this.#places.get(before) ?? this.#ends.findIndex((end) => end > before);
    for (; i >= 0 && i < this.#ends.length && at(this.#ends, i) <= after; i++) {
      this.#missing[i] = at(this.#missing, i) - 1;
      if (this.#missing[i] === 0) this.lastAt[i] = now;
    }
  }
}

function at<T>(items: readonly T[], i: number): T {
  const item = items[i];
  if (item === undefined) throw new RangeError(`There is no item ${i}`);
  return item;
}
