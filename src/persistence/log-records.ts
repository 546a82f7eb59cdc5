import { crc32 } from 'node:zlib';
import { readStart, type Disk } from './disk.js';
import { HEADER_BYTES, readSegmentHeader, type LogPoint } from './file-header.js';
import { FRAME_HEAD_BYTES, FrameType, frameEnd, frameType, readFrame, type Frame } from './frame.js';
import { PersistenceError, type LogPlace } from './persistence-error.js';
import { readInTurn } from './read-in-turn.js';
import { segmentName, segmentNumbers } from './segment.js';

/** A segment that holds records, and what lies before it. */
export interface SegmentStart {
  readonly number: number;
  readonly first: LogPoint;
  /** Whoever has looked at every frame up to `end` says by this CRC of all that, which bytes those were. */
  readonly checked?: { readonly end: number; readonly crc: number };
}

export interface PlacedRecord {
  readonly index: number;
  /** The segment's bytes, and where in them the frame and the record's msgpack are. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly payloadAt: number;
  readonly end: number;
  readonly segment: SegmentStart;
}

/** For an error: where the record is, and what lies before it. */
export function placeOf({ segment, start, index }: PlacedRecord): LogPlace {
  return { file: segmentName(segment.number), offset: start, index: index - 1, seq: segment.first.seq };
}

/** The segments that are begun, rising; one that is only prepared is left out. Reads no more than their headers. */
export async function segmentStarts(disk: Disk): Promise<SegmentStart[]> {
  const starts: SegmentStart[] = [];
  for (const number of segmentNumbers(await disk.list())) {
    const start = await segmentStart(disk, number);
    if (start !== null) starts.push(start);
  }
  return starts;
}

/** Null: it is only prepared. */
export async function segmentStart(disk: Disk, number: number): Promise<SegmentStart | null> {
  const read = readSegmentHeader(await readStart(disk, segmentName(number), HEADER_BYTES));
  return typeof read === 'string' ? null : { number, first: read.header };
}

/**
 * The records after `after` up to `through`, a segment's at a time, each valid until the next segment is asked for. All
 * of them have to be in the log: a place where they are not is damage, since `through` was durable.
 */
export async function* readRecords(
  disk: Disk,
  segments: readonly SegmentStart[],
  after: number,
  through: number,
): AsyncGenerator<Iterable<PlacedRecord>> {
  const firstIndex = (place: number): number => segments[place]?.first.index ?? Infinity;
  const wanted = segments.filter(({ first }, place) => firstIndex(place + 1) > after && first.index < through);
  const names = wanted.map(({ number }) => segmentName(number));
  let place = 0;
  for await (const bytes of readInTurn(disk, names)) {
    const segment = wanted[place];
    place += 1;
    if (segment === undefined) return;
    yield recordsIn(segment, bytes, after, Math.min(through, wanted[place]?.first.index ?? through));
  }
}

/** The same of segments that are told of one after another, each with where it ends. */
export async function* readRecordsOf(
  disk: Disk,
  segments: AsyncIterable<SegmentStart & { readonly last: LogPoint }>,
  after: number,
): AsyncGenerator<Iterable<PlacedRecord>> {
  const wanted: (SegmentStart & { readonly last: LogPoint })[] = [];
  async function* names(): AsyncGenerator<string> {
    for await (const segment of segments) {
      if (segment.last.index <= after) continue;
      wanted.push(segment);
      yield segmentName(segment.number);
    }
  }
  for await (const bytes of readInTurn(disk, names())) {
    const segment = wanted.shift();
    if (segment === undefined) return;
    yield recordsIn(segment, bytes, after, segment.last.index);
  }
}

function* recordsIn(segment: SegmentStart, bytes: Buffer, after: number, through: number): Generator<PlacedRecord> {
  const { checked } = segment;
  if (checked !== undefined && crc32(bytes.subarray(0, checked.end)) !== checked.crc) {
    throw damaged(segment, 0, 'it has changed since it was read a moment ago');
  }
  let { index } = segment.first;
  let at = 0;
  while (index < through) {
    const start = at;
    const end = checked === undefined ? wholeFrame(segment, bytes, start).end : frameEnd(bytes, start);
    if (end === -1) throw damaged(segment, start, 'its records end here');
    at = end;
    if (frameType(bytes, start) !== FrameType.record) continue;
    index += 1;
    if (index > after) yield { index, bytes, start, payloadAt: start + FRAME_HEAD_BYTES, end, segment };
  }
}

/** The frame at `start`; what is none throws DAMAGED. `position`: where in the segment the bytes begin. */
export function wholeFrame(segment: SegmentStart, bytes: Buffer, start: number, position = 0): Frame {
  const frame = readFrame(bytes, start);
  if (typeof frame === 'string') throw damaged(segment, position + start, frame);
  return frame;
}

export function damaged(
  { number, first: { index, seq } }: SegmentStart,
  offset: number,
  reason: string,
): PersistenceError {
  return new PersistenceError('DAMAGED', reason, { place: { file: segmentName(number), offset, index, seq } });
}
