import type { EventHistory, TimedEvent } from '../feed/event-history.js';
import { RecordReader } from '../persistence/codec/record-codec.js';
import { frameEnd, FRAME_HEAD_BYTES, frameType, FrameType } from '../persistence/format/frame.js';
import { ClusterError } from './connection.js';
import { type ClusterLimits, firstPoint } from './engine-log.js';
import { type StreamPoint, StreamReader, takeThrough } from './log-follower.js';
import {
  type GroupMessage,
  type LogStream,
  messageAt,
  messagesFrom,
  type StreamMessage,
  type TermMessage,
} from './log-stream.js';

export interface StreamHistoryOptions {
  readonly stream: LogStream;
  readonly epoch: Buffer;
  readonly limits: Pick<ClusterLimits, 'clusterReadMessages' | 'clusterWindow'>;
  /** How far the replica has read the stream. */
  readonly at: () => StreamPoint;
}

/**
 * How far behind a TERM void messages can be, in windows of a leader. A deposed leader has at most one window of groups
 * in flight, so its last ones are less than a window behind the TERM that deposed it. Its successor can lose places to
 * them, and its own groups behind such a place are void as well: up to another window. Twice that is on the safe side.
 */
const VOID_WINDOWS = 4;

/**
 * Whether all that a reader looks for is behind the beginning of this message; null: the message does not tell. Goes
 * from true to false once in the log; void messages may be wrong about the groups beside them.
 */
type IsEarly = (message: StreamMessage) => boolean | null;

/**
 * Past events of the log, read from its stream, for readers who missed more than is kept in memory. Finds by bisection
 * where to begin, so that the cost of a reading does not grow with the log.
 */
export class StreamHistory implements EventHistory {
  /** The stream has the log from its first record on. */
  readonly since = 0;
  readonly #options: StreamHistoryOptions;
  readonly #voidMessages: number;

  constructor(options: StreamHistoryOptions) {
    this.#options = options;
    this.#voidMessages = VOID_WINDOWS * options.limits.clusterWindow;
  }

  async read(afterSeq: number, limit: number, throughIndex: number): Promise<readonly TimedEvent[]> {
    const read: TimedEvent[] = [];
    for await (const events of this.#eventsFrom(({ eventSeq }) => eventSeq <= afterSeq, throughIndex)) {
      read.push(...events.filter(({ event }) => event.seq > afterSeq));
      if (read.length >= limit) break;
    }
    return read.slice(0, limit);
  }

  async *readSince(sinceMs: number, throughIndex: number): AsyncGenerator<readonly TimedEvent[]> {
    const records = new RecordReader();
    const isEarly: IsEarly = (message) => {
      const [first] = message.type === 'GROUP' ? recordsIn(message) : [];
      return first === undefined ? null : records.readCommand(first).stamp.tsMs < sinceMs;
    };
    for await (const events of this.#eventsFrom(isEarly, throughIndex)) {
      yield events.filter(({ tsMs }) => tsMs >= sinceMs);
    }
  }

  /** Events that the replica applied, group by group; each group is checked again as it was the first time. */
  async *#eventsFrom(isEarly: IsEarly, throughIndex: number): AsyncGenerator<readonly TimedEvent[]> {
    const { stream, epoch, limits, at } = this.#options;
    const tip = at();
    const reader = new StreamReader(epoch, await this.#findStart(isEarly, tip));
    const records = new RecordReader();
    if (reader.at.point.index >= throughIndex) return;
    for await (const taken of takeThrough(tip.seq, reader, stream, limits.clusterReadMessages)) {
      if (taken.type === 'GROUP') yield eventsOf(taken.group.message, records);
      if (reader.at.point.index >= throughIndex) return;
    }
    throw new ClusterError(
      'DAMAGED',
      `the log stream ends with record ${reader.at.point.index}, before ${throughIndex}`,
    );
  }

  /** The place of the last message that is early, or one close before it. */
  async #findStart(isEarly: IsEarly, tip: StreamPoint): Promise<StreamPoint> {
    const { stream } = this.#options;
    let low = 0;
    let high = tip.seq + 1;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      let answer: boolean | null = null;
      for (let seq = middle; seq < high && answer === null; seq += 1) answer = isEarly(await messageAt(stream, seq));
      if (answer === true) low = middle;
      else high = middle;
    }
    return this.#pointBefore(low, tip);
  }

  /**
   * A point of the log before that message. A group tells what the log has come to before it, if it is not void. It is
   * void only close behind a TERM; there the reading begins with the TERM.
   */
  async #pointBefore(seq: number, tip: StreamPoint): Promise<StreamPoint> {
    const { stream } = this.#options;
    const reach = this.#voidMessages;
    // A void message may be early by groups that the log does not have. Those that it has in their place begin behind a
    // TERM within reach, so nothing is lost by going back that far.
    for (let at = seq; at > 0; at -= reach) {
      const message = await messageAt(stream, at);
      const { term } = message;
      if (message.type === 'TERM' || at <= term + reach) return this.#pointAfterTerm(term, tip);
      // With a TERM between its own and itself, the message could be void. None of its term is as far behind that TERM.
      const isOfTerm =
        tip.term === term || (at + reach <= tip.seq && (await messageAt(stream, at + reach)).term === term);
      if (isOfTerm) return pointBetween(await messageAt(stream, at - 1), message);
    }
    return firstPoint(this.#options.epoch);
  }

  /** Before the first group of that term; of a later one where it has none. */
  async #pointAfterTerm(term: number, tip: StreamPoint): Promise<StreamPoint> {
    const { stream, limits } = this.#options;
    let begun: TermMessage | null = null;
    for await (const message of messagesFrom(stream, term, tip.seq, limits.clusterReadMessages)) {
      if (message.type === 'TERM') begun = message;
      else if (message.term === begun?.term && message.group === begun.group + 1) return pointBetween(begun, message);
    }
    return tip;
  }
}

/** `last`: the TERM or group, part of the log, that has the last event before `next`. */
function pointBetween({ eventSeq }: StreamMessage, next: GroupMessage): StreamPoint {
  const { seq, term, firstIndex, group, previous } = next;
  const point = { index: firstIndex - 1, seq: eventSeq, group: group - 1, chain: Buffer.from(previous, 'hex') };
  return { seq: seq - 1, term, point };
}

function eventsOf(message: GroupMessage, reader: RecordReader): TimedEvent[] {
  const timed: TimedEvent[] = [];
  for (const record of recordsIn(message)) {
    const { stamp, events } = reader.read(record);
    for (const event of events) timed.push({ event, tsMs: stamp.tsMs });
  }
  return timed;
}

/** Payloads of the group's records. */
function* recordsIn({ bytes }: GroupMessage): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const end = frameEnd(bytes, at);
    if (end === -1) return;
    if (frameType(bytes, at) === FrameType.record) yield bytes.subarray(at + FRAME_HEAD_BYTES, end);
    at = end;
  }
}
