import { readCommit } from './commit.js';
import type { Disk } from './disk.js';
import { FRAME_HEAD_BYTES, FrameType, frameEnd, frameType, isUnused } from './frame.js';
import { damaged, wholeFrame, type SegmentStart } from './log-records.js';
import { segmentName } from './segment.js';

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
