import type { Random } from '../../engine/ports.js';
import { RecordReader } from '../codec/record-codec.js';
import { type Disk, LOCK_NAME, type Logger, PersistenceError } from '../disk/disk.js';
import { compareIdentity, readManifest, type Manifest, requireManifest, writeManifest } from '../format/manifest.js';
import { scanLog } from '../log/log-scanner.js';
import { readRecords, segmentStarts } from '../log/segment-reader.js';
import { startNewLog, type WholeState, readWholeSnapshot } from './new-log.js';
import { continueLog, lostTail, lostTailError } from './lost-tail.js';
import { recover } from './recovery.js';
import { removeUnfinished, removeLeftovers } from './torn-tail.js';

/** Content of the disk, after every byte of it was checked. */
export interface LogReport {
  /** The one that clients see. */
  readonly epoch: string;
  readonly segments: number;
  readonly lastIndex: number;
  readonly lastSeq: number;
  /** Record that the newest usable snapshot gives the state of; 0: none. */
  readonly snapshotIndex: number;
  /** State hashes that the log told behind that and the replay came to again. */
  readonly comparedHashes: number;
  /** Of the engine that a replay gives. */
  readonly stateHash: string;
  /** Bytes behind the last whole group that a start will cut off; 0: none. */
  readonly tornBytes: number;
}

/**
 * Checks every byte, replays every record that no snapshot covers, and compares each state hash that the log tells.
 * Changes nothing. Beside a running server, what that is just writing looks like a torn tail. Throws PersistenceError.
 */
export async function verifyLog(disk: Disk, logger: Logger): Promise<LogReport> {
  const manifest = await requireManifest(disk);
  const recovered = await recover(disk, manifest.epoch, manifest.reorgDepth, logger);
  const { engine, scan, snapshotIndex, comparedHashes } = recovered;
  const lost = lostTail(manifest, scan);
  if (lost !== null) throw lostTailError(lost, scan);
  return {
    epoch: manifest.feedEpoch.toString('hex'),
    segments: scan.segments.length,
    lastIndex: scan.last.index,
    lastSeq: scan.last.seq,
    snapshotIndex,
    comparedHashes,
    stateHash: engine.stateHash(),
    tornBytes: scan.torn?.bytes ?? 0,
  };
}

/**
 * The records after `after` that are in the log, one line of JSON each; amounts are decimal strings. Where the log is
 * damaged it throws PersistenceError, after all records that lie before the damage.
 */
export async function* dumpLog(disk: Disk, after: number): AsyncGenerator<string> {
  const { lastIndex, damage } = await wholePart(disk, await requireManifest(disk));
  const reader = new RecordReader();
  for await (const records of readRecords(disk, await segmentStarts(disk), after, lastIndex)) {
    for (const { bytes, payloadAt, end } of records) {
      yield JSON.stringify(reader.read(bytes, payloadAt, end), (_, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      );
    }
  }
  if (damage !== null) throw damage;
}

/** The last record before the first damage, and what that is; null: the log is whole. */
async function wholePart(
  disk: Disk,
  manifest: Manifest,
): Promise<{ readonly lastIndex: number; readonly damage: PersistenceError | null }> {
  try {
    const scan = await scanLog(disk, manifest.epoch);
    const lost = lostTail(manifest, scan);
    return { lastIndex: scan.last.index, damage: lost && lostTailError(lost, scan) };
  } catch (error) {
    if (!(error instanceof PersistenceError) || error.code !== 'DAMAGED' || error.place === null) throw error;
    return { lastIndex: error.place.index, damage: error };
  }
}

/**
 * Does to the directory what a start would do: cuts off a torn tail and puts broken snapshots aside, both kept as
 * `*.broken`. A log that has lost its tail, which a start refuses, continues with what is left, under a new epoch.
 * Damage elsewhere is not for a program to mend: it throws PersistenceError, and the directory stays as it is.
 */
export async function repairLog(disk: Disk, random: Pick<Random, 'bytes'>, logger: Logger): Promise<LogReport> {
  // Before the lock, which makes a file: a directory that holds no log stays as it is, too.
  await requireManifest(disk);
  const lock = await disk.lock(LOCK_NAME);
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
  try {
    const { recovered, manifest, isNewEpoch } = await continueLog(disk, {
      acceptsLoss: true,
      isWeak: false,
      random,
      logger,
    });
    await removeUnfinished(disk);
    // Before anything is mended: a crash in between must not leave a log that looks whole under the old epoch.
    if (isNewEpoch) await writeManifest(disk, manifest);
    await removeLeftovers(disk, recovered, logger);
    return await verifyLog(disk, logger);
  } finally {
    await lock.release();
  }
}

/** Where the state of a damaged log is still whole. */
export type RestoreSource =
  /** A directory with a log of the same chains and contracts: a copy, or another server's. */
  | { readonly type: 'LOG'; readonly disk: Disk }
  /** A snapshot of the damaged log itself. */
  | { readonly type: 'SNAPSHOT'; readonly disk: Disk; readonly name: string };

/**
 * Begins a log anew with the state of another, or of a snapshot; a start reads from the chains what came after it. The
 * log that was there is kept as `*.broken`. Records and events go on to count from the source's, and the epoch is a new
 * one, since the same numbers may come to identify other events than the clients know. Throws PersistenceError, and has
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
      : await readWholeSnapshot(disk, source.disk, source.name);
  const lock = await disk.lock(LOCK_NAME);
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
  try {
    await removeUnfinished(disk);
    await startNewLog(disk, whole, random, logger);
    return await verifyLog(disk, logger);
  } finally {
    await lock.release();
  }
}

async function ofLog(disk: Disk, source: Disk, logger: Logger): Promise<WholeState> {
  const manifest = await requireManifest(source);
  const own = await readOwnManifest(disk);
  const differences = own === null ? [] : compareIdentity(own.identity, manifest.identity);
  if (differences.length > 0) {
    const where = `${source.label} is the log of other chains or contracts than ${disk.label}`;
    throw new PersistenceError('FOREIGN', `${where}: ${differences.join('; ')}`);
  }
  const { engine } = await recover(source, manifest.epoch, manifest.reorgDepth, logger);
  return { engine, manifest };
}

/** Null: absent or unreadable here, while the source has one. */
async function readOwnManifest(disk: Disk): Promise<Manifest | null> {
  try {
    return await readManifest(disk);
  } catch (error) {
    if (error instanceof PersistenceError && error.code === 'DAMAGED') return null;
    throw error;
  }
}
