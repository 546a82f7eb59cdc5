import type { Clock } from '../engine/ports.js';
import { pause } from '../system/timers.js';
import { ClusterError } from './connection.js';
import { type LogStream, type ReplicatedGroup, WrongLastSequence } from './log-stream.js';

export interface GroupPublisherOptions {
  /** The leader's term, and the stream's last sequence: that of its TERM. */
  readonly term: number;
  readonly lastSeq: number;
  /** The log's last group by then. */
  readonly lastGroup: number;
  /** Groups in flight. */
  readonly window: number;
  /** Pause before the stream is asked again for what became of a group. */
  readonly retryMs: number;
  readonly clock: Clock;
  /** A quorum has everything up to this record. In order. */
  readonly onAcknowledged: (index: number) => void;
  /** Once: another engine leads, or the stream is not what it should be. Nothing is appended any more. */
  readonly onFault: (error: ClusterError) => void;
}

interface Waiter {
  readonly group: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface Place {
  seq: number;
  readonly group: ReplicatedGroup;
  isAcknowledged: boolean;
}

/** Acknowledgements whose places are remembered: a snapshot is made of a group that was acknowledged moments ago. */
const MARKS = 1_024;

/**
 * Appends a leader's groups to the log stream. Each has a place: the sequence that follows the one before. Every append
 * names the sequence before its place as the stream's last, so that the servers reject it once another leader has
 * appended anything. Up to `window` groups are in flight, and they are acknowledged in order: behind one that was
 * rejected none is, even where the servers took it (StreamReader tells why they may, and that readers pass it over).
 * When one was rejected, or its outcome is unknown, nothing more is sent before the stream itself has said which of them
 * it holds.
 */
export class GroupPublisher {
  readonly #stream: LogStream;
  readonly #options: GroupPublisherOptions;
  /** In order; the first `#sent` of them are in flight. */
  readonly #places: Place[] = [];
  #sent = 0;
  #nextSeq: number;
  #waitingBytes = 0;
  #unsettled = 0;
  #isOutcomeUnknown = false;
  #isOver = false;
  #acknowledgedSeq: number;
  #acknowledgedGroup: number;
  /** Where the last groups are in the stream; rising. */
  readonly #marks: { readonly group: number; readonly seq: number }[] = [];
  #waiters: Waiter[] = [];

  constructor(stream: LogStream, options: GroupPublisherOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#nextSeq = options.lastSeq + 1;
    this.#acknowledgedSeq = options.lastSeq;
    this.#acknowledgedGroup = options.lastGroup;
  }

