import { type Disk, type DiskFile, isDiskFull, TEMPORARY } from '../disk/disk.js';
import { FILL } from './frame.js';

/** A new segment is written and synced in pieces of this size, so that commits pass between them. */
const FILL_BYTES = 1 << 20;
/** A volume holds at least this many segments, so that making one ready never takes most of what is free. */
const SEGMENTS_A_VOLUME = 32;
const MIN_SEGMENT_BYTES = 1 << 20;

const SEGMENT_NAME = /^segment-([0-9]{8,})\.log$/;
const SNAPSHOT_NAME = /^snapshot-([0-9]{16})\.snap$/;
const TRADE_FILE_NAME = /^trades-([0-9]{8,})\.log$/;

export function segmentName(number: number): string {
  return `segment-${String(number).padStart(8, '0')}.log`;
}

export function snapshotName(index: number): string {
  return `snapshot-${String(index).padStart(16, '0')}.snap`;
}

export function tradeFileName(number: number): string {
  return `trades-${String(number).padStart(8, '0')}.log`;
}

/** Numbers of the segments among the names, rising. */
export function segmentNumbers(names: readonly string[]): number[] {
  return numbersIn(names, SEGMENT_NAME);
}

/** Record indexes of the snapshots among the names, rising. */
export function snapshotIndexes(names: readonly string[]): number[] {
  return numbersIn(names, SNAPSHOT_NAME);
}

/** Numbers of the files of trades among the names, rising. */
export function tradeFileNumbers(names: readonly string[]): number[] {
  return numbersIn(names, TRADE_FILE_NAME);
}

function numbersIn(names: readonly string[], pattern: RegExp): number[] {
  return names
    .flatMap((name) => pattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** The size asked for, or less on a volume where that would be a large part of it. */
export async function segmentBytesFor(disk: Disk, wantedBytes: number): Promise<number> {
  const { totalBytes } = await disk.space();
  return Math.min(wantedBytes, Math.max(MIN_SEGMENT_BYTES, Math.floor(totalBytes / SEGMENTS_A_VOLUME)));
}

/**
 * Makes segment `number`, `bytes` long and all FILL, durable with its name: from then on a write into it changes no metadata. False
 * when `isWanted` said no in between; nothing is left of it then, nor when it rejects for want of room.
 */
export async function prepareSegment(
  disk: Disk,
  number: number,
  bytes: number,
  isWanted: () => boolean,
): Promise<boolean> {
  const name = segmentName(number);
  const file = await disk.open(name + TEMPORARY, 'create');
  try {
    const unused = Buffer.alloc(Math.min(FILL_BYTES, bytes), FILL);
    for (let position = 0; position < bytes; position += unused.length) {
      if (!isWanted()) {
        await discard(disk, file);
        return false;
      }
      await file.write(unused.subarray(0, bytes - position), position);
      await file.sync();
    }
    await disk.rename(file.name, name);
    await disk.syncDirectory();
  } catch (error) {
    if (isDiskFull(error)) await discard(disk, file);
    throw error;
  }
  await file.close();
  return true;
}

async function discard(disk: Disk, file: DiskFile): Promise<void> {
  await file.close();
  await disk.remove(file.name);
}
