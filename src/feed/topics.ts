import type { TimedEvent } from './event-history.js';
import type { Encoding, EncodingName, MessageTemplate } from './event-messages.js';

/** `NetServer.publish`: to every socket subscribed to `topic`, in the order of the calls. */
export type Publish = (topic: string, message: Uint8Array, isBinary: boolean) => void;

/** How messages of the feed go out: written in each encoding, by the network's topics. */
export interface Outlet {
  readonly encodings: readonly Encoding[];
  readonly publish: Publish;
}

/** The topics of one channel. */
interface ChannelTopics {
  readonly outlet: Outlet;
  /** A reader leaves; a topic without any is forgotten. */
  leave(joined: JoinedTopic): void;
}

/** A topic in one encoding: one key with one narrowing. All of its readers share the object. */
export class JoinedTopic {
  /** As the network knows it. */
  readonly topic: string;
  readonly encoding: EncodingName;
  readonly #readers: Readers;

  constructor(readers: Readers, encoding: EncodingName) {
    this.topic = networkTopic(encoding, readers.name);
    this.encoding = encoding;
    this.#readers = readers;
  }

  get name(): string {
    return this.#readers.name;
  }

  get key(): string {
    return this.#readers.key;
  }

  /** One of its readers leaves. */
  leave(): void {
    this.#readers.channel.leave(this);
  }
}

/** The readers of one topic. */
export class Readers {
  readonly channel: ChannelTopics;
  readonly key: string;
  readonly name: string;
  readonly #joined: Record<EncodingName, JoinedTopic | null> = { json: null, msgpack: null };
  readonly #counts: Record<EncodingName, number> = { json: 0, msgpack: 0 };

  /** `name`: of the topic among those of the channel, which a key is where there is no narrowing. */
  constructor(channel: ChannelTopics, key: string, name = key) {
    this.channel = channel;
    this.key = key;
    this.name = name;
  }

  get isEmpty(): boolean {
    return this.#counts.json + this.#counts.msgpack === 0;
  }

  has(encoding: EncodingName): boolean {
    return this.#counts[encoding] > 0;
  }

  join(encoding: EncodingName): JoinedTopic {
    this.#counts[encoding] += 1;
    return (this.#joined[encoding] ??= new JoinedTopic(this, encoding));
  }

  leave(encoding: EncodingName): void {
    this.#counts[encoding] -= 1;
    if (this.#counts[encoding] === 0) this.#joined[encoding] = null;
  }

  /** To those who read this encoding. */
  send(encoding: Encoding, message: Uint8Array): void {
    const joined = this.#joined[encoding.name];
    if (joined !== null) this.channel.outlet.publish(joined.topic, message, encoding.isBinary);
  }

  /** To all of them, written once for each encoding that somebody reads. */
  publish(write: (encoding: Encoding) => Uint8Array): void {
    for (const encoding of this.channel.outlet.encodings) {
      if (this.has(encoding.name)) this.send(encoding, write(encoding));
    }
  }
}

/** A topic whose messages are numbered. */
export interface NumberedTopic {
  readonly readers: Readers;
  /** Number of the last message; before the first, of the last event when the topic came to be. */
  lastSeq: number;
}

/** Publishes an event to its topics, written once for each encoding that somebody reads. */
export function publishEvent({ encodings }: Outlet, topics: readonly NumberedTopic[], timed: TimedEvent): void {
  for (const encoding of encodings) {
    let placedIn: MessageTemplate | null | undefined;
    for (const { readers, lastSeq } of topics) {
      if (!readers.has(encoding.name)) continue;
      placedIn ??= encoding.event(timed);
      if (placedIn === null) return;
      readers.send(encoding, placedIn({ key: readers.key, prevSeq: lastSeq }));
    }
  }
  for (const topic of topics) topic.lastSeq = timed.event.seq;
}

/** Plain readers' topics have no such prefix. */
function networkTopic(encoding: EncodingName, name: string): string {
  return `${encoding}:${name}`;
}
