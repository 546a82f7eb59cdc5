import { crc32 } from 'node:zlib';
import { MsgpackReader } from '../codec/msgpack-reader.js';
import { MsgpackWriter } from '../codec/msgpack-writer.js';
import type { GrowingBuffer } from '../disk/buffer.js';
import { type LogPlace, PersistenceError } from '../disk/disk.js';

/** Content of a frame; docs/reference/log-format.md has the payloads. Never renumbered. No 0: zeros are no frame. */
export const FrameType = {
  header: 1,
  record: 2,
  commit: 3,
  stateHash: 4,
  snapshot: 5,
  chunk: 6,
  end: 7,
  stateSum: 8,
} as const;
export type FrameType = (typeof FrameType)[keyof typeof FrameType];

/** CRC, length of the payload, type, three zeros. */
export const FRAME_HEAD_BYTES = 12;
const LENGTH_AT = 4;
const TYPE_AT = 8;

/** Begins a frame at the end of `out`; its payload is what is put before `endFrame`. */
export function beginFrame(out: GrowingBuffer): number {
  return out.take(FRAME_HEAD_BYTES);
}

export function endFrame(out: GrowingBuffer, start: number, type: FrameType): void {
  const { bytes, length } = out;
  bytes.writeUInt32LE(length - start - FRAME_HEAD_BYTES, start + LENGTH_AT);
  bytes.writeUInt32LE(type, start + TYPE_AT);
  // Not a Buffer: its views take three times as long to make.
  const summed = new Uint8Array(bytes.buffer, bytes.byteOffset + start + LENGTH_AT, length - start - LENGTH_AT);
  bytes.writeUInt32LE(crc32(summed), start);
}

export interface Frame {
  readonly type: FrameType;
  /** Where in its file the frame begins, and where the next one would. */
  readonly start: number;
  readonly end: number;
  /** A view into the file's bytes. */
  readonly payload: Buffer;
}

/** The frame that begins at `start`, or in words why no whole frame does. */
export function readFrame(bytes: Buffer, start: number): Frame | string {
  const room = bytes.length - start;
  if (room < FRAME_HEAD_BYTES) return `${room} bytes are too few for a frame`;
  const length = bytes.readUInt32LE(start + LENGTH_AT);
  if (length > room - FRAME_HEAD_BYTES) return `a frame of ${length} bytes would end behind the file`;
  const end = start + FRAME_HEAD_BYTES + length;
  if (crc32(bytes.subarray(start + LENGTH_AT, end)) !== bytes.readUInt32LE(start)) return 'the CRC is wrong';
  const type = bytes.readUInt32LE(start + TYPE_AT);
  if (type < FrameType.header || type > FrameType.stateSum) return `unknown frame type ${type}`;
  return { type: type as FrameType, start, end, payload: bytes.subarray(start + FRAME_HEAD_BYTES, end) };
}

/**
 * Where the frame at `start` would end by its own length; -1 when that is behind the file. Nothing else of it is looked
 * at.
 */
export function frameEnd(bytes: Buffer, start: number): number {
  if (bytes.length - start < FRAME_HEAD_BYTES) return -1;
  const end = start + FRAME_HEAD_BYTES + bytes.readUInt32LE(start + LENGTH_AT);
  return end <= bytes.length ? end : -1;
}

/** The type field of a frame that `frameEnd` accepts; may be no FrameType. */
export function frameType(bytes: Buffer, start: number): number {
  return bytes.readUInt32LE(start + TYPE_AT);
}

/**
 * Filler of a segment's unused space, since format 4: neither what a disk returns for sectors that it
 * has lost or erased (0 or ff), nor the beginning of a frame.
 */
export const FILL = 0xa5;
/** The unit that a disk writes, or loses, as a whole. */
const SECTOR_BYTES = 512;
/** Every segment is made at least this long. */
export const LEAST_SEGMENT_BYTES = 2 * SECTOR_BYTES;

const BLOCK_BYTES = 4096;
const ZEROS = Buffer.alloc(BLOCK_BYTES);
const UNUSED = Buffer.alloc(BLOCK_BYTES, FILL);

