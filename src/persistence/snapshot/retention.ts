import { type Disk, readStart } from '../disk/disk.js';
import { segmentName, segmentNumbers, snapshotIndexes, snapshotName } from '../format/file-names.js';
import { HEADER_BYTES, readSnapshotHeader } from '../format/header.js';
import { segmentStarts } from '../log/segment-reader.js';

export interface RetentionOptions {
  /** Snapshots that stay; at least two, so that one may rot. */
  readonly snapshotsKept: number;
  /** Older ones that stay besides, for answers about the past, while the log has all records behind them. Absent: none. */
  readonly pastSnapshots?: number;
  /** Segments that no kept snapshot needs stay while all together are no larger; Infinity keeps them all. */
  readonly retainLogBytes: number;
}

export interface Dropped {
  readonly snapshots: readonly string[];
  readonly segments: readonly string[];
}

/**
 * Removes snapshots but the newest, and the oldest segments whose records the oldest of `snapshotsKept` has all. Oldest
 * first, each made durable before the next, so that a crash never leaves a gap.
 */
export async function removeSuperseded(
  disk: Disk,
  { snapshotsKept, pastSnapshots = 0, retainLogBytes }: RetentionOptions,
): Promise<Dropped> {
  const names = await disk.list();
  const indexes = snapshotIndexes(names);
  const old = indexes.slice(0, Math.max(0, indexes.length - snapshotsKept - pastSnapshots));
  for (const index of old) await removeDurably(disk, snapshotName(index));
  const needed = indexes.slice(-snapshotsKept);
  const [oldestNeeded] = needed;
  const canDrop = oldestNeeded !== undefined && needed.length >= snapshotsKept;
  const coveredGroup = canDrop ? await lastGroupOf(disk, oldestNeeded) : null;
  const segments = coveredGroup === null ? [] : await dropSegments(disk, coveredGroup, retainLogBytes);
  const useless = await withoutRecords(disk, indexes.slice(old.length, -snapshotsKept));
  for (const index of useless) await removeDurably(disk, snapshotName(index));
  return { snapshots: [...old, ...useless].map(snapshotName), segments };
}

/** Snapshots among these that the log cannot be replayed from: some of the records behind them are gone. */
async function withoutRecords(disk: Disk, indexes: readonly number[]): Promise<number[]> {
  if (indexes.length === 0) return [];
  const [first] = await segmentStarts(disk);
  return indexes.filter((index) => index < (first?.first.index ?? 0));
}

/**
 * The group that ends with the snapshot's last record; null: its header is not readable, so that nobody knows what it
 * covers.
 */
async function lastGroupOf(disk: Disk, index: number): Promise<number | null> {
  const read = readSnapshotHeader(await readStart(disk, snapshotName(index), HEADER_BYTES));
  return typeof read === 'string' ? null : read.header.group;
}

/**
 * By groups and not by records: a start finds a snapshot's group in the log and compares the chain there, and behind
 * the snapshot's last record there may be groups without one before the next segment begins.
 */
async function dropSegments(disk: Disk, coveredGroup: number, retainLogBytes: number): Promise<string[]> {
  const starts = await segmentStarts(disk);
  const sizes = new Map<number, number>();
  for (const number of segmentNumbers(await disk.list())) sizes.set(number, await sizeOf(disk, segmentName(number)));
  let total = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const dropped: string[] = [];
  for (const [place, { number }] of starts.entries()) {
    const next = starts[place + 1];
    // The next segment's first point is the end of this one, so it says what this and earlier segments hold.
    if (next === undefined || next.first.group > coveredGroup || total <= retainLogBytes) break;
    await removeDurably(disk, segmentName(number));
    dropped.push(segmentName(number));
    total -= sizes.get(number) ?? 0;
  }
  return dropped;
}

async function sizeOf(disk: Disk, name: string): Promise<number> {
  const file = await disk.open(name, 'read');
  try {
    return await file.size();
  } finally {
    await file.close();
  }
}

async function removeDurably(disk: Disk, name: string): Promise<void> {
  await disk.remove(name);
  await disk.syncDirectory();
}
