import { createHash } from 'node:crypto';
import path from 'node:path';
import { keyFileProblems, LEDGER, PROOFS, SECRET, SELF_KEYS } from '../auth/key-store.js';
import type { Random } from '../engine/ports.js';
import type { Disk, Logger } from '../persistence/disk/disk.js';
import { isMissing, PersistenceError, readStart, readWhole, writeNew, writeWhole } from '../persistence/disk/disk.js';
import { checkJsonStore, STORE_FORMAT } from '../persistence/disk/json-store.js';
import { nodeDiskAt, openNodeDisk } from '../persistence/disk/node-disk.js';
import { segmentName, segmentNumbers, snapshotIndexes, snapshotName } from '../persistence/format/file-names.js';
import { FILE_FORMAT, HEADER_BYTES, readSegmentHeader, readSnapshotHeader } from '../persistence/format/header.js';
import { MANIFEST_FORMAT, MANIFEST_NAME, requireManifest } from '../persistence/format/manifest.js';
import { adoptLog, copyLog, holdsLog, isStore, logBytes, meteredDisk } from '../persistence/recovery/log-backup.js';
import { type LogReport, verifyLog } from '../persistence/recovery/log-tools.js';
import type { WorkProgress } from './progress.js';

/** Of a backup: what is in it. Written last, so a directory without it holds no whole backup. */
const BACKUP_NAME = 'backup.json';
const BACKUP_FORMAT = 1;

/** The directory cannot be backed up, restored or read; the message says why. */
class BackupError extends Error {
  override readonly name = 'BackupError';
}

interface BackedUpLog extends Pick<LogReport, 'epoch' | 'lastIndex' | 'lastSeq' | 'stateHash'> {
  /** The profile's directory below the data directory. */
  readonly name: string;
}

export interface Backup {
  readonly format: number;
  /** Of the program that made it. */
  readonly version: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly logs: readonly BackedUpLog[];
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
}

export interface BackupContext {
  readonly logger: Logger;
  readonly progress: WorkProgress;
}

/**
 * Copies the keys and every log of a data directory into an empty one, also while services run on it. Each log is a
 * consistent state of one moment, read back and compared (see `copyLog`).
 */
export async function backUp(
  dataDir: string,
  target: string,
  version: string,
  now: Date,
  { logger, progress }: BackupContext,
): Promise<Backup> {
  const names = await logNames(dataDir);
  if (names.length === 0) throw new BackupError(`${dataDir} holds no log: name the service's data directory`);
  await requireEmpty(target);
  const out = await openNodeDisk(target);
  const logs: BackedUpLog[] = [];
  const places: string[] = [];
  for (const name of names) {
    const read = (bytes: number): void => progress.advance(bytes);
    const source = nodeDiskAt(path.join(dataDir, name));
    const { files, verify } = await logBytes(source);
    progress.begin(`backing up ${name}`, 2 * verify + files);
    const copy = meteredDisk(await openNodeDisk(path.join(target, name)), read);
    const { epoch, lastIndex, lastSeq, stateHash } = await copyLog(meteredDisk(source, read), copy, logger);
    progress.end();
    logs.push({ name, epoch, lastIndex, lastSeq, stateHash });
    places.push(...(await copy.list()).sort().map((file) => path.posix.join(name, file)));
  }
  const keys = nodeDiskAt(dataDir);
  // The ledger first: a key is in it only after the secret is there.
  for (const file of [LEDGER, PROOFS, SELF_KEYS, SECRET]) {
    if (!(await keys.list()).includes(file)) continue;
    await writeNew(out, file, [await readWhole(keys, file)]);
    places.push(file);
  }
  const files = [];
  for (const place of places) files.push({ path: place, ...(await digest(target, place)) });
  const backup: Backup = { format: BACKUP_FORMAT, version, createdAt: now.toISOString(), logs, files };
  await writeWhole(out, BACKUP_NAME, [Buffer.from(`${JSON.stringify(backup, null, 2)}\n`)]);
  return backup;
}

/**
 * Copies a backup into an empty data directory: every file is compared with its checksum, every log is read back and
 * compared with the state hash of the backup. Logs get a new feed epoch.
 */
