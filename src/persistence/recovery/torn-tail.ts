import { type Disk, type Logger, readWhole, TEMPORARY, writeWhole } from '../disk/disk.js';
import { segmentName, snapshotName } from '../format/file-names.js';
import { endOfContent, FILL, LEAST_SEGMENT_BYTES } from '../format/frame.js';
import { FILLED_FORMAT } from '../format/header.js';
import type { LogScan, ScannedSegment } from '../log/log-scanner.js';
import type { Recovered } from './recovery.js';

/** Rewriting goes in pieces of this size. */
const PIECE_BYTES = 1 << 20;

/**
 * Leaves nothing behind the last whole group but unused space. Bytes that stood there are first kept in `*.broken`
 * files, durable before anything is overwritten, so that a crash in between only means that this is done again. No segment is
 * removed: a log with a stamp and without segments is refused.
 */
async function cutTornTail(
  disk: Disk,
  scan: Pick<LogScan, 'torn' | 'lost' | 'emptySegments' | 'readySegments'> & {
    readonly segments: readonly Pick<ScannedSegment, 'number' | 'end' | 'madeBytes' | 'format'>[];
  },
  logger: Logger,
): Promise<void> {
  const { torn, lost, emptySegments, readySegments } = scan;
  const unready = emptySegments.filter((number) => !readySegments.includes(number));
  if (torn === null && lost === null && unready.length === 0) return;
  const last = scan.segments.at(-1);
  const names = await disk.list();
  const kept: string[] = [];
  const cut = async (number: number, start: number, fill: number, endBytes: number | null): Promise<void> => {
    const name = segmentName(number);
    const bytes = await readWhole(disk, name);
    const end = endOfContent(bytes, start);
    if (end > start) {
      const copy = brokenName(names, `${name}.${start}`);
      await writeWhole(disk, copy, [bytes.subarray(start, end)]);
      kept.push(copy);
    }
    await overwrite(disk, name, start, Math.max(end, endBytes ?? Math.max(bytes.length, LEAST_SEGMENT_BYTES)), fill);
  };
  if (last !== undefined && (torn !== null || lost !== null)) {
    await cut(last.number, last.end, last.format >= FILLED_FORMAT ? FILL : 0, last.madeBytes);
  }
  for (const number of unready) await cut(number, 0, FILL, null);
  if (torn === null) return;
  logger.warn(
    { segment: segmentName(torn.number), offset: torn.offset, bytes: torn.bytes, reason: torn.reason, kept },
    'torn tail cut off',
  );
}

/** A name that is not taken, under which `wanted` is kept for people. */
export function brokenName(names: readonly string[], wanted: string): string {
  for (let attempt = 1; ; attempt += 1) {
    const name = attempt === 1 ? `${wanted}.broken` : `${wanted}.${attempt}.broken`;
    if (!names.includes(name)) return name;
  }
}

/** The file is at least `end` bytes long afterwards. */
async function overwrite(disk: Disk, name: string, start: number, end: number, fill: number): Promise<void> {
  if (end <= start) return;
  const file = await disk.open(name, 'write');
  try {
    const piece = Buffer.alloc(Math.min(PIECE_BYTES, end - start), fill);
    for (let at = start; at < end; at += piece.length) await file.write(piece.subarray(0, end - at), at);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Makes durable what was read. A group may be whole in the page cache and not on the disk, and after a failed sync the
 * kernel holds its pages for clean: a sync alone would say yes and do nothing. Writing the same bytes again makes them
 * dirty. Only groups that no later one calls durable are touched.
 */
async function settleTail(disk: Disk, scan: LogScan): Promise<void> {
  const last = scan.segments.at(-1);
  if (last === undefined) return;
  const file = await disk.open(segmentName(last.number), 'write');
  try {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, last.end - last.durableEnd));
    for (let at = last.durableEnd; at < last.end; at += piece.length) {
      const part = piece.subarray(0, last.end - at);
      await file.read(part, at);
      await file.write(part, at);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Leaves on the disk what was understood of it, durable, and nothing else; what is cut off or passed over is kept for
 * people.
 */
export async function removeLeftovers(disk: Disk, { scan, passedSnapshots }: Recovered, logger: Logger): Promise<void> {
  await cutTornTail(disk, scan, logger);
  await settleTail(disk, scan);
  if (passedSnapshots.length > 0) {
    const names = await disk.list();
    for (const name of passedSnapshots.map(snapshotName)) await disk.rename(name, brokenName(names, name));
  }
  // Always: a process that died just after it made a segment, a snapshot or the stamp may have left its name in memory
  // alone, and from here on all that is there is counted on.
  await disk.syncDirectory();
}

/** Removes files that a dead process left half written: no reader relies on them, and their names are needed again. */
export async function removeUnfinished(disk: Disk): Promise<void> {
  for (const name of await disk.list()) if (name.endsWith(TEMPORARY)) await disk.remove(name);
}
