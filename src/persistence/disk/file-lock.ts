import { spawn } from 'node:child_process';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type DiskLock, isMissing } from './disk.js';

/** open(2) of macOS and the BSDs: take flock(2)'s exclusive lock in the same step. */
const O_EXLOCK = 0x20;
const MODE = 0o600;

/**
 * flock(2)'s exclusive lock on the file at `path`, made when it isn't there; null when another process holds it. Such a
 * lock belongs to the open file and ends with its last descriptor, so kill -9 leaves nothing stale behind, and it holds
 * between containers that share a volume. The holder may rename or remove the file. A process that had opened it before
 * and locks it afterwards does not have the file that is at `path` by then, and gets null.
 *
 * Node has no call for it. macOS takes it while opening. On Linux the program flock(1), of util-linux or BusyBox, is
 * handed our descriptor and takes the lock on the file that we both have open; when it exits, ours still has it.
 */
export async function lockFile(path: string): Promise<DiskLock | null> {
  switch (process.platform) {
    case 'linux':
      return lockThroughProgram(path);
    case 'darwin':
    case 'freebsd':
      return lockWhileOpening(path);
    default:
      throw new Error(`no way is known to lock ${path} on ${process.platform}: run on Linux or macOS`);
  }
}

async function lockThroughProgram(path: string): Promise<DiskLock | null> {
  // Node opens with O_CLOEXEC: no other child keeps the lock after we are gone.
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, MODE);
  let isLocked: boolean;
  try {
    isLocked = await runFlock(file.fd);
  } catch (cause) {
    await file.close();
    throw new Error(`could not run flock(1) to lock ${path}: install util-linux or BusyBox`, { cause });
  }
  if (isLocked) return heldAt(path, file);
  await file.close();
  return null;
}

/** `flock -n 3`: exits 0 when it got the lock at once, 1 when another has it. */
function runFlock(descriptor: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] });
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (code === 0 || code === 1) resolve(code === 0);
      else reject(new Error(`flock ended with ${signal ?? `code ${code ?? 'unknown'}`}`));
    });
  });
}

async function lockWhileOpening(path: string): Promise<DiskLock | null> {
  try {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK, MODE);
    return await heldAt(path, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return null;
    throw error;
  }
}

/** The lock, if the file is still the one at `path`. */
async function heldAt(path: string, file: FileHandle): Promise<DiskLock | null> {
  const [locked, there] = await Promise.all([file.stat({ bigint: true }), statAt(path)]);
  if (isSame(locked, there)) return held(path, file, locked);
  await file.close();
  return null;
}

function isSame(locked: BigIntStats, there: BigIntStats | null): boolean {
  return there?.ino === locked.ino && there.dev === locked.dev;
}

/** Null: there is no such file by now. */
async function statAt(path: string): Promise<BigIntStats | null> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    // A file may have taken the place of a directory on the way.
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return null;
    throw error;
  }
}

/** The handle stays referenced: one that is collected would be closed, and the lock with it. */
const handles = new Set<FileHandle>();

function held(path: string, file: FileHandle, locked: BigIntStats): DiskLock {
  handles.add(file);
  return {
    async isInPlace() {
      return isSame(locked, await statAt(path));
    },
    async release() {
      handles.delete(file);
      await file.close();
    },
  };
}
