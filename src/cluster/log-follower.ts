import type { Clock } from '../engine/ports.js';
import { FRAME_HEAD_BYTES, frameType, FrameType } from '../persistence/format/frame.js';
import { FILE_FORMAT, type LogPoint, readSegmentHeader } from '../persistence/format/header.js';
import { readGroup } from '../persistence/log/segment-reader.js';
import { pause } from '../system/timers.js';
import { ClusterError } from './connection.js';
import {
  type GroupMessage,
  type LogStream,
  messageAt,
  messagesFrom,
  type StreamMessage,
  type TermMessage,
} from './log-stream.js';

/** How far a member has read the stream. */
export interface StreamPoint {
  /** The stream's last message; 0: none. */
  readonly seq: number;
  readonly term: number;
  /** How far the log has come there. */
  readonly point: LogPoint;
}

/** A group that follows on the one before, every byte of it checked by the log's hash chain. */
export interface CheckedGroup {
  readonly message: GroupMessage;
  readonly before: LogPoint;
  readonly after: LogPoint;
  /** Where in its bytes the frames of its records begin: behind a segment's HEADER. */
  readonly framesAt: number;
}

/** Meaning of a message to a reader that has everything before it. */
export type Taken =
  | { readonly type: 'GROUP'; readonly group: CheckedGroup }
  | { readonly type: 'TERM'; readonly term: TermMessage }
  /** A deposed leader's, or one behind a rejected one: it is not part of the log. */
  | { readonly type: 'VOID' }
  /** Not what its leader wrote: another replica may have it as it was. */
  | { readonly type: 'BROKEN' };

/**
 * Reads the messages of the stream in order, and says which of them are the log. A leader has several groups in flight,
 * each for its own place. When another leader's TERM takes one place, the group that was to get it is rejected, but
 * those behind it find the last sequence that they expect. So a group counts only where its term is the last one begun
 * and the chain value before it is the one that the log has come to; the others are void, for every reader alike.
 */
export class StreamReader {
  readonly #epoch: Buffer;
  #at: StreamPoint;

  constructor(epoch: Buffer, after: StreamPoint) {
    this.#epoch = epoch;
    this.#at = after;
  }

  get at(): StreamPoint {
    return this.#at;
  }

  /** `message` is the next one. Throws ClusterError: FOREIGN, NEWER_FORMAT. */
  take(message: StreamMessage): Taken {
    const { seq } = message;
    const { term, point } = this.#at;
    if (message.type === 'TERM') {
      this.#checkTerm(message);
      this.#at = { seq, term: seq, point };
      return { type: 'TERM', term: message };
    }
    if (message.term !== term || message.previous !== point.chain.toString('hex')) {
      this.#at = { seq, term, point };
      return { type: 'VOID' };
    }
    const { bytes } = message;
    const framesAt = beginOfFrames(bytes);
    if (framesAt === null) return { type: 'BROKEN' };
    const read = readGroup(bytes, 0, framesAt, point, this.#epoch);
    if ('reason' in read || read.end !== bytes.length) return { type: 'BROKEN' };
    this.#at = { seq, term, point: read.point };
    return { type: 'GROUP', group: { message, before: point, after: read.point, framesAt } };
  }

  #checkTerm({ seq, content }: TermMessage): void {
    if (content.epoch !== this.#epoch.toString('hex')) {
      throw new ClusterError('FOREIGN', `the leader of term ${seq} writes another log than this member reads`);
    }
    if (content.fileFormat > FILE_FORMAT) {
      throw new ClusterError(
        'NEWER_FORMAT',
        `${content.member} leads with records of format ${content.fileFormat}, this program reads up to ` +
          `${FILE_FORMAT}: upgrade this member before the leader`,
      );
    }
  }
}

/**
 * Has the reader take every message behind its place up to that sequence, which the stream has. Throws ClusterError:
 * DAMAGED where one is missing or broken, FOREIGN, NEWER_FORMAT.
 */
export async function* takeThrough(
  lastSeq: number,
  reader: StreamReader,
  stream: LogStream,
  readMessages: number,
): AsyncGenerator<Exclude<Taken, { readonly type: 'BROKEN' }>> {
  for await (const message of messagesFrom(stream, reader.at.seq + 1, lastSeq, readMessages)) {
    let taken = reader.take(message);
    if (taken.type === 'BROKEN') taken = reader.take(await messageAt(stream, message.seq));
    if (taken.type === 'BROKEN') {
      throw new ClusterError('DAMAGED', `message ${message.seq} of the log stream is broken`);
    }
    yield taken;
  }
}

export interface LogFollowerOptions {
  readonly epoch: Buffer;
  readonly after: StreamPoint;
  readonly clock: Clock;
  readonly limits: {
    /** Messages read at a time. */
    readonly clusterReadMessages: number;
    /** Messages kept that came behind a gap. */
    readonly clusterAheadMessages: number;
    /** How long a gap may stay before it is filled, and the pause before the next attempt. */
    readonly clusterGapMs: number;
    /** Attempts to read one message before it counts as lost. */
    readonly clusterAttempts: number;
  };
  readonly onGroup: (group: CheckedGroup) => void;
  readonly onTerm: (term: TermMessage) => void;
  /** While too much of what was handed on waits for its disk: resolves when there is room. Null, or absent: there is. */
  readonly whenRoom?: () => Promise<void> | null;
  /** Once: the follower has stopped. */
  readonly onFault: (error: Error) => void;
}

/**
 * Follows the log stream: hands on each message once, in order, when the log's hash chain vouches for it. Messages come
 * as the servers republish them; what is missing is read from the stream, first from any replica, then from its leader.
 */
