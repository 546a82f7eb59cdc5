import type { Random } from '../engine/ports.js';
import { beginAnew, wholeSnapshot, type Whole } from './begin-anew.js';
import { LOCK_NAME, type Disk } from './disk.js';
import { verifyLog, type LogReport } from './inspect.js';
import type { Logger } from './logger.js';
import { PersistenceError } from './persistence-error.js';
import { recover } from './recovery.js';
import { compareIdentity, readStamp, stampOf, type Stamp } from './stamp.js';
import { removeUnfinished } from './tidy.js';

/** Where the state of a damaged log is still whole. */
export type RestoreSource =
  /** A directory with a log of the same chains and contracts: a copy, or another server's. */
  | { readonly type: 'LOG'; readonly disk: Disk }
  /** A snapshot of the damaged log itself. */
  | { readonly type: 'SNAPSHOT'; readonly disk: Disk; readonly name: string };

/**
 * Begins a log anew with the state of another, or of a snapshot; a start reads from the chains what came after it. The
 * log that was there is kept as `*.broken`. Records and events go on to count from the source's, and the epoch is a new
 * one, since the same numbers may come to mean something else than clients were told. Throws PersistenceError, and has
 * changed nothing then: whatever makes the source unusable, FOREIGN, NO_BASE, LOCKED.
 */
export async function restoreLog(
  disk: Disk,
  source: RestoreSource,
  random: Pick<Random, 'bytes'>,
  logger: Logger,
): Promise<LogReport> {
  const whole =
    source.type === 'LOG'
      ? await ofLog(disk, source.disk, logger)
      : await wholeSnapshot(disk, source.disk, source.name);
  const lock = await disk.lock(LOCK_NAME);
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
  try {
    await removeUnfinished(disk);
    await beginAnew(disk, whole, random, logger);
    return await verifyLog(disk, logger);
  } finally {
    await lock.release();
  }
}

async function ofLog(disk: Disk, source: Disk, logger: Logger): Promise<Whole> {
  const stamp = await stampOf(source);
  const own = await ownStamp(disk);
  const differences = own === null ? [] : compareIdentity(own.identity, stamp.identity);
  if (differences.length > 0) {
    const where = `${source.label} is the log of other chains or contracts than ${disk.label}`;
    throw new PersistenceError('FOREIGN', `${where}: ${differences.join('; ')}`);
  }
  const { engine } = await recover(source, stamp.epoch, stamp.reorgDepth, logger);
  return { engine, stamp };
}

/** Null: there is none that can be read, and the source has one. */
async function ownStamp(disk: Disk): Promise<Stamp | null> {
  try {
    return await readStamp(disk);
  } catch (error) {
    if (error instanceof PersistenceError && error.code === 'DAMAGED') return null;
    throw error;
  }
}