  /** Groups, and their bytes, that no quorum has acknowledged yet. */
  get waiting(): { readonly groups: number; readonly bytes: number } {
    return { groups: this.#places.length, bytes: this.#waitingBytes };
  }

  /** The last sequence up to which everything is acknowledged. */
  get acknowledgedSeq(): number {
    return this.#acknowledgedSeq;
  }

  append(group: ReplicatedGroup): void {
    this.#places.push({ seq: this.#nextSeq, group, isAcknowledged: false });
    this.#nextSeq += 1;
    this.#waitingBytes += group.bytes.length;
    this.#send();
  }

  /**
   * A place in the stream that is not behind that group, and close before it: a reader that begins there with the log's
   * state after the group passes over what is older.
   */
  placeBefore(group: number): number {
    return this.#marks.findLast((mark) => mark.group <= group)?.seq ?? this.#options.term;
  }

  /** Resolves when all that was appended is acknowledged; rejects when nothing more is sent. */
  drain(): Promise<void> {
    return this.acknowledged(this.#places.at(-1)?.group.after.group ?? this.#acknowledgedGroup);
  }

  /** Resolves when a quorum has that group; rejects as `drain`. */
  acknowledged(group: number): Promise<void> {
    if (group <= this.#acknowledgedGroup) return Promise.resolve();
    if (this.#isOver) return Promise.reject(stopped());
    return new Promise((resolve, reject) => this.#waiters.push({ group, resolve, reject }));
  }

  /** Nothing is sent or reported any more. */
  stop(): void {
    this.#isOver = true;
    for (const { reject } of this.#waiters.splice(0)) reject(stopped());
  }

  #send(): void {
    if (this.#isOver || this.#isOutcomeUnknown) return;
    while (this.#sent < this.#places.length && this.#sent < this.#options.window) {
      const place = this.#places[this.#sent];
      if (place === undefined) return;
      this.#sent += 1;
      this.#unsettled += 1;
      void this.#sendOne(place);
    }
  }

  async #sendOne(place: Place): Promise<void> {
    try {
      const seq = await this.#stream.appendGroup(place.group, this.#options.term, place.seq - 1);
      if (seq === place.seq) place.isAcknowledged = true;
      else this.#fail('DAMAGED', `the stream gave sequence ${seq} to what belongs to ${place.seq}`);
    } catch (error) {
      if (error instanceof ClusterError) this.#fail(error.code, error.message);
      else this.#isOutcomeUnknown = true;
    }
    this.#unsettled -= 1;
    this.#acknowledge();
    if (this.#isOutcomeUnknown && this.#unsettled === 0) void this.#settle();
    else this.#send();
  }

  #acknowledge(): void {
    if (this.#isOver) return;
    let count = 0;
    while (this.#places[count]?.isAcknowledged === true) count += 1;
    if (count === 0) return;
    const acknowledged = this.#places.splice(0, count);
    this.#sent -= count;
    for (const { group } of acknowledged) this.#waitingBytes -= group.bytes.length;
    const last = acknowledged.at(-1);
    if (last === undefined) return;
    this.#acknowledgedSeq = last.seq;
    this.#acknowledgedGroup = last.group.after.group;
    this.#marks.push({ group: this.#acknowledgedGroup, seq: last.seq });
    if (this.#marks.length > MARKS) this.#marks.shift();
    this.#options.onAcknowledged(last.group.after.index);
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = waiters.filter(({ group }) => group > this.#acknowledgedGroup);
    for (const { group, resolve } of waiters) if (group <= this.#acknowledgedGroup) resolve();
  }

  /** Asks the stream which of the groups it holds, until it answers, and sends those that it does not hold again. */
  async #settle(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#readBack();
        break;
      } catch (error) {
        if (error instanceof ClusterError) return this.#fail(error.code, error.message);
        await pause(this.#options.clock, this.#options.retryMs);
      }
    }
    if (this.#isOver) return;
    this.#acknowledge();
    this.#sent = 0;
    this.#isOutcomeUnknown = false;
    this.#send();
  }

  /**
   * Reads what the stream holds behind the last group that is known to be there, as every reader does: a group of this
   * term counts where it follows on the one before; what counts for none is void. The groups that are not there get the
   * places behind all that.
   */
  async #readBack(): Promise<void> {
    const { term } = this.#options;
    const lastSeq = await this.#stream.lastSequence();
    let found = 0;
    for (let seq = this.#acknowledgedSeq + 1; seq <= lastSeq; seq += 1) {
      const message = await this.#stream.get(seq);
      if (message === null) throw new Error(`message ${seq} is not there yet`);
      if (message.term > term) {
        const leader = message.type === 'TERM' ? message.content.member : `the leader of term ${message.term}`;
        throw new ClusterError('DEPOSED', `${leader} leads: it appended message ${seq} of the log stream`);
      }
      const next = this.#places[found];
      if (message.type === 'TERM' || message.term !== term || next === undefined) continue;
      if (message.previous !== next.group.before.chain.toString('hex')) continue;
      if (!message.bytes.equals(next.group.bytes)) {
        throw new ClusterError('DAMAGED', `message ${seq} of the log stream is not what was appended`);
      }
      next.seq = seq;
      found += 1;
    }
    this.#nextSeq = lastSeq + 1;
    for (const [at, place] of this.#places.entries()) {
      place.isAcknowledged = at < found;
      if (at < found) continue;
      place.seq = this.#nextSeq;
      this.#nextSeq += 1;
    }
  }

  #fail(code: ClusterError['code'], message: string): void {
    if (this.#isOver) return;
    this.stop();
    this.#options.onFault(new ClusterError(code, message));
  }
}

function stopped(): ClusterError {
  return new ClusterError('DEPOSED', 'this engine appends nothing more to the log stream');
}

/** Appends a TERM, whose sequence is the term. Null: the stream went on meanwhile. */
export async function appendTerm(
  stream: LogStream,
  clock: Clock,
  retryMs: number,
  attempts: number,
  ...[content, at, expectedLast]: Parameters<LogStream['appendTerm']>
): Promise<number | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await stream.appendTerm(content, at, expectedLast);
    } catch (error) {
      if (error instanceof ClusterError) throw error;
      // Also after a rejection: an earlier attempt may have been what the stream went on by.
      const found = await stream.get(expectedLast + 1).catch(() => null);
      if (found?.type === 'TERM' && found.content.nonce === content.nonce) return found.seq;
      if (found !== null || error instanceof WrongLastSequence) return null;
      if (attempt === attempts) throw new ClusterError('UNREACHABLE', 'the log stream takes no TERM', { cause: error });
      await pause(clock, retryMs);
    }
  }
}