export class LogFollower {
  readonly #stream: LogStream;
  readonly #options: LogFollowerOptions;
  readonly #ahead = new Map<number, StreamMessage>();
  #waiters: { readonly seq: number; readonly resolve: () => void }[] = [];
  readonly #reader: StreamReader;
  /** The highest sequence that is known to be in the stream. */
  #knownSeq: number;
  #filling = false;
  #isFillDue = false;
  #isStopped = false;
  #unsubscribe: () => void = () => undefined;

  constructor(stream: LogStream, options: LogFollowerOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#reader = new StreamReader(options.epoch, options.after);
    this.#knownSeq = options.after.seq;
  }

  get at(): StreamPoint {
    return this.#reader.at;
  }

  /** Messages of the stream that are known and not handed on yet. */
  get lag(): number {
    return Math.max(0, this.#knownSeq - this.at.seq);
  }

  start(): void {
    this.#unsubscribe = this.#stream.subscribe(
      (message) => this.#onMessage(message),
      (error) => this.#fail(error),
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#unsubscribe();
  }

  /** The stream has come so far: what does not come on its own is read. */
  heardOf(seq: number): void {
    if (seq <= this.#knownSeq) return;
    this.#knownSeq = seq;
    this.#fillSoon();
  }

  /** Resolves when everything up to `seq` was handed on; never once the follower has stopped. */
  async reach(seq: number): Promise<void> {
    if (this.at.seq >= seq) return;
    this.#knownSeq = Math.max(this.#knownSeq, seq);
    const reached = new Promise<void>((resolve) => this.#waiters.push({ seq, resolve }));
    void this.#fill();
    await reached;
  }

  #onMessage(message: StreamMessage): void {
    if (this.#isStopped || message.seq <= this.at.seq) return;
    this.#knownSeq = Math.max(this.#knownSeq, message.seq);
    // It is read again once there is room.
    if (this.#options.whenRoom?.() != null) return this.#fillSoon();
    if (message.seq === this.at.seq + 1 && this.#take(message)) return this.#takeAhead();
    if (this.#ahead.size < this.#options.limits.clusterAheadMessages) this.#ahead.set(message.seq, message);
    this.#fillSoon();
  }

  #takeAhead(): void {
    for (;;) {
      const next = this.#ahead.get(this.at.seq + 1);
      if (next === undefined) return;
      this.#ahead.delete(next.seq);
      if (!this.#take(next)) return this.#fillSoon();
    }
  }

  /** False when the message is not what its leader wrote: another copy of it may be. */
  #take(message: StreamMessage): boolean {
    if (this.#isStopped) return true;
    try {
      const taken = this.#reader.take(message);
      if (taken.type === 'BROKEN') return false;
      if (taken.type === 'GROUP') this.#options.onGroup(taken.group);
      else if (taken.type === 'TERM') this.#options.onTerm(taken.term);
    } catch (error) {
      this.#fail(error as Error);
      return true;
    }
    if (this.#waiters.length > 0) this.#wake();
    return true;
  }

  #wake(): void {
    const reached = this.#waiters.filter(({ seq }) => seq <= this.at.seq);
    this.#waiters = this.#waiters.filter(({ seq }) => seq > this.at.seq);
    for (const { resolve } of reached) resolve();
  }

  #fillSoon(): void {
    if (this.#filling || this.#isFillDue || this.#isStopped || this.at.seq >= this.#knownSeq) return;
    this.#isFillDue = true;
    this.#options.clock.after(this.#options.limits.clusterGapMs, () => {
      this.#isFillDue = false;
      void this.#fill();
    });
  }

  async #fill(): Promise<void> {
    if (this.#filling) return;
    this.#filling = true;
    let failures = 0;
    while (!this.#isStopped && this.at.seq < this.#knownSeq) {
      await this.#options.whenRoom?.();
      const from = this.at.seq;
      try {
        for (const message of await this.#stream.read(from + 1, this.#options.limits.clusterReadMessages)) {
          if (message.seq === this.at.seq + 1 && !this.#take(message)) break;
        }
        this.#takeAhead();
        if (this.at.seq === from && failures > 0) await this.#takeFromLeader(from + 1, failures);
      } catch (error) {
        if (error instanceof ClusterError) {
          this.#fail(error);
          break;
        }
      }
      failures = this.at.seq === from ? failures + 1 : 0;
      if (failures > 0) await pause(this.#options.clock, this.#options.limits.clusterGapMs);
    }
    this.#filling = false;
  }

  /** A replica may be behind, or have lost what it held. The stream's leader has the message, or nothing has. */
  async #takeFromLeader(seq: number, failures: number): Promise<void> {
    const message = await this.#stream.get(seq);
    if (this.at.seq !== seq - 1) return;
    if (message !== null && this.#take(message)) return;
    if (failures < this.#options.limits.clusterAttempts) return;
    const what = message === null ? 'is missing' : 'does not follow on the one before it';
    throw new ClusterError('DAMAGED', `message ${seq} of the log stream ${what}`);
  }

  #fail(error: Error): void {
    if (this.#isStopped) return;
    this.stop();
    this.#options.onFault(error);
  }
}

/** Behind the HEADER of a segment that begins with this group; null: there is a broken one. */
function beginOfFrames(bytes: Buffer): number | null {
  if (bytes.length < FRAME_HEAD_BYTES || frameType(bytes, 0) !== FrameType.header) return 0;
  const read = readSegmentHeader(bytes);
  return typeof read === 'string' ? null : read.frame.end;
}
