import type { JournalRecord } from '../engine/ports.js';
import { isMissing, readStart, type Disk } from './disk.js';
import { FrameType, readFrame } from './frame.js';
import { KnownSegments } from './known-segments.js';
import { groupsFrom } from './log-groups.js';
import type { SegmentStart } from './log-records.js';
import { RecordReader } from './record-codec.js';
import { PlacesInSegments } from './segment-places.js';
import { segmentName } from './segment.js';

/** In the beginning of a segment: its head and its first record, however many quotes that states anew. */
const FIRST_RECORD_BYTES = 1 << 20;
/** Of a large group: whoever wants a few events need not wait until all of it is decoded. */
const RECORDS_AT_A_TIME = 100;

/** Past records, for readers who missed their events. Reads beside the writer. */
export class LogHistory {
  readonly #disk: Disk;
  readonly #epoch: Buffer;
  readonly #known: KnownSegments;
  readonly #places = new PlacesInSegments();

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
    const segments = await this.#segments();
    const dropped = segments[0]?.first.seq ?? 0;
    if (dropped > Math.max(0, seq)) throw new Error(`the log's events up to ${dropped} have been dropped`);
    for (const [place, segment] of segments.entries()) {
      yield* this.#recordsOf(segment, segments[place + 1], seq, throughIndex);
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
        // One that is open can be read to its end.
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
    const lastIndex = Math.min(throughIndex, next?.first.index ?? throughIndex);
    if (segment.first.index >= lastIndex || (next?.first.seq ?? Infinity) <= seq) return;
    const reader = new RecordReader();
    const places = this.#places.of(segment.number);
    for await (const groups of groupsFrom(this.#disk, this.#epoch, segment, places.before(seq), lastIndex)) {
      for (const group of groups) {
        places.note(group.end, group.seq);
        if (group.seq <= seq) continue;
        for (let at = 0; at < group.records.length; at += RECORDS_AT_A_TIME) {
          yield group.records.slice(at, at + RECORDS_AT_A_TIME).map((record) => reader.read(record));
        }
      }
    }
  }

  async #segments(): Promise<SegmentStart[]> {
    const segments = await this.#known.list();
    this.#places.dropBelow(segments[0]?.number ?? 0);
    return segments;
  }
}
