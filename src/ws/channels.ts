import { hashText } from '../feed/book-hash.js';
import type { Encoding } from '../feed/event-messages.js';
import type { Laggard } from '../feed/level-topics.js';
import type { JoinedTopic } from '../feed/topics.js';
import type { Heartbeat } from '../wire/feed-messages.js';
import type { FeedChannel } from '../wire/socket.js';
import { CatchUp, type CatchUpPorts, type CatchUpSteps } from './catch-up.js';

export interface FollowedChannelsPorts extends Omit<CatchUpPorts, 'isBinary'> {
  readonly encoding: Encoding;
}

/** State of a channel's reader: catching up, live, or live and too slow for every update. */
type ChannelPhase =
  | { readonly phase: 'CATCHING_UP'; readonly catchUp: CatchUp; readonly sentSeq: () => number }
  | { readonly phase: 'LIVE'; readonly topics: readonly JoinedTopic[] }
  | { readonly phase: 'LAGGING'; readonly topics: readonly [JoinedTopic]; readonly laggard: Laggard };

/** Where one socket stands with each channel that it follows. */
export class FollowedChannels {
  readonly #ports: FollowedChannelsPorts;
  readonly #following = new Map<FeedChannel, ChannelPhase>();

  constructor(ports: FollowedChannelsPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#following.size;
  }

  has(channel: FeedChannel): boolean {
    return this.#following.has(channel);
  }

  /** It has everything up to `start`, and is sent the rest before it follows what is published. */
  catchUp(channel: FeedChannel, start: number, steps: CatchUpSteps): void {
    const catchUp = new CatchUp({ ...this.#ports, isBinary: this.#ports.encoding.isBinary }, start, steps);
    // Of a book nothing is sent before everything that it missed is known.
    const sentSeq = () => (channel === 'ORDERBOOK' ? start : catchUp.at);
    this.#following.set(channel, { phase: 'CATCHING_UP', catchUp, sentSeq });
    catchUp.run();
  }

  /** It has everything: it follows what is published. */
  goLive(channel: FeedChannel, topics: readonly JoinedTopic[]): void {
    for (const { topic } of topics) this.#ports.socket.subscribe(topic);
    this.#following.set(channel, { phase: 'LIVE', topics });
  }

  drop(channel: FeedChannel): void {
    this.#forget(channel, (topic) => this.#ports.socket.unsubscribe(topic));
  }

  /** The socket is gone, and its network topics with it. */
  end(): void {
    for (const channel of [...this.#following.keys()]) this.#forget(channel, () => undefined);
  }

  /** False: it has not been sent the whole snapshot of a channel, so it has to request that again. */
  get canResume(): boolean {
    return [...this.#following.values()].every((each) => each.phase !== 'CATCHING_UP' || each.catchUp.canResume);
  }

  /** The reader has been sent every event up to here, on every channel. */
  get completeSeq(): number {
    const { feed } = this.#ports;
    let seq = feed.seq;
    for (const following of this.#following.values()) {
      if (following.phase === 'CATCHING_UP') seq = Math.min(seq, following.sentSeq());
      if (following.phase === 'LAGGING' && following.laggard.missedSeq !== null) {
        seq = Math.min(seq, following.laggard.sentSeq);
      }
    }
    return seq;
  }

  /** Hashes of the books followed, as they are after the last event; none while the reader is behind. */
  books(): Heartbeat['books'] {
    const { feed } = this.#ports;
    if (this.completeSeq < feed.seq) return [];
    return [...this.#following].flatMap(([channel, following]) => {
      if (following.phase === 'CATCHING_UP') return [];
      if (channel === 'TICKER' || channel === 'COVER' || channel === 'TRADES') return [];
      return following.topics.flatMap((topic) => {
        const hash = channel === 'ORDERBOOK' ? feed.levels.hashOf(topic) : feed.quotes.hashOf(topic);
        return hash === null ? [] : [{ key: topic.key, hash: hashText(hash) }];
      });
    });
  }

  /** Takes a reader of ORDERBOOK that leaves too much unread off its updates, and back on once it has read. */
  throttle(): void {
    const { socket, feed, limits, encoding } = this.#ports;
    const following = this.#following.get('ORDERBOOK');
    if (following === undefined || following.phase === 'CATCHING_UP' || socket.closed) return;
    const buffered = socket.bufferedBytes();
    const [joined] = following.topics;
    if (following.phase === 'LIVE' && buffered > limits.wsSlowBytes) {
      socket.unsubscribe(joined.topic);
      this.#following.set('ORDERBOOK', { phase: 'LAGGING', topics: [joined], laggard: feed.levels.lag(joined) });
    } else if (following.phase === 'LAGGING' && buffered <= limits.wsSlowBytes / 2) {
      const missed = feed.levels.resume(following.laggard, feed.seq, feed.tsMs);
      if (missed !== null) this.send(encoding.message(missed));
      this.goLive('ORDERBOOK', [joined]);
    }
  }

  send(message: Uint8Array): void {
    this.#ports.socket.send(message, this.#ports.encoding.isBinary);
  }

  #forget(channel: FeedChannel, unsubscribe: (topic: string) => void): void {
    const following = this.#following.get(channel);
    if (following === undefined) return;
    this.#following.delete(channel);
    if (following.phase === 'CATCHING_UP') return following.catchUp.stop();
    if (following.phase === 'LAGGING') this.#ports.feed.levels.forget(following.laggard);
    for (const joined of following.topics) {
      if (following.phase === 'LIVE') unsubscribe(joined.topic);
      joined.leave();
    }
  }
}
