import type { JournalRecord } from '../engine/ports.js';
import { readCommit } from './commit.js';
import { readStart, readWhole, type Disk } from './disk.js';
import { FrameType, readFrame, type Frame } from './frame.js';
import { framesOf, segmentStarts, type SegmentStart } from './log-records.js';
import { RecordReader } from './record-codec.js';
import { segmentName } from './segment.js';

/** In the beginning of a segment: its head and its first record, however many quotes that states anew. */
const FIRST_RECORD_BYTES = 1 << 20;

/** Past records, for readers who missed their events. Reads beside the writer. */
export class LogHistory {
  readonly #disk: Disk;
  readonly #epoch: Buffer;

  constructor(disk: Disk, epoch: Buffer) {
    this.#disk = disk;
    this.#epoch = epoch;
  }

  /** Events after this one are all in the log; those up to it have been dropped. */
  async droppedThroughSeq(): Promise<number> {
    const [oldest] = await segmentStarts(this.#disk);
    return oldest?.first.seq ?? 0;
  }

  /**
   * The records with events after `seq`, up to record `throughIndex`, which has to be durable; in order, a group of the
   * log at a time. The first may begin with events up to `seq`, and records without events come along. Orders in the
   * events are as the event left them. Ask `droppedThroughSeq` first; a segment that is dropped meanwhile rejects with
   * ENOENT.
   */
  async *recordsAfter(seq: number, throughIndex: number): AsyncGenerator<readonly JournalRecord[]> {
    yield* this.#records(await segmentStarts(this.#disk), seq, throughIndex);
  }

  /** As `recordsAfter`, those of engine time `tsMs` (milliseconds) and later; some from before may come along. */
  async *recordsSince(tsMs: number, throughIndex: number): AsyncGenerator<readonly JournalRecord[]> {
    const segments = await segmentStarts(this.#disk);
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
      if ((segments[place + 1]?.first.seq ?? Infinity) <= seq) continue;
      if (segment.first.index >= throughIndex) return;
      const lastIndex = Math.min(throughIndex, segments[place + 1]?.first.index ?? throughIndex);
      const bytes = await readWhole(this.#disk, segmentName(segment.number));
      let { index } = segment.first;
      let group: Frame[] = [];
      for (const frame of framesOf(segment, bytes)) {
        if (frame.type === FrameType.record) group.push(frame);
        if (frame.type !== FrameType.commit) continue;
        index += group.length;
        if ((readCommit(frame.payload, this.#epoch)?.seq ?? 0) > seq)
          yield group.map(({ payload }) => reader.read(payload));
        group = [];
        if (index >= lastIndex) break;
      }
    }
  }
}
