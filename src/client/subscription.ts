import type { ErrorCode } from '../wire/error-codes.js';
import type { FeedChannel } from '../wire/socket.js';
import { isCallResult } from '../wire/feed-layout.js';
import type { ServerMessageV2 } from '../wire/feed-messages.js';
import type { Connection, Outcome, Reply } from './connection.js';
import { Emitter } from './emitter.js';
import { RefusedError } from './errors.js';
import {
  type Acknowledgement,
  type ChannelState,
  filterMessage,
  type HeartbeatMessage,
  type NumberedMessage,
  type ResyncNotice,
  type Snapshot,
  type TickerEvent,
} from './messages.js';
import type { StopTimer } from './ports.js';

/** The server may grant the same FILTER later. */
const RETRIED: ReadonlySet<string | null> = new Set<ErrorCode>([
  'rate_limited',
  'too_many_channels',
  'too_many_covers',
]);
/** The key may not follow this: another connection does not change that. */
const FORBIDDEN: ReadonlySet<string | null> = new Set<ErrorCode>(['taker_not_proven', 'missing_scope']);

/** Repairs tried since the last good message: first a resume, then a snapshot, then another connection. */
type Tried = 'NOTHING' | 'RESUME' | 'SNAPSHOT';

/**
 * One channel of one connection. It subscribes, checks the number of each message and the hashes of each heartbeat,
 * resumes after a lost connection, and repairs gaps and wrong books.
 */
export class Subscription {
  readonly channel: FeedChannel;
  readonly states = new Emitter<FollowState>();
  readonly resyncs = new Emitter<ResyncCause>();
  /** The server's refusal; null: not refused. */
  refusal: RefusedError | null = null;
  #filter: object;
  readonly #content: ChannelState;
  readonly #positions = new Positions();
  #connection: Connection | null = null;
  #state: FollowState = 'WAITING';
  #keys: readonly string[] = [];
  #epoch: string | null = null;
  /** A FILTER is unanswered: messages that arrive now belong to the previous one. */
  #isAsking = false;
  #tried: Tried = 'NOTHING';
  /** FILTERs refused in a row that are sent again. */
  #retries = 0;
  #cancelRetry: StopTimer = () => undefined;
  readonly #awaited = new Set<string>();

  /** `filter`: the body of FILTER without its offset. */
  constructor(channel: FeedChannel, filter: object, content: ChannelState) {
    this.channel = channel;
    this.#filter = filter;
    this.#content = content;
  }

  get state(): FollowState {
    return this.#state;
  }

