import { createHash } from 'node:crypto';
import { MsgpackError, MsgpackReader } from '../codec/msgpack-reader.js';
import { MsgpackWriter } from '../codec/msgpack-writer.js';
import type { GrowingBuffer } from '../disk/buffer.js';
import { PersistenceError } from '../disk/disk.js';
import { beginFrame, endFrame, type Frame, FRAME_HEAD_BYTES, FrameType, readFrame } from './frame.js';

/**
 * Version of the files' layout. A program reads its own and older ones; docs/reference/log-format.md, "Formats", has what each
 * brought.
 */
export const FILE_FORMAT = 4;
const OLDEST_FORMAT = 1;
/** From this format on a segment's unused space is FILL, and its HEADER says how long the file was made. */
export const FILLED_FORMAT = 4;

/** Bytes that any file's HEADER frame fits into. */
export const HEADER_BYTES = 256;

const SEGMENT = 'quotebook log';
const SNAPSHOT = 'quotebook snapshot';
const HASH_BYTES = 32;

/** How far a log has come at the end of one of its groups. */
export interface LogPoint {
  /** Last record and last event up to here; 0: none. */
  readonly index: number;
  readonly seq: number;
  /** The group that ends here, and the chain value after it. */
  readonly group: number;
  readonly chain: Buffer;
}

/** First frame of a segment: which log, which segment, and what lies before it. */
export interface SegmentHeader extends LogPoint {
  readonly epoch: Buffer;
  readonly number: number;
  /** How long the file was made, before anything was written to it. It may have grown since. */
  readonly madeBytes: number;
}

/** As it was found: of the version of the program that wrote it. `madeBytes` is 0 before format 4. */
export interface FoundSegmentHeader extends SegmentHeader {
  readonly format: number;
}

/** First frame of a snapshot: which log, and up to where. `tsMs`: the stamp of record `index`. */
export interface SnapshotHeader extends LogPoint {
  readonly epoch: Buffer;
  readonly tsMs: number;
}

export function putSegmentHeader(out: GrowingBuffer, header: SegmentHeader): void {
  putHeader(out, SEGMENT, header, [header.number, header.index, header.seq, header.group], header.madeBytes);
}

export function putSnapshotHeader(out: GrowingBuffer, header: SnapshotHeader): void {
  putHeader(out, SNAPSHOT, header, [header.index, header.tsMs, header.seq, header.group]);
}

/** The segment header at the beginning of `bytes` and its frame, or in words why not. Throws NEWER_FORMAT. */
export function readSegmentHeader(
  bytes: Buffer,
): { readonly header: FoundSegmentHeader; readonly frame: Frame } | string {
  const read = readHeader(bytes, SEGMENT);
  if (typeof read === 'string') return read;
  const [number, index, seq, group] = read.numbers;
  const { format, epoch, chain, madeBytes, frame } = read;
  return { header: { format, epoch, number, index, seq, group, chain, madeBytes }, frame };
}

export function readSnapshotHeader(bytes: Buffer): { readonly header: SnapshotHeader; readonly frame: Frame } | string {
  const read = readHeader(bytes, SNAPSHOT);
  if (typeof read === 'string') return read;
  const [index, tsMs, seq, group] = read.numbers;
  return { header: { epoch: read.epoch, index, tsMs, seq, group, chain: read.chain }, frame: read.frame };
}

type Four = readonly [number, number, number, number];

function putHeader(
  out: GrowingBuffer,
  kind: string,
  { epoch, chain }: { epoch: Buffer; chain: Buffer },
  numbers: Four,
  madeBytes?: number,
): void {
  const start = beginFrame(out);
  const writer = new MsgpackWriter(out);
  writer.array(4 + numbers.length + (madeBytes === undefined ? 0 : 1));
  writer.text(kind);
  writer.uint(FILE_FORMAT);
  writer.bin(epoch);
  for (const number of numbers) writer.uint(number);
  writer.bin(chain);
  if (madeBytes !== undefined) writer.uint(madeBytes);
  endFrame(out, start, FrameType.header);
}

interface LogHeader {
  readonly format: number;
  readonly epoch: Buffer;
  readonly numbers: Four;
  readonly chain: Buffer;
  readonly madeBytes: number;
}

function readHeader(bytes: Buffer, kind: string): (LogHeader & { readonly frame: Frame }) | string {
  return readHeaderFrame<LogHeader>(bytes, kind, (input, format, fields) => {
    if (format > FILE_FORMAT) {
      throw new PersistenceError(
        'NEWER_FORMAT',
        `a ${kind} of format ${format}, this program reads up to ${FILE_FORMAT}`,
      );
    }
    const hasLength = kind === SEGMENT && format >= FILLED_FORMAT;
    if (format < OLDEST_FORMAT || fields !== (hasLength ? 9 : 8)) return `no ${kind} of format ${format}`;
    const epoch = input.bin();
    const numbers: Four = [input.uint(), input.uint(), input.uint(), input.uint()];
    const chain = input.bin();
    const madeBytes = hasLength ? input.uint() : 0;
    if (epoch.length !== EPOCH_BYTES || chain.length !== HASH_BYTES) return 'a header with fields of wrong length';
    return { format, epoch, numbers, chain, madeBytes };
  });
}

/**
 * The HEADER frame at the beginning of a file of that kind, and what `read` takes from behind its format; or in words
 * why there is none. `fields`: how many the whole header has.
 */
export function readHeaderFrame<Header extends object>(
  bytes: Buffer,
  kind: string,
  read: (input: MsgpackReader, format: number, fields: number) => Header | string,
): (Header & { readonly frame: Frame }) | string {
  const frame = readFrame(bytes, 0);
  if (typeof frame === 'string') return frame;
  if (frame.type !== FrameType.header) return `a frame of type ${frame.type} instead of a header`;
  const input = new MsgpackReader();
  input.begin(frame.payload);
  try {
    const fields = input.array();
    if (input.text() !== kind) return `not the header of a ${kind}`;
    const header = read(input, input.uint(), fields);
    if (typeof header === 'string') return header;
    input.end();
    return { ...header, frame };
  } catch (error) {
    if (error instanceof MsgpackError) return error.message;
    throw error;
  }
}

/** Found again in damaged bytes, where nothing else says where a frame begins. */
const MARK = Buffer.from('QBCOMMIT', 'latin1');
/** Everything that the chain covers of the payload, and the whole of it. */
const FIELDS_BYTES = 56;
const CHAIN_BYTES = 32;
export const COMMIT_BYTES = FIELDS_BYTES + CHAIN_BYTES;
export const EPOCH_BYTES = 8;

/** Content of a COMMIT frame: the log up to its group. */
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
