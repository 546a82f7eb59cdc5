import { createHash } from 'node:crypto';
import type { EngineState } from '../../engine/state-rows.js';
import { decodeState, encodeState } from '../codec/state-codec.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { type Disk, PersistenceError, readWhole, writeNew } from '../disk/disk.js';
import { keepReserve } from '../disk/free-space.js';
import { snapshotName } from '../format/file-names.js';
import { beginFrame, endFrame, FrameType, readFrame } from '../format/frame.js';
import { type LogPoint, putSnapshotHeader, readSnapshotHeader, type SnapshotHeader } from '../format/header.js';

const FRAME_BYTES = 512 << 10;

/** Identity of a snapshot file's content. */
export interface SnapshotSeal {
  readonly bytes: number;
  /** Of everything before the END frame, which holds it; 64 hex digits. */
  readonly sha256: string;
}

export interface ReadSnapshot extends SnapshotSeal {
  readonly header: SnapshotHeader;
  readonly state: EngineState;
}

/**
 * Makes the file `name`, whose bytes are durable when it resolves. `point`: the end of the group whose last record the
 * state contains. Rejects with ENOSPC, a part of it written, where less than `keepFreeBytes` would stay free.
 */
export async function writeSnapshot(
  disk: Disk,
  name: string,
  epoch: Buffer,
  point: LogPoint,
  state: EngineState,
  keepFreeBytes = 0,
): Promise<SnapshotSeal> {
  const [, , tsMs] = state.counters;
  const seal = { bytes: 0, sha256: '' };
  await writeNew(disk, name, keepReserve(disk, keepFreeBytes, framesOf({ ...point, epoch, tsMs }, state, seal)));
  return seal;
}

/** The file frame by frame; each is valid until the next is asked for. `seal` is filled in on the way. */
function* framesOf(
  header: SnapshotHeader,
  state: EngineState,
  seal: { bytes: number; sha256: string },
): Generator<Buffer> {
  const hash = createHash('sha256');
  const frame = new GrowingBuffer(FRAME_BYTES);
  putSnapshotHeader(frame, header);
  hash.update(frame.view());
  seal.bytes += frame.length;
  yield frame.view();
  for (const chunk of encodeState(state)) {
    putFrame(frame, FrameType.chunk, chunk);
    hash.update(frame.view());
    seal.bytes += frame.length;
    yield frame.view();
  }
  const digest = hash.digest();
  putFrame(frame, FrameType.end, digest);
  seal.bytes += frame.length;
  seal.sha256 = digest.toString('hex');
  yield frame.view();
}

function putFrame(out: GrowingBuffer, type: FrameType, payload: Uint8Array): void {
  out.clear(FRAME_BYTES);
  const start = beginFrame(out);
  out.put(payload);
  endFrame(out, start, type);
}

/**
 * Throws PersistenceError: DAMAGED, naming the place, on a file that is not a whole snapshot of record `index`;
 * NEWER_FORMAT.
 */
export async function readSnapshot(disk: Disk, index: number): Promise<ReadSnapshot> {
  const file = snapshotName(index);
  const snapshot = await readSnapshotFile(disk, file);
  const found = snapshot.header.index;
  if (found === index) return snapshot;
  const place = { file, offset: 0, index: 0, seq: 0 };
  throw new PersistenceError('DAMAGED', `it is of record ${found} by its header`, { place });
}

/** As `readSnapshot`, of whatever record it is. */
export async function readSnapshotFile(disk: Disk, file: string): Promise<ReadSnapshot> {
  return readSnapshotBytes(await readWhole(disk, file), file);
}

/** The same of a file's bytes; `file` names them in errors. */
export function readSnapshotBytes(bytes: Buffer, file: string): ReadSnapshot {
  const damage: Damage = (reason, offset, cause) =>
    new PersistenceError('DAMAGED', reason, { place: { file, offset, index: 0, seq: 0 }, cause });
  const head = readSnapshotHeader(bytes);
  if (typeof head === 'string') throw damage(head, 0);
  const { header, frame } = head;
  const { chunks, sha256 } = readChunks(bytes, frame.end, damage);
  try {
    const state = { counters: [header.index, header.seq, header.tsMs] as const, ...decodeState(chunks) };
    return { header, state, bytes: bytes.length, sha256 };
  } catch (cause) {
    throw damage('its content is not a state', frame.end, cause);
  }
}

type Damage = (reason: string, offset: number, cause?: unknown) => PersistenceError;

/** All frames from `start` to the end of the file, which has to be an END with the right hash. */
function readChunks(
  bytes: Buffer,
  start: number,
  damage: Damage,
): { readonly chunks: Buffer[]; readonly sha256: string } {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const frame = readFrame(bytes, at);
    if (typeof frame === 'string') throw damage(frame, at);
    at = frame.end;
    if (frame.type === FrameType.chunk) {
      chunks.push(frame.payload);
      continue;
    }
    if (frame.type !== FrameType.end) throw damage(`a frame of type ${frame.type} among chunks`, frame.start);
    const digest = createHash('sha256').update(bytes.subarray(0, frame.start)).digest();
    if (!digest.equals(frame.payload)) throw damage('its hash is wrong', frame.start);
    if (at !== bytes.length) throw damage('there is something behind its end', at);
    return { chunks, sha256: digest.toString('hex') };
  }
}
