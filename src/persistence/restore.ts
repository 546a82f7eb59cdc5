import type { Engine } from '../engine/engine.js';
import type { Random } from '../engine/ports.js';
import { COMMIT_BYTES, EPOCH_BYTES, firstChain, putCommit } from './commit.js';
import { TEMPORARY, writeWhole, type Disk } from './disk.js';
import { HEADER_BYTES, putSegmentHeader, type LogPoint } from './file-header.js';
import { FRAME_HEAD_BYTES } from './frame.js';
import { freshEngine } from './fresh-engine.js';
import { GrowingBuffer } from './growing-buffer.js';
import { putAside } from './halted-log.js';
import { stampOf, verifyLog, type LogReport } from './inspect.js';
import type { Logger } from './logger.js';
import { LOCK_NAME } from './open-log.js';
import { PersistenceError } from './persistence-error.js';
import { recover } from './recovery.js';
import { segmentName, segmentNumbers, snapshotName } from './segment.js';
import { readSnapshotFile, writeSnapshot } from './snapshot.js';
import { compareIdentity, readStamp, writeStamp, type Stamp } from './stamp.js';
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
  const { engine, stamp } =
    source.type === 'LOG' ? await ofLog(disk, source.disk, logger) : await ofSnapshot(disk, source);
  const lock = await disk.lock(LOCK_NAME);
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
  try {
    await removeUnfinished(disk);
    const last = segmentNumbers(await disk.list()).at(-1) ?? 1;
    // The stamp stays: until the very end the directory is one whose log is gone, and no start takes it for a new one.
    const setAside = await putAside(disk);
    await beginWith(disk, engine, { ...stamp, epoch: Buffer.from(random.bytes(EPOCH_BYTES)) }, last + 1);
    logger.info({ index: engine.index, seq: engine.seq, setAside }, 'the log is begun anew with that state');
    return await verifyLog(disk, logger);
  } finally {
    await lock.release();
  }
}

interface Whole {
  readonly engine: Engine;
  /** Its epoch is to be another one. */
  readonly stamp: Stamp;
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

async function ofSnapshot(disk: Disk, { disk: source, name }: RestoreSource & { type: 'SNAPSHOT' }): Promise<Whole> {
  // A snapshot does not say of which chains it is: the stamp does.
  const stamp = await stampOf(disk);
  const { header, state } = await readSnapshotFile(source, name);
  if (!header.epoch.equals(stamp.epoch)) {
    throw new PersistenceError('FOREIGN', `${name} is a snapshot of another log than the one in ${disk.label}`);
  }
  const engine = freshEngine(stamp.reorgDepth);
  engine.importState(state);
  return { engine, stamp };
}

/** `number`: of its first segment; not 1, which begins with record 1. */
async function beginWith(disk: Disk, engine: Engine, stamp: Stamp, number: number): Promise<void> {
  const { epoch } = stamp;
  const point: LogPoint = { index: engine.index, seq: engine.seq, group: 0, chain: firstChain(epoch) };
  const draft = snapshotName(engine.index) + TEMPORARY;
  await writeSnapshot(disk, draft, epoch, point, engine.exportState());
  await disk.rename(draft, snapshotName(engine.index));
  await writeWhole(disk, segmentName(number), [firstGroup(epoch, number, point)]);
  await writeStamp(disk, stamp);
}

/** A segment's HEADER and a group without records, which makes it one that is begun. */
function firstGroup(epoch: Buffer, number: number, point: LogPoint): Buffer {
  const header = new GrowingBuffer(HEADER_BYTES);
  putSegmentHeader(header, { ...point, epoch, number });
  const commit = new GrowingBuffer(FRAME_HEAD_BYTES + COMMIT_BYTES);
  const { index, seq, group, chain } = point;
  putCommit(commit, epoch, chain, header.view(), { index, seq, group: group + 1, durable: group, records: 0 });
  return Buffer.concat([header.view(), commit.view()]);
}
