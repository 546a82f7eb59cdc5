import type { FeedChannel } from '../wire/socket.js';
import type { ServerMessageV2 } from '../wire/feed-messages.js';
import type { Connection, Outcome, Reply } from './connection.js';
import { RefusedError } from './errors.js';
import {
  type Acknowledgement,
  type ChannelState,
  filterMessage,
  type HeartbeatMessage,
  isRateLimited,
  isSnapshotTooLarge,
  type NumberedMessage,
  type ResyncNotice,
  type Snapshot,
  type TickerFact,
} from './messages.js';
import { Listeners } from './ports.js';

/**
 * How much has been tried since the last good message: going on from before it, then a snapshot, then another
 * connection.
 */
type Tried = 'NOTHING' | 'RESUME' | 'SNAPSHOT';

/**
 * One channel of one connection: asks for it, checks the number of each message and the hash of each heartbeat, goes on
 * after a lost connection where it was, and puts right what went wrong.
 */
export class Subscription {
  readonly channel: FeedChannel;
  readonly states = new Listeners<FollowState>();
  readonly healings = new Listeners<Healing>();
  /** Why the server refused; null: it did not. */
  refusal: RefusedError | null = null;
  readonly #filter: object;
  readonly #content: ChannelState;
  readonly #positions = new Positions();
  #connection: Connection | null = null;
  #state: FollowState = 'WAITING';
  #keys: readonly string[] = [];
  #epoch: string | null = null;
  /** What comes before the answer belongs to what was asked before. */
  #isAsking = false;
  #tried: Tried = 'NOTHING';
  readonly #awaited = new Set<string>();

  /** `filter`: the body of FILTER but for where to begin. */
  constructor(channel: FeedChannel, filter: object, content: ChannelState) {
    this.channel = channel;
    this.#filter = filter;
    this.#content = content;
  }

  get state(): FollowState {
    return this.#state;
  }

