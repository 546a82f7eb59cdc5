import { EPOCH_BYTES } from './commit.js';
import { FrameType, beginFrame, endFrame, readFrame, type Frame } from './frame.js';
import type { GrowingBuffer } from './growing-buffer.js';
import { MsgpackFault, MsgpackReader } from './msgpack-reader.js';
import { MsgpackWriter } from './msgpack-writer.js';
import { PersistenceError } from './persistence-error.js';

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

/** The segment header at the beginning of `bytes` and its frame, or in words why there is none. Throws NEWER_FORMAT. */
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

function readHeader(
  bytes: Buffer,
  kind: string,
):
  | {
      readonly format: number;
      readonly epoch: Buffer;
      readonly numbers: Four;
      readonly chain: Buffer;
      readonly madeBytes: number;
      readonly frame: Frame;
    }
  | string {
  const frame = readFrame(bytes, 0);
  if (typeof frame === 'string') return frame;
  if (frame.type !== FrameType.header) return `a frame of type ${frame.type} instead of a header`;
  const input = new MsgpackReader();
  input.begin(frame.payload);
  try {
    const fields = input.array();
    if (input.text() !== kind) return `not the header of a ${kind}`;
    const format = input.uint();
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
    input.end();
    if (epoch.length !== EPOCH_BYTES || chain.length !== HASH_BYTES) return 'a header with fields of wrong length';
    return { format, epoch, numbers, chain, madeBytes, frame };
  } catch (error) {
    if (error instanceof MsgpackFault) return error.message;
    throw error;
  }
}
