import type { CancelTimer } from '../engine/ports.js';
import type { NetSocket } from '../net/net.js';
import type { RfqPorts, SocketLimits } from './ports.js';
import { RateWindow } from './rate-window.js';
import { RfqQueue } from './rfq-queue.js';
import type { TopicIndex } from '../feed/topic-index.js';
import type { Channel, Narrowing } from '../feed/topics.js';

export interface Credentials {
  /** As the client sent it: verified again on each message, since a key can be revoked at any time. */
  readonly apiKey: string;
  readonly keyId: string;
}

/** What the hub knows of one open socket. */
export class Session {
  readonly socket: NetSocket;
  readonly rfqs: RfqQueue;
  /** Messages answered with ERROR. */
  readonly badMessages: RateWindow;
  /** One more than is allowed: reaching it is the first one too many. */
  readonly subscribes: RateWindow;
  /** Null until a good AUTH. */
  credentials: Credentials | null = null;
  /** Ends the wait for AUTH. */
  cancelDeadline: CancelTimer | null = null;
  readonly #topics: TopicIndex;
  readonly #subscribed = new Map<Channel, readonly string[]>();

  constructor(socket: NetSocket, topics: TopicIndex, limits: SocketLimits, ports: RfqPorts, chainId: string) {
    this.socket = socket;
    this.#topics = topics;
    this.rfqs = new RfqQueue(ports, chainId);
    this.badMessages = new RateWindow(limits.wsBadMessages, limits.wsBadMessageWindowMs);
    this.subscribes = new RateWindow(limits.wsSubscribes + 1, limits.wsSubscribeWindowMs);
  }

  /** Takes the place of what was subscribed on the channel. */
  subscribe(channel: Channel, keys: readonly string[], narrowing: Narrowing): void {
    this.unsubscribe(channel);
    const topics = keys.map((key) => this.#topics.join(key, narrowing));
    for (const topic of topics) this.socket.subscribe(topic);
    this.#subscribed.set(channel, topics);
  }

  unsubscribe(channel: Channel): void {
    for (const topic of this.#subscribed.get(channel) ?? []) {
      this.socket.unsubscribe(topic);
      this.#topics.leave(topic);
    }
    this.#subscribed.delete(channel);
  }

  /** The socket is gone: its library has forgotten its topics, the index has not. */
  end(): void {
    this.cancelDeadline?.();
    for (const topics of this.#subscribed.values()) {
      for (const topic of topics) this.#topics.leave(topic);
    }
    this.#subscribed.clear();
  }
}
