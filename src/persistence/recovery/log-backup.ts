import { crc32 } from 'node:zlib';
import type { Random } from '../../engine/ports.js';
import {
  type Disk,
  type DiskFile,
  isMissing,
  type Logger,
  PersistenceError,
  readStart,
  readWhole,
  writeNew,
  writeWhole,
} from '../disk/disk.js';
import { checkJsonStore } from '../disk/json-store.js';
import {
  segmentName,
  segmentNumbers,
  snapshotIndexes,
  snapshotName,
  tradeFileName,
  tradeFileNumbers,
} from '../format/file-names.js';
import { FILL } from '../format/frame.js';
import { EPOCH_BYTES, HEADER_BYTES, readSnapshotHeader } from '../format/header.js';
import { MANIFEST_NAME, readManifest, requireManifest, writeManifest } from '../format/manifest.js';
import type { ScannedSegment } from '../log/log-scanner.js';
import { segmentStarts } from '../log/segment-reader.js';
import { HALT_NAME } from './halted-log.js';
import { type LogReport, verifyLog } from './log-tools.js';
import { lostTail, lostTailError } from './lost-tail.js';
import { recover } from './recovery.js';

/** A running service begins and drops segments and snapshots; a copy that meets one of these begins again. */
const ATTEMPTS = 10;
const PIECE_BYTES = 1 << 20;

/**
 * Copies a log, and the files kept beside it, into an empty directory, also while a service writes it. The copy ends
 * with one group of the source: its segments hold exactly the bytes up to there. The files beside it are read after the
 * log, so they are never older. The copy is then read back, and its state hash compared with the one that the source
 * gives at the same record. Throws PersistenceError; the manifest is written last, so what an interrupted copy leaves
 * is refused.
 */
export async function copyLog(source: Disk, target: Disk, logger: Logger): Promise<LogReport> {
  let previous: string | null = null;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await copyOnce(source, target, logger);
    } catch (error) {
      // Damage is there again, a file that changed meanwhile is not.
      const { message } = error as Error;
      if (!mayHaveChanged(error) || message === previous || attempt === ATTEMPTS) throw error;
      previous = message;
      logger.info({ reason: message, attempt }, 'log changed during the copy');
      for (const name of await target.list()) await target.remove(name);
    }
  }
}

function mayHaveChanged(error: unknown): boolean {
  if (!(error instanceof PersistenceError)) return isMissing(error);
  return ['DAMAGED', 'LOST_TAIL', 'NO_BASE', 'MISSING'].includes(error.code);
}

async function copyOnce(source: Disk, target: Disk, logger: Logger): Promise<LogReport> {
  const snapshots = snapshotIndexes(await source.list());
  const manifest = await requireManifest(source);
  const { engine, scan } = await recover(source, manifest.epoch, manifest.reorgDepth, logger);
  const lost = lostTail(manifest, scan);
  if (lost !== null) throw lostTailError(lost, scan);
  const stateHash = engine.stateHash();
  for (const segment of scan.segments) await copySegment(source, target, segment);
  for (const index of snapshots) await copySnapshot(source, target, index, scan.last.group);
  const kept = (await source.list()).filter(isStore);
  for (const name of [...new Set([...manifest.files, ...kept])]) await copyStore(source, target, name, logger);
  for (const number of tradeFileNumbers(await source.list())) await copyTradeFile(source, target, number, logger);
  // A log that halted stays one.
  if ((await source.list()).includes(HALT_NAME))
    await writeWhole(target, HALT_NAME, [await readWhole(source, HALT_NAME)]);
  const after = await requireManifest(source);
  if (!after.epoch.equals(manifest.epoch)) throw new PersistenceError('NO_BASE', `${source.label} began another log`);
  await writeManifest(target, { ...after, closedGroup: null });
  const report = await verifyLog(target, logger);
  if (report.lastIndex !== scan.last.index || report.stateHash !== stateHash) {
    const message = `the copy in ${target.label} has the state ${report.stateHash} at record ${report.lastIndex}`;
    throw new PersistenceError('DIFFERS', `${message}, the log has ${stateHash} at record ${scan.last.index}`);
  }
  return report;
}

/** The bytes that the scan checked, and unused space behind them as the segment was made with. */
async function copySegment(
  source: Disk,
  target: Disk,
  { number, end, madeBytes, checked }: ScannedSegment,
): Promise<void> {
  const name = segmentName(number);
  const bytes = await readStart(source, name, end);
  if (bytes.length !== end || crc32(bytes) !== checked.crc) {
    const place = { file: name, offset: 0, index: 0, seq: 0 };
    throw new PersistenceError('DAMAGED', 'it changed while it was copied', { place });
  }
  await writeNew(target, name, withUnused(bytes, madeBytes));
}

function* withUnused(bytes: Buffer, madeBytes: number): Generator<Uint8Array> {
  yield bytes;
  const unused = Buffer.alloc(Math.min(PIECE_BYTES, Math.max(0, madeBytes - bytes.length)), FILL);
  for (let at = bytes.length; at < madeBytes; at += unused.length) yield unused.subarray(0, madeBytes - at);
}

/** Leaves out one that a service made after the scan. */
async function copySnapshot(source: Disk, target: Disk, index: number, lastGroup: number): Promise<void> {
  const name = snapshotName(index);
  const bytes = await readWhole(source, name);
  const read = readSnapshotHeader(bytes.subarray(0, HEADER_BYTES));
  // One that cannot be read is of no use here either: the next start reports it.
  if (typeof read !== 'string' && read.header.group <= lastGroup) await writeNew(target, name, [bytes]);
}

