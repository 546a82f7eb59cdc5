/**
 * An open file. Positions and lengths in bytes. Every method rejects with the system's error (`code`: EIO, ENOSPC,
 * ...).
 */
export interface DiskFile {
  readonly name: string;
  /**
   * Writes all of `bytes` at `position`, or rejects; then any part may have been written. `bytes` must not change
   * meanwhile.
   */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Fills `into` from `position`; resolves to the number of bytes read, less than asked only at the file's end. */
  read(into: Uint8Array, position: number): Promise<number>;
  size(): Promise<number>;
  /**
   * fdatasync: what was written and the file's size are durable. After a rejection nothing is known; never call it
   * again.
   */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * How a file is opened: `create` makes it, empty, and rejects with EEXIST when it is there. `durable` is for writing
 * where each write resolves once its bytes and the file's size are on the disk: one call instead of a write and a sync.
 */
export type OpenMode = 'read' | 'write' | 'create' | 'durable';

export interface DiskSpace {
  /** Bytes that this process may still use. */
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Held by the process that may write in the directory. */
export const LOCK_NAME = 'lock';

/** Held until `release`, or until the process ends in whatever way. */
export interface DiskLock {
  /** Whether the locked file is still the one at its path: its directory was neither moved away nor replaced. */
  isInPlace(): Promise<boolean>;
  release(): Promise<void>;
}

/** One directory. Names are plain file names in it. */
export interface Disk {
  /** For people: the directory's path. */
  readonly label: string;
  open(name: string, mode: OpenMode): Promise<DiskFile>;
  /** Names in no particular order. */
  list(): Promise<string[]>;
  /** Replaces `to` in one step. Durable after `syncDirectory`. */
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Names made, changed or removed so far are durable. */
  syncDirectory(): Promise<void>;
  space(): Promise<DiskSpace>;
  /** Null when another process holds it. */
  lock(name: string): Promise<DiskLock | null>;
}

/** A few JSON values by key that outlive the process. */
export interface KeyValueStore {
  /** As they were when this process began. */
  readonly found: ReadonlyMap<string, unknown>;
  /**
   * Durable when it resolves, with all that was put before. When it rejects, the value may be kept or not: the next put
   * that resolves keeps it.
   */
  put(key: string, value: unknown): Promise<void>;
  remove(key: string): Promise<void>;
}

/** The whole file. */
export async function readWhole(disk: Disk, name: string): Promise<Buffer> {
  return readStart(disk, name, Infinity);
}

/** The file's first `bytes`, fewer when it is shorter. */
export async function readStart(disk: Disk, name: string, bytes: number): Promise<Buffer> {
  const file = await disk.open(name, 'read');
  try {
    const content = Buffer.allocUnsafe(Math.min(bytes, await file.size()));
    return content.subarray(0, await file.read(content, 0));
  } finally {
    await file.close();
  }
}

/**
 * Makes a file that is there whole under `name` after a crash at any moment, or not at all. Each part is written before
 * the next is asked for. When it rejects for want of room, nothing is left.
 */
export async function writeWhole(disk: Disk, name: string, parts: Iterable<Uint8Array>): Promise<void> {
  const temporary = name + TEMPORARY;
  try {
    await writeNew(disk, temporary, parts);
    await disk.rename(temporary, name);
  } catch (error) {
    if (isDiskFull(error)) await removeIfExists(disk, temporary);
    throw error;
  }
  await disk.syncDirectory();
}

/** Makes a file whose bytes are durable, its name is not. Whatever it rejects for, a part of the file may be left. */
export async function writeNew(
  disk: Disk,
  name: string,
  parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  const file = await disk.open(name, 'create');
  try {
    let position = 0;
    for await (const part of parts) {
      await file.write(part, position);
      position += part.length;
    }
    await file.sync();
  } catch (error) {
    if (isDiskFull(error)) await file.close();
    throw error;
  }
  await file.close();
}

export async function removeIfExists(disk: Disk, name: string): Promise<void> {
  if ((await disk.list()).includes(name)) await disk.remove(name);
}

/** The disk, or this user's share of it, is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** There is no such file, or no more. */
export function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT';
}

/** The process, or the system, has as many files and connections open as it may. */
export function isOutOfDescriptors(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}

/** Replaces `durable` where the system has no such call: a sync after each write. */
export function syncingEachWrite(file: DiskFile): DiskFile {
  return {
    name: file.name,
    async write(bytes, position) {
      await file.write(bytes, position);
      await file.sync();
    },
    read: (into, position) => file.read(into, position),
    size: () => file.size(),
    sync: () => file.sync(),
    close: () => file.close(),
  };
}

/** Ending of a file that is not finished; a start removes what is left of them. */
export const TEMPORARY = '.tmp';

/**
 * DAMAGED: bytes that were once durable are not what they were. LOST_TAIL: the log was longer once, and what is there of
 * it is right: `log repair` continues with that. NO_BASE: neither the log's beginning nor a usable
 * snapshot is there. DIFFERS: the engine makes something else of a record than the log says. NEWER_FORMAT: a newer
 * program wrote it. FOREIGN: the directory belongs to other chains or contracts. LOCKED: another process has it.
 * FAILED: the log has stopped after failed I/O. DEEP_REORG: its chains reorganised deeper than it can follow.
 * MISSING: a file that is kept beside the log is gone or has been cut short.
 */
export type PersistenceFault =
  | 'DAMAGED'
  | 'LOST_TAIL'
  | 'NO_BASE'
  | 'DIFFERS'
  | 'NEWER_FORMAT'
  | 'FOREIGN'
  | 'LOCKED'
  | 'FAILED'
  | 'DEEP_REORG'
  | 'MISSING';

/** Where in the log: which file, the byte in it, and the last record and event before it. */
export interface LogPlace {
  readonly file: string;
  readonly offset: number;
  readonly index: number;
  readonly seq: number;
}

/** Every error that the persistence itself detects; system errors are passed on, or are its cause. */
export class PersistenceError extends Error {
  override readonly name = 'PersistenceError';
  readonly code: PersistenceFault;
  readonly place: LogPlace | null;