/** Behind the last byte from `start` on that is neither zero nor FILL; `start` without such a byte. */
export function endOfContent(bytes: Buffer, start: number): number {
  let end = bytes.length;
  // In blocks from behind: comparing memory is some hundred times faster than looking at each byte.
  for (; end - start >= BLOCK_BYTES; end -= BLOCK_BYTES) {
    const block = bytes.subarray(end - BLOCK_BYTES, end);
    if (!block.equals(UNUSED) && !block.equals(ZEROS)) break;
  }
  while (end > start && (bytes[end - 1] === 0 || bytes[end - 1] === FILL)) end -= 1;
  return end;
}

/** Whether nothing was written there since it was filled. */
export function isUnused(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    if (!block.equals(block.length === BLOCK_BYTES ? UNUSED : UNUSED.subarray(0, block.length))) return false;
  }
  return true;
}

/**
 * Where between `start`, the end of the last frame, and `end` the first zeros are that no write has left there: in place
 * of a frame's head, which is never all zeros, or as a whole sector, which no frame fills with zeros. -1: there are none.
 */
export function zeroedAt(bytes: Buffer, start: number, end: number): number {
  const isZero = (from: number, length: number): boolean =>
    bytes.subarray(from, from + length).equals(ZEROS.subarray(0, length));
  const headBytes = Math.min(FRAME_HEAD_BYTES, end - start);
  if (headBytes > 0 && isZero(start, headBytes)) return start;
  const firstSector = Math.ceil(start / SECTOR_BYTES) * SECTOR_BYTES;
  for (let at = firstSector; at + SECTOR_BYTES <= end;) {
    if (end - at >= BLOCK_BYTES && bytes.subarray(at, at + BLOCK_BYTES).equals(UNUSED)) at += BLOCK_BYTES;
    else if (isZero(at, SECTOR_BYTES)) return at;
    else at += SECTOR_BYTES;
  }
  return -1;
}

/** The snapshot of record `index` is whole and durable. */
export interface SnapshotMarker {
  readonly type: 'SNAPSHOT';
  readonly index: number;
  readonly bytes: number;
  /** Of the file's END: SHA-256 of all before it, 64 hex digits. */
  readonly sha256: string;
  /** Hash of the engine that was replayed up to `index`. */
  readonly stateHash: string;
}

/**
 * Hash of the running engine right after record `index`: all of it at once, or its sum. A sum has a place only in
 * segments of format 2 and later.
 */
export interface StateHashMarker {
  readonly type: 'STATE_HASH' | 'STATE_SUM';
  readonly index: number;
  readonly stateHash: string;
}

export type Marker = SnapshotMarker | StateHashMarker;

const FRAME_TYPES = {
  SNAPSHOT: FrameType.snapshot,
  STATE_HASH: FrameType.stateHash,
  STATE_SUM: FrameType.stateSum,
} as const;

/** Appends a marker: a statement of the log about itself, between its records. */
export function putMarker(out: GrowingBuffer, marker: Marker): void {
  const start = beginFrame(out);
  const writer = new MsgpackWriter(out);
  if (marker.type === 'SNAPSHOT') {
    writer.array(4);
    writer.uint(marker.index);
    writer.uint(marker.bytes);
    writer.text(marker.sha256);
  } else {
    writer.array(2);
    writer.uint(marker.index);
  }
  writer.text(marker.stateHash);
  endFrame(out, start, FRAME_TYPES[marker.type]);
}

/** `place`: for the error, when a program that was wrong wrote it. */
export function readMarker({ type, payload }: Frame, place: LogPlace): Marker {
  const input = new MsgpackReader();
  input.begin(payload);
  try {
    if (type === FrameType.snapshot) {
      input.tuple(4);
      const marker = { index: input.uint(), bytes: input.uint(), sha256: input.text(), stateHash: input.text() };
      input.end();
      return { type: 'SNAPSHOT', ...marker };
    }
    input.tuple(2);
    const marker = { index: input.uint(), stateHash: input.text() };
    input.end();
    return { type: type === FrameType.stateSum ? 'STATE_SUM' : 'STATE_HASH', ...marker };
  } catch (cause) {
    throw new PersistenceError('DAMAGED', 'a frame that is whole but holds something else than its type says', {
      place,
      cause,
    });
  }
}
