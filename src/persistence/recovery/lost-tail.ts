import type { Random } from '../../engine/ports.js';
import { type Disk, type Logger, lostTailAt, PersistenceError } from '../disk/disk.js';
import { segmentName } from '../format/file-names.js';
import { EPOCH_BYTES } from '../format/header.js';
import { type Manifest, requireManifest } from '../format/manifest.js';
import type { LogScan, LostTail } from '../log/log-scanner.js';
import { startNewLog, readWholeSnapshot } from './new-log.js';
import { recover, type Recovered, type StartScan } from './recovery.js';

/** A log as it was found, with the manifest that its next process continues with. */
export interface Continued {
  readonly recovered: Recovered;
  /** Not written yet. */
  readonly manifest: Manifest;
  /** Whether the manifest has another feed epoch than the one on the disk. */
  readonly isNewEpoch: boolean;
}

export interface ContinueOptions {
  /** Continue where the log has lost its last records; else that throws LOST_TAIL. */
  readonly acceptsLoss: boolean;
  /** Whether a log of an older program, which does not say, counts as written with weak sync. */
  readonly isWeak: boolean;
  readonly random: Pick<Random, 'bytes'>;
  readonly logger: Logger;
  readonly startScan?: StartScan | undefined;
}

/**
 * Reads the log and decides whether the epoch may stay: it may not where events that clients received may be lost,
 * since the log will give their numbers to other events. That is so where the log has lost its tail, and after a process
 * that wrote with weak sync and did not close the log. A log that ends before its newest snapshot begins anew with that.
 */
export async function continueLog(disk: Disk, options: ContinueOptions): Promise<Continued> {
  const { acceptsLoss, isWeak, random, logger, startScan } = options;
  const found = await requireManifest(disk);
  let recovered: Recovered;
  try {
    recovered = await recover(disk, found.epoch, found.reorgDepth, logger, startScan);
  } catch (error) {
    if (!(error instanceof PersistenceError) || error.code !== 'LOST_TAIL' || error.place === null) throw error;
    if (!acceptsLoss) throw error;
    logger.warn({ reason: error.message }, 'log tail lost');
    await startNewLog(disk, await readWholeSnapshot(disk, disk, error.place.file), random, logger);
    const manifest = await requireManifest(disk);
    recovered = await recover(disk, manifest.epoch, manifest.reorgDepth, logger);
    return { recovered, manifest, isNewEpoch: false };
  }
  const { scan } = recovered;
  const lost = lostTail(found, scan);
  if (lost !== null && !acceptsLoss) throw lostTailError(lost, scan);
  const wasWeak = found.sync === null ? isWeak : found.sync !== 'always';
  const isUnclosed = wasWeak && found.closedGroup !== scan.last.group;
  if (lost === null && !isUnclosed) return { recovered, manifest: found, isNewEpoch: false };
  const why = lost?.reason ?? 'its last process wrote with weak sync and did not close it';
  const feedEpoch = Buffer.from(random.bytes(EPOCH_BYTES));
  const epoch = feedEpoch.toString('hex');
  logger.warn({ reason: why, epoch }, 'new log epoch');
  return { recovered, manifest: { ...found, feedEpoch, closedGroup: null }, isNewEpoch: true };
}

/** The part that the log has lost at its end, by its files and by its manifest. */
export function lostTail(manifest: Manifest, scan: LogScan): LostTail | null {
  const last = scan.segments.at(-1);
  const { group } = scan.last;
  if (manifest.closedGroup !== null && group < manifest.closedGroup) {
    const reason = `the log was closed after group ${manifest.closedGroup}, and ends with group ${group}`;
    return { number: last?.number ?? 1, offset: last?.end ?? 0, reason };
  }
  // An older program may have begun it, and made its first segment of zeros.
  return last === undefined && manifest.sync === null ? null : scan.lost;
}

export function lostTailError(
  { reason, number, offset }: LostTail,
  { last: { index, seq } }: LogScan,
): PersistenceError {
  return lostTailAt({ file: segmentName(number), offset, index, seq }, reason);
}
