import { readStart, readWhole, type Disk } from './disk.js';
import { HEADER_BYTES, readSegmentHeader, type LogPoint } from './file-header.js';
import { FrameType, readFrame, type Frame } from './frame.js';
import { PersistenceError, type LogPlace } from './persistence-error.js';
import { segmentName, segmentNumbers } from './segment.js';

/** A segment that holds records, and what lies before it. */
export interface SegmentStart {
  readonly number: number;
  readonly first: LogPoint;
}

export interface PlacedRecord {
  readonly index: number;
  /** The record's msgpack, a view into the segment's bytes. */
  readonly payload: Buffer;
  readonly place: LogPlace;
}

/** The segments that are begun, rising; one that is only prepared is left out. Reads no more than their headers. */
export async function segmentStarts(disk: Disk): Promise<SegmentStart[]> {
  const starts: SegmentStart[] = [];
  for (const number of segmentNumbers(await disk.list())) {
    const read = readSegmentHeader(await readStart(disk, segmentName(number), HEADER_BYTES));
    if (typeof read !== 'string') starts.push({ number, first: read.header });
  }
  return starts;
}

/**
 * The records after `after` up to `through`, a segment's at a time. All of them have to be in the log: a place where they are not is damage, since `through` was durable.
 */
export async function* readRecords(
  disk: Disk,
  segments: readonly SegmentStart[],
  after: number,
  through: number,
): AsyncGenerator<Iterable<PlacedRecord>> {
  for (const [place, segment] of segments.entries()) {
    const next = segments[place + 1];
    if (next !== undefined && next.first.index <= after) continue;
    if (segment.first.index >= through) return;
    const bytes = await readWhole(disk, segmentName(segment.number));
    yield recordsIn(segment, bytes, after, Math.min(through, next?.first.index ?? through));
  }
}

function* recordsIn(segment: SegmentStart, bytes: Buffer, after: number, through: number): Generator<PlacedRecord> {
  const file = segmentName(segment.number);
  let { index } = segment.first;
  for (const frame of framesOf(segment, bytes)) {
    if (index >= through) return;
    if (frame.type !== FrameType.record) continue;
    const place = { file, offset: frame.start, index, seq: segment.first.seq };
    index += 1;
    if (index > after) yield { index, payload: frame.payload, place };
  }
}

/** The segment's frames from its beginning on, without an end: asked for more than there are, it throws DAMAGED. */
export function* framesOf({ number, first }: SegmentStart, bytes: Buffer): Generator<Frame> {
  for (let at = 0; ;) {
    const frame = readFrame(bytes, at);
    if (typeof frame === 'string') {
      const place = { file: segmentName(number), offset: at, index: first.index, seq: first.seq };
      throw new PersistenceError('DAMAGED', frame, { place });
    }
    yield frame;
    at = frame.end;
  }
}
