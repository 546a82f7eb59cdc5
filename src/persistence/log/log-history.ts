import type { JournalRecord } from '../../engine/ports.js';
import { RecordReader } from '../codec/record-codec.js';
import { type Disk, isMissing, readStart } from '../disk/disk.js';
import { segmentName, segmentNumbers } from '../format/file-names.js';
import { FRAME_HEAD_BYTES, frameEnd, FrameType, frameType, isUnused, readFrame } from '../format/frame.js';
import { readCommit } from '../format/header.js';
import { damaged, type SegmentStart, segmentStart, wholeFrame } from './segment-reader.js';

/** In the beginning of a segment: its head and its first record, however many quotes that states anew. */
const FIRST_RECORD_BYTES = 1 << 20;
/** Records decoded at once of a large group: a reader of a few events need not wait until all of it is decoded. */
const RECORDS_AT_A_TIME = 100;

/** Records of a part of the log that a search has gone through. */
export interface SearchedPiece {
  /** Those that were found. */
  readonly records: readonly JournalRecord[];
  /** The last event of the part. */
  readonly seq: number;
  /** Of all records of the part. */
  readonly bytes: number;
}

/** Past records, for readers who missed their events. Reads beside the writer. */
export class LogHistory {
  readonly #disk: Disk;
  readonly #epoch: Buffer;
  readonly #known: KnownSegments;
  readonly #places = new SegmentIndex();

  constructor(disk: Disk, epoch: Buffer) {
    this.#disk = disk;
    this.#known = new KnownSegments(disk);
    this.#epoch = epoch;
  }

  /** Events after this one are all in the log; those up to it have been dropped. */
  async droppedThroughSeq(): Promise<number> {
    const [oldest] = await this.#segments();
    return oldest?.first.seq ?? 0;
  }

  /**
   * The records with events after `seq`, up to record `throughIndex`, which has to be durable; in order, a part of a
   * group at a time. The first may begin with events up to `seq`, and records without events come along. Orders in the
   * events are as the event left them. Rejects where some of them have been dropped, before or meanwhile:
   * `droppedThroughSeq` tells then.
   */
  async *recordsAfter(seq: number, throughIndex: number): AsyncGenerator<readonly JournalRecord[]> {
    const segments = await this.#segmentsAfter(seq);
    for (const [place, segment] of segments.entries()) {
      yield* this.#recordsOf(segment, segments[place + 1], seq, throughIndex);
    }
  }

  /**
   * As `recordsAfter`, those alone whose bytes are wanted, a piece of the log at a time: also where nothing is found, so
   * that the caller can end the search.
   */
  async *recordsWhere(
    isWanted: (record: Buffer) => boolean,
    seq: number,
    throughIndex: number,
  ): AsyncGenerator<SearchedPiece> {
    const segments = await this.#segmentsAfter(seq);
    for (const [place, segment] of segments.entries()) {
      const reader = new RecordReader();
      for await (const groups of this.#groupsOf(segment, segments[place + 1], seq, throughIndex)) {
        const found = groups.flatMap(({ records }) => records).filter(isWanted);
        const [first, last] = [groups[0], groups.at(-1)];
        if (first === undefined || last === undefined) continue;
        const bytes = groups.reduce((sum, { records }) => sum + records.reduce((n, { length }) => n + length, 0), 0);
        yield { records: found.map((record) => reader.read(record)), seq: last.seq, bytes };
      }
    }
  }