export async function restoreBackup(
  source: string,
  dataDir: string,
  random: Pick<Random, 'bytes'>,
  { logger, progress }: BackupContext,
): Promise<Backup> {
  const backup = await readBackup(source);
  await requireEmpty(dataDir);
  await openNodeDisk(dataDir);
  progress.begin(
    'restoring files',
    backup.files.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  for (const { path: place, bytes, sha256 } of backup.files) {
    const from = nodeDiskAt(path.join(source, path.dirname(place)));
    const content = await readWhole(from, path.basename(place));
    if (content.length !== bytes || sha256Of(content) !== sha256) {
      throw new BackupError(`${path.join(source, place)} is not the file that was backed up: its checksum differs`);
    }
    const to = await openNodeDisk(path.join(dataDir, path.dirname(place)));
    // A log without its manifest is refused by a start, so an interrupted restore cannot pass for a whole one.
    if (path.basename(place) !== MANIFEST_NAME) await writeNew(to, path.basename(place), [content]);
    await to.syncDirectory();
    progress.advance(bytes);
  }
  progress.end();
  for (const { name, lastIndex, stateHash } of backup.logs) {
    const restored = nodeDiskAt(path.join(dataDir, name));
    progress.begin(`verifying ${name}`, (await logBytes(restored)).verify);
    const metered = meteredDisk(restored, (bytes) => progress.advance(bytes));
    const report = await adoptLog(nodeDiskAt(path.join(source, name)), metered, random, logger);
    progress.end();
    if (report.lastIndex !== lastIndex || report.stateHash !== stateHash) {
      const found = `${report.stateHash} at record ${report.lastIndex}`;
      throw new BackupError(`${name} has the state ${found}, and the backup ${stateHash} at record ${lastIndex}`);
    }
  }
  return backup;
}

async function readBackup(directory: string): Promise<Backup> {
  const disk = nodeDiskAt(directory);
  if (!(await disk.list()).includes(BACKUP_NAME)) {
    throw new BackupError(`${directory} holds no whole backup: it has no ${BACKUP_NAME}`);
  }
  const text = (await readWhole(disk, BACKUP_NAME)).toString('utf8');
  let backup: Partial<Backup> | null;
  try {
    backup = JSON.parse(text) as Partial<Backup> | null;
  } catch (cause) {
    throw new BackupError(`${path.join(directory, BACKUP_NAME)} is not JSON`, { cause });
  }
  const { format, logs, files } = backup ?? {};
  if (format !== undefined && format > BACKUP_FORMAT) {
    throw new BackupError(`${directory} has format ${format}, this program reads up to ${BACKUP_FORMAT}`);
  }
  if (!Array.isArray(logs) || !Array.isArray(files)) throw new BackupError(`${BACKUP_NAME} lacks what a backup says`);
  for (const { path: place } of files as Backup['files']) {
    // A restore writes below the data directory alone.
    if (!/^([\w-][\w.-]*\/)?[\w-][\w.-]*$/.test(place)) throw new BackupError(`${BACKUP_NAME} names a file ${place}`);
  }
  return backup as Backup;
}

export interface FoundFormat {
  /** `arbitrum/segment-00000001.log` or the like. */
  readonly file: string;
  /** Null: it cannot be read. */
  readonly format: number | null;
  /** The format that this version writes, and the newest that it reads. */
  readonly current: number;
  readonly problem: string | null;
}

export interface UpgradeReport {
  /** Files of older formats, and those that cannot be read. */
  readonly files: readonly FoundFormat[];
  readonly logs: readonly BackedUpLog[];
  readonly problems: readonly string[];
  /** Names of what a start of this version begins to write in a newer format than an older program reads. */
  readonly raised: readonly string[];
}

/**
 * Whether this version can go on with a data directory, or a backup: the format of every file, then each log is replayed
 * and its state hashes compared. Changes nothing.
 */
export async function checkUpgrade(dataDir: string, { logger, progress }: BackupContext): Promise<UpgradeReport> {
  const files: FoundFormat[] = [];
  const logs: BackedUpLog[] = [];
  const problems: string[] = [];
  const names = await logNames(dataDir);
  if (names.length === 0) throw new BackupError(`${dataDir} holds no log: name the service's data directory`);
  for (const name of names) {
    const disk = nodeDiskAt(path.join(dataDir, name));
    const found = await formatsOf(disk, name, logger);
    files.push(...found);
    const wrong = found.filter(({ problem }) => problem !== null);
    problems.push(...wrong.map(({ file, problem }) => `${file}: ${problem}`));
    if (wrong.length > 0) continue;
    progress.begin(`reading ${name}`, (await logBytes(disk)).verify);
    try {
      const metered = meteredDisk(disk, (bytes) => progress.advance(bytes));
      const { epoch, lastIndex, lastSeq, stateHash } = await verifyLog(metered, logger);
      logs.push({ name, epoch, lastIndex, lastSeq, stateHash });
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    } finally {
      progress.end();
    }
  }
  problems.push(...(await keyProblems(nodeDiskAt(dataDir))));
  const older = files.filter(({ format, current }) => format !== null && format < current);
  return { files: files.filter(({ format, current }) => format !== current), logs, problems, raised: kindsOf(older) };
}

async function keyProblems(disk: Disk): Promise<string[]> {
  const names = await disk.list();
  try {
    const problems = await keyFileProblems({
      read: async (name) => (names.includes(name) ? (await readWhole(disk, name)).toString('utf8') : null),
    });
    return problems.map(({ message }) => message);
  } catch (error) {
    return [(error as Error).message];
  }
}

function kindsOf(files: readonly FoundFormat[]): string[] {
  const kinds = files.map(({ file, format, current }) => {
    const name = path.basename(file);
    const kind = isStore(name) ? 'files beside the log' : name === MANIFEST_NAME ? name : 'log';
    return `${kind}: format ${format} becomes ${current}`;
  });
  return [...new Set(kinds)];
}

async function formatsOf(disk: Disk, name: string, logger: Logger): Promise<FoundFormat[]> {
  const names = await disk.list();
  const found: FoundFormat[] = [];
  const add = async (file: string, current: number, read: () => Promise<number>): Promise<void> => {
    const entry = { file: path.posix.join(name, file), current };
    try {
      found.push({ ...entry, format: await read(), problem: null });
    } catch (error) {
      found.push({ ...entry, format: null, problem: (error as Error).message });
    }
  };
  await add(MANIFEST_NAME, MANIFEST_FORMAT, async () => {
    await requireManifest(disk);
    return (JSON.parse((await readWhole(disk, MANIFEST_NAME)).toString('utf8')) as { format: number }).format;
  });
  for (const number of segmentNumbers(names)) {
    await add(segmentName(number), FILE_FORMAT, async () => {
      const read = readSegmentHeader(await readStart(disk, segmentName(number), HEADER_BYTES));
      // One that is only prepared has no header.
      return typeof read === 'string' ? FILE_FORMAT : read.header.format;
    });
  }
  for (const index of snapshotIndexes(names)) {
    await add(snapshotName(index), FILE_FORMAT, async () => {
      readSnapshotHeader(await readStart(disk, snapshotName(index), HEADER_BYTES));
      return FILE_FORMAT;
    });
  }
  for (const file of names.filter(isStore)) {
    await add(file, STORE_FORMAT, async () => checkJsonStore(file, await readWhole(disk, file), logger));
  }
  return found;
}

/** Directories of a data directory that hold a log, one for each profile. */
async function logNames(dataDir: string): Promise<string[]> {
  const names: string[] = [];
  for (const name of await nodeDiskAt(dataDir).list()) {
    if (await holdsLogOrRefuses(nodeDiskAt(path.join(dataDir, name)))) names.push(name);
  }
  return names.sort();
}

/** A manifest that cannot be read is one, too: a later step reports it. */
async function holdsLogOrRefuses(disk: Disk): Promise<boolean> {
  try {
    return await holdsLog(disk);
  } catch (error) {
    return error instanceof PersistenceError;
  }
}

async function requireEmpty(directory: string): Promise<void> {
  try {
    const [name] = await nodeDiskAt(directory).list();
    if (name === undefined) return;
    throw new BackupError(
      `${directory} is not empty: it has ${name}. Name an empty directory, or one that is not there`,
    );
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function digest(directory: string, place: string): Promise<{ bytes: number; sha256: string }> {
  const disk = nodeDiskAt(path.join(directory, path.dirname(place)));
  const content = await readWhole(disk, path.basename(place));
  return { bytes: content.length, sha256: sha256Of(content) };
}

function sha256Of(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
