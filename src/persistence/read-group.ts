import { chainAfter, readCommit } from './commit.js';
import type { LogPoint } from './file-header.js';
import { FrameType, frameEnd, frameType, readFrame, type Frame } from './frame.js';

/** Records and notes that were written and made durable at once. */
export interface Group {
  readonly point: LogPoint;
  readonly durable: number;
  readonly end: number;
  readonly isEmpty: boolean;
  /** Its frames that are neither records nor the commit. */
  readonly notes: readonly Frame[];
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
  const notes: Frame[] = [];
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
        notes.push(frame);
        break;
      case FrameType.commit:
        return readCommitted(frame, bytes.subarray(start, frame.start), records, notes, before, epoch);
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
  notes: readonly Frame[],
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
  return { point, durable: commit.durable, end: frame.end, isEmpty: records + notes.length === 0, notes };
}
