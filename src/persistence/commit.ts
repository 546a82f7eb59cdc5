import { createHash } from 'node:crypto';
import { FRAME_HEAD_BYTES, FrameType, beginFrame, endFrame, readFrame } from './frame.js';
import type { GrowingBuffer } from './growing-buffer.js';

/** Found again in damaged bytes, where nothing else says where a frame begins. */
const MARK = Buffer.from('QBCOMMIT', 'latin1');
/** Everything that the chain covers of the payload, and the whole of it. */
const FIELDS_BYTES = 56;
const CHAIN_BYTES = 32;
export const COMMIT_BYTES = FIELDS_BYTES + CHAIN_BYTES;
export const EPOCH_BYTES = 8;

/** What a COMMIT frame says of the log up to its group. */
export interface Commit {
  /** Number of the group that it ends, from 1. */
  readonly group: number;
  /** The last group that was known to be durable when this one was written. */
  readonly durable: number;
  /** Last record and last event up to here; 0: none yet. */
  readonly index: number;
  readonly seq: number;
  /** Records in this group. */
  readonly records: number;
  /** Bytes of this group before the commit's frame. */
  readonly bytes: number;
  readonly chain: Buffer;
}

/** The chain before the first group of a log. */
export function firstChain(epoch: Uint8Array): Buffer {
  return createHash('sha256').update(epoch).digest();
}

/**
 * Ends the group with its COMMIT frame; returns the chain value after it. `head`: the group's bytes that were written
 * elsewhere before those in `out` (a segment's HEADER), or null.
 */
export function putCommit(
  out: GrowingBuffer,
  epoch: Uint8Array,
  previous: Uint8Array,
  head: Uint8Array | null,
  commit: Omit<Commit, 'chain' | 'bytes'>,
): Buffer {
  const groupBytes = out.length;
  const start = beginFrame(out);
  const at = out.take(COMMIT_BYTES);
  const { bytes } = out;
  bytes.set(MARK, at);
  bytes.set(epoch, at + 8);
  bytes.writeBigUInt64LE(BigInt(commit.group), at + 16);
  bytes.writeBigUInt64LE(BigInt(commit.durable), at + 24);
  bytes.writeBigUInt64LE(BigInt(commit.index), at + 32);
  bytes.writeBigUInt64LE(BigInt(commit.seq), at + 40);
  bytes.writeUInt32LE(commit.records, at + 48);
  bytes.writeUInt32LE(groupBytes + (head?.length ?? 0), at + 52);
  const hash = createHash('sha256').update(previous);
  if (head !== null) hash.update(head);
  const chain = hash
    .update(bytes.subarray(0, groupBytes))
    .update(bytes.subarray(at, at + FIELDS_BYTES))
    .digest();
  bytes.set(chain, at + FIELDS_BYTES);
  endFrame(out, start, FrameType.commit);
  return chain;
}

/** Null when the payload is not a commit of the log `epoch`. The chain is not checked. */
export function readCommit(payload: Buffer, epoch: Uint8Array): Commit | null {
  if (payload.length !== COMMIT_BYTES) return null;
  if (!payload.subarray(0, 8).equals(MARK) || !payload.subarray(8, 16).equals(epoch)) return null;
  return {
    group: Number(payload.readBigUInt64LE(16)),
    durable: Number(payload.readBigUInt64LE(24)),
    index: Number(payload.readBigUInt64LE(32)),
    seq: Number(payload.readBigUInt64LE(40)),
    records: payload.readUInt32LE(48),
    bytes: payload.readUInt32LE(52),
    chain: payload.subarray(FIELDS_BYTES),
  };
}

/** The chain value after a group of these bytes, whose commit has this payload. */
export function chainAfter(previous: Uint8Array, group: Buffer, payload: Buffer): Buffer {
  return createHash('sha256').update(previous).update(group).update(payload.subarray(0, FIELDS_BYTES)).digest();
}

/**
 * The highest `durable` of all valid commits of the log `epoch` that lie anywhere in `bytes` from `start` on; 0: none.
 */
export function highestDurable(bytes: Buffer, start: number, epoch: Uint8Array): number {
  let highest = 0;
  for (let at = bytes.indexOf(MARK, start); at !== -1; at = bytes.indexOf(MARK, at + 1)) {
    if (at < start + FRAME_HEAD_BYTES) continue;
    const frame = readFrame(bytes, at - FRAME_HEAD_BYTES);
    if (typeof frame === 'string' || frame.type !== FrameType.commit) continue;
    highest = Math.max(highest, readCommit(frame.payload, epoch)?.durable ?? 0);
  }
  return highest;
}
