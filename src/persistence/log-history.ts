import type { JournalRecord } from '../engine/ports.js';
import { readStart, type Disk } from './disk.js';
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
   * events are as the event left them. Ask `droppedThroughSeq` first; a segment that is dropped meanwhile rejects with
   * ENOENT.
   */
  async *recordsAfter(seq: number, throughIndex: number): AsyncGenerator<readonly JournalRecord[]> {
    yield* this.#records(await this.#segments(), seq, throughIndex);
  }

  /** As `recordsAfter`, those of engine time `tsMs` (milliseconds) and later; some from before may come along. */
  async *recordsSince(tsMs: number, throughIndex: number): AsyncGenerator<readonly JournalRecord[]> {
    const segments = await this.#segments();
    let first = segments.length - 1;
    while (first > 0 && (await this.#startMs(segments[first], throughIndex)) > tsMs) first -= 1;
    yield* this.#records(segments.slice(Math.max(0, first)), -1, throughIndex);
  }

  /** Engine time of the segment's first record; of one without, that is later than anything. */
  async #startMs(segment: SegmentStart | undefined, throughIndex: number): Promise<number> {
    if (segment === undefined || segment.first.index >= throughIndex) return Infinity;
    const bytes = await readStart(this.#disk, segmentName(segment.number), FIRST_RECORD_BYTES);
    for (let frame = readFrame(bytes, 0); typeof frame !== 'string'; frame = readFrame(bytes, frame.end)) {
      if (frame.type === FrameType.record) return new RecordReader().read(frame.payload).stamp.tsMs;
    }
    return Infinity;
  }

  async *#records(
    segments: readonly SegmentStart[],
    seq: number,
    throughIndex: number,
  ): AsyncGenerator<readonly JournalRecord[]> {
    const reader = new RecordReader();
    for (const [place, segment] of segments.entries()) {
      const next = segments[place + 1]?.first;
      if ((next?.seq ?? Infinity) <= seq) continue;
      if (segment.first.index >= throughIndex) return;
      const lastIndex = Math.min(throughIndex, next?.index ?? throughIndex);
      if (segment.first.index >= lastIndex) continue;
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
  }

  async #segments(): Promise<SegmentStart[]> {
    const segments = await this.#known.list();
    this.#places.dropBelow(segments[0]?.number ?? 0);
    return segments;
  }
}
