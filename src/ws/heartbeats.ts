import type { CancelTimer, Clock } from '../engine/ports.js';
import type { Encoding } from '../feed/event-messages.js';
import type { NetSocket } from '../net/net.js';
import type { Heartbeat } from '../wire/feed-messages.js';
import type { FeedReader } from './feed-reader.js';
import type { HeartbeatLimits } from './ports.js';

/** How both chains look from here. */
export type ChainsStatus = () => Heartbeat['chains'];

/** Where a reader's heartbeats go, and how they are written. */
export interface HeartbeatTarget {
  readonly socket: NetSocket;
  readonly encoding: Encoding;
}

/** Every reader of the feed: heartbeats for those of the subprotocols, and a look at who reads too slowly. */
export class Heartbeats {
  readonly #chains: ChainsStatus;
  readonly #clock: Clock;
  readonly #limits: HeartbeatLimits;
  readonly #readers = new Set<FeedReader>();
  readonly #beating = new Map<FeedReader, HeartbeatTarget>();
  #cancelBeat: CancelTimer | null = null;
  #cancelLook: CancelTimer | null = null;
  #publishedBytes = 0;

  constructor(chains: ChainsStatus, clock: Clock, limits: HeartbeatLimits) {
    this.#chains = chains;
    this.#clock = clock;
    this.#limits = limits;
  }

  add(reader: FeedReader): void {
    this.#readers.add(reader);
    this.#lookIn(this.#limits.wsCatchUpMs);
  }

  /** It gets a heartbeat every `wsHeartbeatMs` from now on, however often this is asked for. */
  beat(reader: FeedReader, beating: HeartbeatTarget): void {
    this.#beating.set(reader, beating);
    this.#cancelBeat ??= this.#clock.after(this.#limits.wsHeartbeatMs, () => this.#beatAll());
  }

  remove(reader: FeedReader): void {
    this.#readers.delete(reader);
    this.#beating.delete(reader);
    if (this.#beating.size === 0) this.#cancelBeat = cancelled(this.#cancelBeat);
    if (this.#readers.size === 0) this.#cancelLook = cancelled(this.#cancelLook);
  }

  /** A message of the feed went out: half of what a slow reader may leave unread is reason enough to look. */
  published(bytes: number): void {
    this.#publishedBytes += bytes;
    if (this.#publishedBytes * 2 < this.#limits.wsSlowBytes) return;
    this.#publishedBytes = 0;
    this.#cancelLook = cancelled(this.#cancelLook);
    this.#lookIn(0);
  }

  #lookIn(delayMs: number): void {
    if (this.#readers.size === 0) return;
    this.#cancelLook ??= this.#clock.after(delayMs, () => {
      this.#cancelLook = null;
      for (const reader of this.#readers) reader.followed.throttle();
      this.#lookIn(this.#limits.wsCatchUpMs);
    });
  }

  #beatAll(): void {
    const chains = this.#chains();
    const serverTimeMs = this.#clock.wallMs();
    for (const [reader, { socket, encoding }] of this.#beating) {
      if (socket.closed) continue;
      const books = reader.followed.books();
      const beat = { type: 'HEARTBEAT', seq: reader.followed.completeSeq, serverTimeMs, chains, books } as const;
      socket.send(encoding.message(beat), encoding.isBinary);
    }
    this.#cancelBeat = this.#clock.after(this.#limits.wsHeartbeatMs, () => this.#beatAll());
  }
}

function cancelled(cancel: CancelTimer | null): null {
  cancel?.();
  return null;
}