  /** Called when the connection is open and authorised: resumes, or starts. */
  start(connection: Connection): void {
    if (this.#isOver) return;
    this.#connection = connection;
    this.#resume();
  }

  /**
   * The server resumes with the new filter, so no message that both filters let through is lost or comes twice. For channels
   * without a book: the quotes of another key would be missing from it.
   */
  replaceFilter(filter: object): void {
    this.#filter = filter;
    if (this.#connection !== null) this.#resume();
  }

  /** The connection is lost. */
  pause(): void {
    if (this.#isOver) return;
    this.#leave();
    this.#isAsking = false;
    this.#enter('WAITING');
  }

  /** The server refuses the subscription for good. */
  refuse(error: RefusedError): void {
    if (this.#isOver) return;
    this.refusal = error;
    this.#leave();
    this.#enter('REFUSED');
  }

  close(): void {
    this.#unsubscribe();
    this.#leave();
    this.#enter('CLOSED');
  }

  take(message: ServerMessageV2): void {
    if (this.#connection === null || this.#isAsking) return;
    try {
      this.#read(message);
    } catch (error) {
      // The message counts as applied, but may have changed only a part of the book: start from a snapshot.
      if (this.#content.book !== null) this.#forget();
      throw error;
    }
  }

  #read(message: ServerMessageV2): void {
    if (isCallResult(message)) return;
    switch (message.type) {
      case 'INFO':
      case 'ERROR':
      case 'RFQ_STATUS':
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
      case 'COVER':
        if (!this.#keys.includes(message.key)) return;
        return this.#awaited.has(message.key) ? this.#takeSnapshot(message) : this.#content.apply(message);
      default:
        if (this.#keys.includes(message.key)) this.#takeNumbered(message);
    }
  }

  #leave(): void {
    this.#cancelRetry();
    this.#connection = null;
  }

  #unsubscribe(): void {
    const { channel } = this;
    this.#connection?.ask({ type: 'UNSUBSCRIBE', channel, body: null }, () => undefined);
  }

  /** In a final state. */
  get #isOver(): boolean {
    return this.#state === 'REFUSED' || this.#state === 'CLOSED';
  }

  /** Continues after what has arrived; starts anew where nothing has, or a snapshot is missing. */
  #resume(): void {
    this.#ask(this.#awaited.size > 0 ? null : this.#positions.complete);
  }

  /** `fromSeq` null: start from a snapshot, or from now if the channel keeps no book. */
  #ask(fromSeq: number | null): void {
    this.#cancelRetry();
    const { book } = this.#content;
    const epoch = book?.canResume === false ? null : this.#epoch;
    const place = fromSeq === null || epoch === null ? null : { epoch, fromSeq };
    this.#isAsking = true;
    const [connection, filter] = [this.#connection, this.#filter];
    connection?.ask(filterMessage(this.channel, filter, this.#content, place), (outcome) => {
      // The answer to a filter that was replaced meanwhile says nothing of the one in its place.
      if (this.#connection !== connection || this.#filter !== filter) return;
      this.#onOutcome(outcome, place?.fromSeq ?? null);
    });
    // After sending: a listener that closes the subscription then also sends UNSUBSCRIBE.
    if (place === null) this.#enter('SYNCING');
  }

  #onOutcome(outcome: Outcome<Reply>, fromSeq: number | null): void {
    if (!outcome.ok) {
      if (outcome.error instanceof RefusedError) this.#onRefusal(outcome.error, fromSeq !== null);
      return;
    }
    const { subscribed } = outcome.answer;
    this.#isAsking = false;
    this.#retries = 0;
    if (subscribed === null) return this.#connection?.restart();
    this.#keys = subscribed.keys;
    // If the server cannot resume from `fromSeq` it answers with another `seq`: start over from a snapshot.
    const goesOn = subscribed.seq === fromSeq && subscribed.epoch === this.#epoch;
    this.#epoch = subscribed.epoch;
    if (!goesOn) return this.#begin(subscribed);
    this.#positions.resumeFrom(subscribed.seq, subscribed.keys);
    this.#enter('LIVE');
  }

  /**
   * - A limit that may have room later: the FILTER is sent again, over the same connection.
   * - What the key may not follow is refused for good, and so is every other FILTER that was never granted.
   * - A snapshot that is too large, too: each retry would also cost the connection's other subscriptions.
   * - Any other refusal after it has started is retried over another connection.
   */
  #onRefusal(error: RefusedError, wasResuming: boolean): void {
    const { code } = error;
    if (RETRIED.has(code)) return this.#retryLater(error);
    if (this.#epoch === null) return this.refuse(error);
    const isTooLarge = code === 'snapshot_too_large';
    if (!isTooLarge && !FORBIDDEN.has(code)) return this.#connection?.restart();
    if (isTooLarge && this.#content.book === null && wasResuming) {
      this.#forget();
      this.#ask(null);
      return this.resyncs.emit('RESYNC');
    }
    this.#unsubscribe();
    this.refuse(error);
  }

  #retryLater({ retryAfterMs }: RefusedError): void {
    const [connection, filter] = [this.#connection, this.#filter];
    this.#enter('WAITING');
    // A listener may have closed it, or replaced its filter.
    if (connection === null || this.#connection !== connection || this.#filter !== filter) return;
    this.#cancelRetry = connection.afterPause(this.#retries, retryAfterMs ?? 0, () => this.#resume());
    this.#retries += 1;
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
    if (!this.#isOver) this.resyncs.emit('RESYNC');
  }

  #takeSnapshot(message: Snapshot): void {
    const { book } = this.#content;
    if (book === null) return;
    // The server sends a snapshot unasked to a reader that was too slow for the updates.
    if (!this.#awaited.has(message.key)) book.clear();
    const taken = book.takeSnapshot(message);
    if (taken === 'MORE') return;
    if (taken === 'WRONG') return this.#giveUp();
    this.#awaited.delete(message.key);
    this.#positions.set(message.key, message.seq);
    if (this.#awaited.size > 0) return;
    this.#enter('LIVE');
    // A listener may have closed it.
    if (!this.#isOver) book.onWhole();
  }

  #takeNumbered(message: NumberedMessage): void {
    // An update arrived before the snapshot that it follows.
    if (this.#awaited.size > 0) return this.#resync('GAP', null);
    switch (this.#positions.take(message.key, message.seq, message.prevSeq)) {
      case 'SEEN':
        return;
      case 'NEXT':
        this.#tried = 'NOTHING';
        return this.#content.apply(message);
      case 'GAP':
        // Resume from the key that is furthest behind: other keys may have lost messages as well.
        return this.#resync('GAP', this.#positions.complete);
    }
  }

  /** Each ticker is complete on its own: there is no order to check. */
  #takeWhole(message: TickerEvent): void {
    if (this.#awaited.size > 0) this.#resync('GAP', null);
    else this.#content.apply(message);
  }

  /** A heartbeat has hashes only if the server has sent everything of the books. */
  #compare({ books, seq }: HeartbeatMessage): void {
    const { book } = this.#content;
    if (book === null) return this.#positions.confirm(seq);
    const listed = books.filter(({ key }) => this.#keys.includes(key));
    if (listed.length > 0 && this.#awaited.size > 0) this.#resync('GAP', null);
    else if (listed.some(({ key, hash }) => book.hash(key) !== hash)) this.#resync('HASH', null);
    else if (listed.length === this.#keys.length) this.#positions.confirm(seq);
  }

  /** `fromSeq` null: a resume would not help. */
  #resync(why: ResyncCause, fromSeq: number | null): void {
    this.resyncs.emit(why);
    // A listener may have closed it.
    if (this.#isOver) return;
    if (this.#tried === 'SNAPSHOT') return this.#giveUp();
    const canResume = fromSeq !== null && this.#tried === 'NOTHING';
    this.#tried = canResume ? 'RESUME' : 'SNAPSHOT';
    if (canResume) return this.#ask(fromSeq);
    this.#forget();
    this.#ask(null);
  }

  /** The book is unusable: reconnect and start from a snapshot. */
  #giveUp(): void {
    this.#tried = 'NOTHING';
    this.#forget();
    this.#connection?.restart();
  }

  /** The next FILTER starts from a snapshot. */
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

/** Last number of each key of a subscription; decides whether a message is the next one, a duplicate or after a gap. */
export class Positions {
  readonly #at = new Map<string, number>();
  #confirmed = -1;

  /** Every message of the key up to `seq` has arrived. */
  set(key: string, seq: number): void {
    this.#at.set(key, seq);
  }

  /**
   * The server has sent everything of every key up to `seq`. The keys keep their numbers: a lost message must still
   * show as a gap.
   */
  confirm(seq: number): void {
    this.#confirmed = Math.max(this.#confirmed, seq);
  }

  /** The server resumes after `seq`, under these keys. */
  resumeFrom(seq: number, keys: readonly string[]): void {
    for (const key of [...this.#at.keys()]) if (!keys.includes(key)) this.#at.delete(key);
    for (const key of keys) this.#at.set(key, Math.max(this.#at.get(key) ?? seq, seq));
  }

  clear(): void {
    this.#at.clear();
    this.#confirmed = -1;
  }

  /**
   * `prevSeq` is the number of the key's previous message, or any number that every reader of the key had passed by
   * then. There is a gap only if it lies after our own number.
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

  /** Every message of all keys up to this number has arrived; null before the first. */
  get complete(): number | null {
    return this.#at.size === 0 ? null : Math.max(this.#confirmed, Math.min(...this.#at.values()));
  }
}

/** `SYNCING`: requested, incomplete. `LIVE`: complete and up to date. `REFUSED`: refused by the server; final. */
export type FollowState = 'WAITING' | 'SYNCING' | 'LIVE' | 'REFUSED' | 'CLOSED';

/** Why the client repairs a subscription: a message is missing, the book's hash differs, or the server sent RESYNC. */
export type ResyncCause = 'GAP' | 'HASH' | 'RESYNC';
