import type { Random } from '../engine/ports.js';
import { LOCK_NAME, type Disk } from './disk.js';
import { continueLog, lostTail, lostTailError } from './lost-tail.js';
import { readRecords, segmentStarts } from './log-records.js';
import type { Logger } from './logger.js';
import { PersistenceError } from './persistence-error.js';
import { recover } from './recovery.js';
import { RecordReader } from './record-codec.js';
import { stampOf, writeStamp, type Stamp } from './stamp.js';
import { surveyLog } from './survey.js';
import { removeUnfinished, tidy } from './tidy.js';

/** What is on the disk, after every byte of it was checked. */
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
  const stamp = await stampOf(disk);
  const recovered = await recover(disk, stamp.epoch, stamp.reorgDepth, logger);
  const { engine, survey, snapshotIndex, comparedHashes } = recovered;
  const lost = lostTail(stamp, survey);
  if (lost !== null) throw lostTailError(lost, survey);
  return {
    epoch: stamp.feedEpoch.toString('hex'),
    segments: survey.segments.length,
    lastIndex: survey.last.index,
    lastSeq: survey.last.seq,
    snapshotIndex,
    comparedHashes,
    stateHash: engine.stateHash(),
    tornBytes: survey.torn?.bytes ?? 0,
  };
}

/**
 * The records after `after` that are in the log, one line of JSON each; amounts are decimal strings. Where the log is
 * damaged it throws PersistenceError, after all records that lie before the damage.
 */
export async function* dumpLog(disk: Disk, after: number): AsyncGenerator<string> {
  const { lastIndex, damage } = await wholePart(disk, await stampOf(disk));
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
  stamp: Stamp,
): Promise<{ readonly lastIndex: number; readonly damage: PersistenceError | null }> {
  try {
    const survey = await surveyLog(disk, stamp.epoch);
    const lost = lostTail(stamp, survey);
    return { lastIndex: survey.last.index, damage: lost && lostTailError(lost, survey) };
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
  await stampOf(disk);
  const lock = await disk.lock(LOCK_NAME);
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
  try {
    const { recovered, stamp, isNewEpoch } = await continueLog(disk, {
      acceptsLoss: true,
      isWeak: false,
      random,
      logger,
    });
    await removeUnfinished(disk);
    // Before anything is mended: a crash in between must not leave a log that looks whole under the old epoch.
    if (isNewEpoch) await writeStamp(disk, stamp);
    await tidy(disk, recovered, logger);
    return await verifyLog(disk, logger);
  } finally {
    await lock.release();
  }
}