/**
 * Derived from the log, and read after it: a start cuts off what the log of the copy does not have, and reads from it
 * what they lack. So one that cannot be read is left out.
 */
async function copyTradeFile(source: Disk, target: Disk, number: number, logger: Logger): Promise<void> {
  const name = tradeFileName(number);
  let bytes: Buffer;
  try {
    bytes = await readWhole(source, name);
  } catch (error) {
    // A service has just removed it for its age.
    if (!isMissing(error)) logger.warn({ err: error, file: name }, 'trade file not copied');
    return;
  }
  await writeNew(target, name, [bytes]);
}

/** The file is appended to and replaced as a whole: a read of it is right, or ends within a change. */
async function copyStore(source: Disk, target: Disk, name: string, logger: Logger): Promise<void> {
  const bytes = await readWhole(source, name);
  checkJsonStore(name, bytes, logger);
  await writeNew(target, name, [bytes]);
}

/**
 * Gives a log that was copied whole, but for its manifest, the manifest of its source under a new feed epoch: the
 * service goes on to give events the numbers that clients know of others. Then reads all of it back.
 */
export async function adoptLog(
  source: Disk,
  target: Disk,
  random: Pick<Random, 'bytes'>,
  logger: Logger,
): Promise<LogReport> {
  const manifest = await requireManifest(source);
  const feedEpoch = Buffer.from(random.bytes(EPOCH_BYTES));
  await target.syncDirectory();
  await writeManifest(target, { ...manifest, feedEpoch, closedGroup: null });
  return verifyLog(target, logger);
}

/** Names of the files beside a log; a manifest of format 1 does not list them. */
export function isStore(name: string): boolean {
  return /^(budgets|intents-.+)\.jsonl$/.test(name);
}

/** Whether the directory holds a log. */
export async function holdsLog(disk: Disk): Promise<boolean> {
  return (await disk.list()).includes(MANIFEST_NAME) && (await readManifest(disk)) !== null;
}

/** Bytes of the log's files, and what `verifyLog` and a start read of them; for an estimate. */
export async function logBytes(
  disk: Disk,
): Promise<{ readonly files: number; readonly verify: number; readonly recover: number }> {
  const names = await disk.list();
  const newest = snapshotIndexes(names).at(-1) ?? 0;
  const starts = await segmentStarts(disk);
  const first = starts.findLast((start) => start.first.index <= newest)?.number ?? 0;
  let [files, recover, replayed] = [0, 0, 0];
  for (const number of segmentNumbers(names)) {
    const bytes = await sizeOf(disk, segmentName(number));
    files += bytes;
    recover += bytes;
    if (number >= first) replayed += bytes;
  }
  for (const index of snapshotIndexes(names)) {
    const bytes = await sizeOf(disk, snapshotName(index));
    files += bytes;
    if (index === newest) replayed += bytes - HEADER_BYTES;
  }
  return { files, verify: files + replayed, recover: recover + replayed };
}

/** The same directory; `onRead` gets the bytes of each read, so that long work can show how far it is. */
export function meteredDisk(disk: Disk, onRead: (bytes: number) => void): Disk {
  return {
    label: disk.label,
    open: async (name, mode) => meteredFile(await disk.open(name, mode), onRead),
    list: () => disk.list(),
    rename: (from, to) => disk.rename(from, to),
    remove: (name) => disk.remove(name),
    syncDirectory: () => disk.syncDirectory(),
    space: () => disk.space(),
    lock: (name) => disk.lock(name),
  };
}

function meteredFile(file: DiskFile, onRead: (bytes: number) => void): DiskFile {
  return {
    name: file.name,
    write: (bytes, position) => file.write(bytes, position),
    async read(into, position) {
      const count = await file.read(into, position);
      onRead(count);
      return count;
    },
    size: () => file.size(),
    sync: () => file.sync(),
    close: () => file.close(),
  };
}

/** Space that a log takes of its volume. */
export interface LogStorage {
  readonly logBytes: number;
  readonly freeBytes: number;
  /** Unix milliseconds: time of the newest snapshot's last record. Null: there is no snapshot. */
  readonly snapshotMs: number | null;
}

export async function readStorage(disk: Disk): Promise<LogStorage> {
  const names = await disk.list();
  const snapshots = snapshotIndexes(names).map(snapshotName);
  let logBytes = 0;
  for (const name of [...segmentNumbers(names).map(segmentName), ...snapshots]) logBytes += await sizeOf(disk, name);
  const { freeBytes } = await disk.space();
  return { logBytes, freeBytes, snapshotMs: await timeOf(disk, snapshots.at(-1)) };
}

async function timeOf(disk: Disk, snapshot: string | undefined): Promise<number | null> {
  if (snapshot === undefined) return null;
  try {
    const read = readSnapshotHeader(await readStart(disk, snapshot, HEADER_BYTES));
    return typeof read === 'string' ? null : read.header.tsMs;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function sizeOf(disk: Disk, name: string): Promise<number> {
  try {
    const file = await disk.open(name, 'read');
    try {
      return await file.size();
    } finally {
      await file.close();
    }
  } catch (error) {
    // An estimate does not fail because a service dropped a file.
    if (isMissing(error)) return 0;
    throw error;
  }
}
