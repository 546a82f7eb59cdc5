import { crc32 } from 'node:zlib';
import { type Disk, type LogPlace, PersistenceError, readStart } from '../disk/disk.js';
import { readAhead } from '../disk/read-ahead.js';
import { segmentName, segmentNumbers } from '../format/file-names.js';
import { type Frame, FRAME_HEAD_BYTES, frameEnd, FrameType, frameType, readFrame } from '../format/frame.js';
import { chainAfter, HEADER_BYTES, type LogPoint, readCommit, readSegmentHeader } from '../format/header.js';

/** A segment that holds records, and what lies before it. */
export interface SegmentStart {
  readonly number: number;
  readonly first: LogPoint;
  /** A caller that verified every frame up to `end` passes the CRC of those bytes: the reader compares it. */
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
  for await (const bytes of readAhead(disk, names)) {
    const segment = wanted[place];
    place += 1;
    if (segment === undefined) return;
    yield recordsIn(segment, bytes, after, Math.min(through, wanted[place]?.first.index ?? through));
  }
}

/** The same for a stream of segments, each with the point where it ends. */
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
  for await (const bytes of readAhead(disk, names())) {
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

/** The frame at `start`; throws DAMAGED if it is not whole. `position`: where in the segment the bytes begin. */
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

/** Records and markers that were written and made durable at once. */
export interface Group {
  readonly point: LogPoint;
  readonly durable: number;
  readonly end: number;
  readonly isEmpty: boolean;
  /** Its frames that are neither records nor the commit. */
  readonly markers: readonly Frame[];
}

export interface GroupFault {
  readonly reason: string;
  readonly at: number;
}

/**
 * The whole group whose bytes begin at `start` and whose frames begin at `from`, or why it isn't one. The chain's
 * SHA-256 vouches for every byte before the commit, CRCs included, so those of records are looked at only to say where
 * a group goes wrong.
 */
export function readGroup(
  bytes: Buffer,
  start: number,
  from: number,
  before: LogPoint,
  epoch: Buffer,
): Group | GroupFault {
  const group = readFrames(bytes, start, from, before, epoch, false);
  return 'reason' in group ? readFrames(bytes, start, from, before, epoch, true) : group;
}

function readFrames(
  bytes: Buffer,
  start: number,
  from: number,
  before: LogPoint,
  epoch: Buffer,
  checkRecords: boolean,
): Group | GroupFault {
  const markers: Frame[] = [];
  let records = 0;
  let at = from;
  for (;;) {
    const recordEnd = checkRecords ? -1 : frameEnd(bytes, at);
    if (recordEnd !== -1 && frameType(bytes, at) === FrameType.record) {
      records += 1;
      at = recordEnd;
      continue;
    }
    const frame = readFrame(bytes, at);
    if (typeof frame === 'string') return { reason: frame, at };
    switch (frame.type) {
      case FrameType.record:
        records += 1;
        break;
      case FrameType.stateHash:
      case FrameType.stateSum:
      case FrameType.snapshot:
        markers.push(frame);
        break;
      case FrameType.commit:
        return readCommitted(frame, bytes.subarray(start, frame.start), records, markers, before, epoch);
      default:
        return { reason: `a frame of type ${frame.type} among records`, at };
    }
    at = frame.end;
  }
}

function readCommitted(
  frame: Frame,
  group: Buffer,
  records: number,
  markers: readonly Frame[],
  before: LogPoint,
  epoch: Buffer,
): Group | GroupFault {
  const commit = readCommit(frame.payload, epoch);
  if (commit === null) return { reason: 'a commit of another log', at: frame.start };
  const fits =
    commit.group === before.group + 1 &&
    commit.records === records &&
    commit.index === before.index + records &&
    commit.bytes === group.length &&
    commit.chain.equals(chainAfter(before.chain, group, frame.payload));
  if (!fits) return { reason: `the commit of group ${commit.group} doesn't fit what lies before it`, at: frame.start };
  // Copied, so that the segment's bytes can go.
  const point = { index: commit.index, seq: commit.seq, group: commit.group, chain: Buffer.from(commit.chain) };
  return { point, durable: commit.durable, end: frame.end, isEmpty: records + markers.length === 0, markers };
}