  constructor(code: PersistenceFault, message: string, details: { place?: LogPlace; cause?: unknown } = {}) {
    const { place, cause } = details;
    const where = place
      ? `${place.file}, offset ${place.offset}, after record ${place.index} (seq ${place.seq}): `
      : '';
    super(where + message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.place = place ?? null;
  }
}

/** The log has lost its end, by what `place` says. */
export function lostTailAt(place: LogPlace, reason: string): PersistenceError {
  const remedy = '`quotebook log repair` continues with what is left, under a new epoch';
  return new PersistenceError('LOST_TAIL', `${reason}: acknowledged records may be gone. ${remedy}`, { place });
}

/** Where the persistence tells people what it does; pino's loggers are such, which write out an error that is named `err`. */
export interface Logger {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/**
 * When the log is forced to the disk: before every acknowledgement; every `intervalMs`; or when the system pleases. With
 * the latter two a power cut loses what was acknowledged since the last sync; the death of the process alone loses
 * nothing.
 */
export type SyncMode =
  { readonly type: 'always' } | { readonly type: 'interval'; readonly intervalMs: number } | { readonly type: 'never' };

/** `always`, `never` or `interval(MILLISECONDS)`. Throws RangeError on anything else. */
export function parseSyncMode(text: string): SyncMode {
  if (text === 'always' || text === 'never') return { type: text };
  const intervalMs = Number(/^interval\(([1-9][0-9]{0,5})\)$/.exec(text)?.[1]);
  if (Number.isNaN(intervalMs)) throw new RangeError(`not always, never or interval(MILLISECONDS): ${text}`);
  return { type: 'interval', intervalMs };
}

/** With `always` a write is on the disk when it returns. */
export function openModeFor(sync: SyncMode): OpenMode {
  return sync.type === 'always' ? 'durable' : 'write';
}