  /**
   * As `recordsAfter`, those of engine time `tsMs` (milliseconds) and later, as far as they are kept: what is dropped
   * meanwhile is left out. Some from before may come along.
   */
  async *recordsSince(tsMs: number, throughIndex: number): AsyncGenerator<readonly JournalRecord[]> {
    const segments = await this.#segments();
    let first = segments.length - 1;
    // Records of one time may lie in two segments.
    while (first > 0 && (await this.#startMs(segments[first], throughIndex)) >= tsMs) first -= 1;
    for (const [place, segment] of segments.entries()) {
      if (place < first) continue;
      try {
        // Removing an open segment does not end its reading.
        yield* this.#recordsOf(segment, segments[place + 1], -1, throughIndex);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
  }

  /**
   * Engine time of the segment's first record; of one without, that is later than anything. One that was dropped is
   * earlier: so are those before it.
   */
  async #startMs(segment: SegmentStart | undefined, throughIndex: number): Promise<number> {
    if (segment === undefined || segment.first.index >= throughIndex) return Infinity;
    let bytes: Buffer;
    try {
      bytes = await readStart(this.#disk, segmentName(segment.number), FIRST_RECORD_BYTES);
    } catch (error) {
      if (isMissing(error)) return -Infinity;
      throw error;
    }
    for (let frame = readFrame(bytes, 0); typeof frame !== 'string'; frame = readFrame(bytes, frame.end)) {
      if (frame.type === FrameType.record) return new RecordReader().read(frame.payload).stamp.tsMs;
    }
    return Infinity;
  }

  /** Rejects with ENOENT, before it gives any, when the segment was dropped meanwhile. */
  async *#recordsOf(
    segment: SegmentStart,
    next: SegmentStart | undefined,
    seq: number,
    throughIndex: number,
  ): AsyncGenerator<readonly JournalRecord[]> {
    const reader = new RecordReader();
    for await (const groups of this.#groupsOf(segment, next, seq, throughIndex)) {
      for (const { records } of groups) {
        for (let at = 0; at < records.length; at += RECORDS_AT_A_TIME) {
          yield records.slice(at, at + RECORDS_AT_A_TIME).map((record) => reader.read(record));
        }
      }
    }
  }

  /** The segment's groups with events after `seq`; valid until more are asked for. */
  async *#groupsOf(
    segment: SegmentStart,
    next: SegmentStart | undefined,
    seq: number,
    throughIndex: number,
  ): AsyncGenerator<readonly LogGroup[]> {
    const lastIndex = Math.min(throughIndex, next?.first.index ?? throughIndex);
    if (segment.first.index >= lastIndex || (next?.first.seq ?? Infinity) <= seq) return;
    const places = this.#places.of(segment.number);
    for await (const groups of groupsFrom(this.#disk, this.#epoch, segment, places.before(seq), lastIndex)) {
      for (const { end, seq: last } of groups) places.note(end, last);
      yield groups.filter((group) => group.seq > seq);
    }
  }

  /** Rejects where events after `seq` have been dropped. */
  async #segmentsAfter(seq: number): Promise<SegmentStart[]> {
    const segments = await this.#segments();
    const dropped = segments[0]?.first.seq ?? 0;
    if (dropped > Math.max(0, seq)) throw new Error(`the log's events up to ${dropped} have been dropped`);
    return segments;
  }

  async #segments(): Promise<SegmentStart[]> {
    const segments = await this.#known.list();
    this.#places.dropBelow(segments[0]?.number ?? 0);
    return segments;
  }
}

/** The log's segments, each header read once: a segment that is begun never changes it. */
class KnownSegments {
  readonly #disk: Disk;
  readonly #starts = new Map<number, SegmentStart>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Those that are there now and begun, rising. */
  async list(): Promise<SegmentStart[]> {
    const numbers = segmentNumbers(await this.#disk.list());
    for (const known of this.#starts.keys()) if (known < (numbers[0] ?? Infinity)) this.#starts.delete(known);
    const starts: SegmentStart[] = [];
    for (const number of numbers) {
      const start = this.#starts.get(number) ?? (await this.#read(number));
      if (start === null) continue;
      this.#starts.set(number, start);
      starts.push(start);
    }
    return starts;
  }

  /** Null: it is not begun, or was dropped since the names were listed, as those before it were. */
  async #read(number: number): Promise<SegmentStart | null> {
    try {
      return await segmentStart(this.#disk, number);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }
}

/** Bytes of a segment between two places. */
const STEP_BYTES = 256 << 10;
/** Segments whose places are kept: of 32 MiB they have 128 places each, in all some 5 MB. */
const SEGMENTS = 1024;

/** Ends of groups in one segment: where in the file, and the last event up to there. */
class SegmentPlaces {
  readonly #places: { readonly offset: number; readonly seq: number }[] = [];

  /** A byte at which a group begins, every event after `seq` behind it. */
  before(seq: number): number {
    return this.#places.findLast((place) => place.seq <= seq)?.offset ?? 0;
  }

  /** Readers that go on from one of the places report each group that they pass. */
  note(offset: number, seq: number): void {
    if (offset >= (this.#places.at(-1)?.offset ?? 0) + STEP_BYTES) this.#places.push({ offset, seq });
  }
}

/**
 * Where in the segments which events are, as far as they have been read: so that a late reader need not begin at the
 * segment's first byte. The segments whose places were asked for last are known.
 */
export class SegmentIndex {
  /** By the segment's number; the one used last is the last. */
  readonly #bySegment = new Map<number, SegmentPlaces>();

  of(number: number): SegmentPlaces {
    const places = this.#bySegment.get(number) ?? new SegmentPlaces();
    this.#bySegment.delete(number);
    this.#bySegment.set(number, places);
    const [oldest] = this.#bySegment.keys();
    if (this.#bySegment.size > SEGMENTS && oldest !== undefined) this.#bySegment.delete(oldest);
    return places;
  }

  /** Segments below `number` are gone. */
  dropBelow(number: number): void {
    for (const known of this.#bySegment.keys()) if (known < number) this.#bySegment.delete(known);
  }
}

/** Read at a time; a group that is longer is read whole. */
const PIECE_BYTES = 128 << 10;

export interface LogGroup {
  /** The records' msgpack, valid until more groups are asked for. */
  readonly records: readonly Buffer[];
  /** The last event up to here, and the first byte behind the group in its file. */
  readonly seq: number;
  readonly end: number;
}

/**
 * The segment's groups from the one that begins at byte `start` on, up to the one that ends with record `throughIndex`
 * or a later one, which has to be durable. As many at a time as a piece of the file has; other work gets its turn while
 * the disk reads the next. Nothing behind that group is looked at: it may be half written. Where a group is not whole,
 * it throws DAMAGED.
 */
export async function* groupsFrom(
  disk: Disk,
  epoch: Buffer,
  segment: SegmentStart,
  start: number,
  throughIndex: number,
): AsyncGenerator<readonly LogGroup[]> {
  const file = await disk.open(segmentName(segment.number), 'read');
  try {
    let memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
    let held = 0;
    for (let position = start; ;) {
      const read = await file.read(memory.subarray(held), position + held);
      held += read;
      const bytes = memory.subarray(0, held);
      const groups: LogGroup[] = [];
      let at = 0;
      for (let end = groupEnd(bytes, at); end !== -1; end = groupEnd(bytes, at)) {
        const { records, commit } = wholeGroup(segment, epoch, { bytes, position }, at, end);
        groups.push({ records, seq: commit.seq, end: position + end });
        at = end;
        if (commit.index < throughIndex) continue;
        yield groups;
        return;
      }
      if (read === 0) throw damaged(segment, position, 'its records end here');
      if (at > 0) yield groups;
      if (at === 0 && held === memory.length) memory = Buffer.concat([memory], 2 * memory.length);
      memory.copyWithin(0, at, held);
      position += at;
      held -= at;
    }
  } finally {
    await file.close();
  }
}

/** Behind the next COMMIT frame, by the frames' own lengths; -1 when it is not in these bytes. */
function groupEnd(bytes: Buffer, start: number): number {
  for (let at = start; ;) {
    const end = frameEnd(bytes, at);
    const head = bytes.subarray(at, at + FRAME_HEAD_BYTES);
    // Neither zeros nor unused space are frames: the caller checks what this returns, and throws.
    if (end === -1 && head.length === FRAME_HEAD_BYTES && isUnused(head)) return at + FRAME_HEAD_BYTES;
    if (end === -1 || frameType(bytes, at) === FrameType.commit || frameType(bytes, at) === 0) return end;
    at = end;
  }
}

/** The frames between `start` and `end`, each checked. `position`: where in the file the bytes begin. */
function wholeGroup(
  segment: SegmentStart,
  epoch: Buffer,
  { bytes, position }: { readonly bytes: Buffer; readonly position: number },
  start: number,
  end: number,
): { readonly records: Buffer[]; readonly commit: { readonly index: number; readonly seq: number } } {
  const records: Buffer[] = [];
  for (let at = start; at < end;) {
    const frame = wholeFrame(segment, bytes, at, position);
    if (frame.type === FrameType.record) records.push(frame.payload);
    const commit = frame.type === FrameType.commit ? readCommit(frame.payload, epoch) : null;
    if (commit !== null) return { records, commit };
    at = frame.end;
  }
  throw damaged(segment, position + start, 'a group without a commit of this log');
}