  /** The connection is open and authorised: goes on where it was, or begins. */
  start(connection: Connection): void {
    if (this.#isOver) return;
    this.#connection = connection;
    this.#ask(this.#awaited.size > 0 ? null : this.#positions.complete);
  }

  /** The connection is lost. */
  pause(): void {
    if (this.#isOver) return;
    this.#connection = null;
    this.#isAsking = false;
    this.#enter('WAITING');
  }

  /** The server will not have it, on this connection or another. */
  refuse(error: RefusedError): void {
    if (this.#isOver) return;
    this.refusal = error;
    this.#connection = null;
    this.#enter('REFUSED');
  }

  close(): void {
    this.#unsubscribe();
    this.#connection = null;
    this.#enter('CLOSED');
  }

  take(message: ServerMessageV2): void {
    if (this.#connection === null || this.#isAsking) return;
    try {
      this.#read(message);
    } catch (error) {
      // It counts as taken, and may have changed the book by half.
      if (this.#content.book !== null) this.#forget();
      throw error;
    }
  }

  #read(message: ServerMessageV2): void {
    switch (message.type) {
      case 'INFO':
      case 'ERROR':
        return;
      case 'HEARTBEAT':
        return this.#compare(message);
      case 'RESYNC':
        if (message.channel === this.channel) this.#startAnew(message);
        return;
      case 'QUOTES_SNAPSHOT':
      case 'ORDERBOOK_SNAPSHOT':
      case 'TICKER_SNAPSHOT':
        if (this.#keys.includes(message.key)) this.#takeSnapshot(message);
        return;
      case 'TICKER':
        if (this.#keys.includes(message.key)) this.#takeWhole(message);
        return;
      default:
        if (this.#keys.includes(message.key)) this.#takeNumbered(message);
    }
  }

  #unsubscribe(): void {
    const { channel } = this;
    this.#connection?.ask({ type: 'UNSUBSCRIBE', channel, body: null }, () => undefined);
  }

  /** Nothing more becomes of it. */
  get #isOver(): boolean {
    return this.#state === 'REFUSED' || this.#state === 'CLOSED';
  }

  /** `fromSeq` null: from a snapshot, or without a book from now. */
  #ask(fromSeq: number | null): void {
    const { book } = this.#content;
    const epoch = book?.canResume === false ? null : this.#epoch;
    const place = fromSeq === null || epoch === null ? null : { epoch, fromSeq };
    this.#isAsking = true;
    const connection = this.#connection;
    connection?.ask(filterMessage(this.channel, this.#filter, this.#content, place), (outcome) => {
      if (this.#connection === connection) this.#onOutcome(outcome, place?.fromSeq ?? null);
    });
    // After the asking: whoever closes it on hearing this has it unsubscribed again.
    if (place === null) this.#enter('SYNCING');
  }

  #onOutcome(outcome: Outcome<Reply>, fromSeq: number | null): void {
    if (!outcome.ok) {
      if (outcome.error instanceof RefusedError) this.#onRefusal(outcome.error, fromSeq !== null);
      return;
    }
    const { subscribed } = outcome.answer;
    this.#isAsking = false;
    if (subscribed === null) return this.#connection?.restart();
    this.#keys = subscribed.keys;
    // Whoever may not go on is told so by a place that is not his.
    const goesOn = subscribed.seq === fromSeq && subscribed.epoch === this.#epoch;
    this.#epoch = subscribed.epoch;
    if (!goesOn) return this.#begin(subscribed);
    this.#positions.resumeFrom(subscribed.seq);
    this.#enter('LIVE');
  }

  /**
   * What was never had is refused for good, unless there were only too many messages at once. That, and what was had
   * before, is asked for on another connection: but not a snapshot that is too large, which would be asked for again and
   * again, with all else that the connection carries.
   */
  #onRefusal(error: RefusedError, wasResuming: boolean): void {
    if (this.#epoch === null && !isRateLimited(error)) return this.refuse(error);
    if (!isSnapshotTooLarge(error)) return this.#connection?.restart();
    if (this.#content.book === null && wasResuming) {
      this.#forget();
      this.#ask(null);
      return this.healings.emit('RESYNC');
    }
    this.#unsubscribe();
    this.refuse(error);
  }

  #begin({ keys, seq }: Pick<Acknowledgement, 'keys' | 'seq'>): void {
    const { book } = this.#content;
    this.#positions.clear();
    this.#awaited.clear();
    book?.clear();
    for (const key of keys) {
      if (book === null) this.#positions.set(key, seq);
      else this.#awaited.add(key);
    }
    this.#enter(book === null ? 'LIVE' : 'SYNCING');
  }

  #startAnew({ keys, seq, epoch }: ResyncNotice): void {
    this.#keys = keys;
    this.#epoch = epoch;
    this.#begin({ keys, seq });
    if (!this.#isOver) this.healings.emit('RESYNC');
  }

  #takeSnapshot(message: Snapshot): void {
    const { book } = this.#content;
    if (book === null) return;
    // A reader of the book that was too slow is sent a snapshot without having asked for one.
    if (!this.#awaited.has(message.key)) book.clear();
    const taken = book.takeSnapshot(message);
    if (taken === 'MORE') return;
    if (taken === 'WRONG') return this.#giveUp();
    this.#awaited.delete(message.key);
    this.#positions.set(message.key, message.seq);
    if (this.#awaited.size > 0) return;
    this.#enter('LIVE');
    // Whoever heard it may have closed it.
    if (!this.#isOver) book.onWhole();
  }

  #takeNumbered(message: NumberedMessage): void {
    // What follows a snapshot has come, and the snapshot has not.
    if (this.#awaited.size > 0) return this.#heal('GAP', null);
    switch (this.#positions.take(message.key, message.seq, message.prevSeq)) {
      case 'SEEN':
        return;
      case 'NEXT':
        this.#tried = 'NOTHING';
        return this.#content.apply(message);
      case 'GAP':
        // From the key that is furthest behind: of another more may be lost than this one shows.
        return this.#heal('GAP', this.#positions.complete);
    }
  }

  /** Counts by itself, whatever came before it. */
  #takeWhole(message: TickerFact): void {
    if (this.#awaited.size > 0) this.#heal('GAP', null);
    else this.#content.apply(message);
  }

  /** A heartbeat names the books only when everything has been sent of them. */
  #compare({ books, seq }: HeartbeatMessage): void {
    const { book } = this.#content;
    if (book === null) return this.#positions.confirm(seq);
    const told = books.filter(({ key }) => this.#keys.includes(key));
    if (told.length > 0 && this.#awaited.size > 0) this.#heal('GAP', null);
    else if (told.some(({ key, hash }) => book.hash(key) !== hash)) this.#heal('HASH', null);
    else if (told.length === this.#keys.length) this.#positions.confirm(seq);
  }

  /** `fromSeq` null: going on would not help. */
  #heal(why: Healing, fromSeq: number | null): void {
    this.healings.emit(why);
    // Whoever heard it may have closed it.
    if (this.#isOver) return;
    if (this.#tried === 'SNAPSHOT') return this.#giveUp();
    const canResume = fromSeq !== null && this.#tried === 'NOTHING';
    this.#tried = canResume ? 'RESUME' : 'SNAPSHOT';
    if (canResume) return this.#ask(fromSeq);
    this.#forget();
    this.#ask(null);
  }

  /** What is in the book is nothing to go on with, on this connection or the next. */
  #giveUp(): void {
    this.#tried = 'NOTHING';
    this.#forget();
    this.#connection?.restart();
  }

  /** Whatever is asked for next begins with a snapshot. */
  #forget(): void {
    this.#positions.clear();
  }

  #enter(state: FollowState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.states.emit(state);
  }
}

export type Arrival = 'NEXT' | 'SEEN' | 'GAP';

/** How far each key of a subscription has come; says of each message whether it is the next one. */
export class Positions {
  readonly #at = new Map<string, number>();
  #confirmed = -1;

  /** Everything of the key up to `seq` is known. */
  set(key: string, seq: number): void {
    this.#at.set(key, seq);
  }

  /**
   * The server has sent everything of every key up to here. It moves no key: what was lost on the way must still show.
   */
  confirm(seq: number): void {
    this.#confirmed = Math.max(this.#confirmed, seq);
  }

  /** The server sends what came after `seq`, and what it sends follows on that. */
  resumeFrom(seq: number): void {
    for (const [key, at] of this.#at) this.#at.set(key, Math.max(at, seq));
  }

  clear(): void {
    this.#at.clear();
    this.#confirmed = -1;
  }

  /**
   * `prevSeq` is the key's message before this one, or any number that every reader of the key was past by then: a gap
   * is only what lies after our own place.
   */
  take(key: string, seq: number, prevSeq: number): Arrival {
    const at = this.#at.get(key);
    if (at === undefined || prevSeq > at) {
      this.#confirmed = -1;
      return 'GAP';
    }
    if (seq <= at) return 'SEEN';
    this.#at.set(key, seq);
    return 'NEXT';
  }

  /** Everything of all keys up to here is known; null before the first. */
  get complete(): number | null {
    return this.#at.size === 0 ? null : Math.max(this.#confirmed, Math.min(...this.#at.values()));
  }
}

/** `SYNCING`: asked for, not whole yet. `LIVE`: whole, and following. `REFUSED`: the server would not have it; over. */
export type FollowState = 'WAITING' | 'SYNCING' | 'LIVE' | 'REFUSED' | 'CLOSED';

/**
 * What was wrong, and is put right: a message was missing; the book was another than the server's; the server had to
 * start anew.
 */
export type Healing = 'GAP' | 'HASH' | 'RESYNC';
