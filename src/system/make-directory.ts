import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** Owner alone: key hashes, what wallets have sent, and quotes that were meant for one taker. */
const DIRECTORY_MODE = 0o700;

/** Permission bits of everyone but the owner. */
const OTHERS = 0o077;

/**
 * Makes the directory and the missing ones above it, for the owner alone. One that is there stays as it is. Rejects with
 * the system's error where one cannot be made. Node's own `recursive` repeats forever where mkdir(2) says ENOENT below a
 * directory that exists, as in /proc.
 */
export async function makeDirectory(directory: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path.resolve(directory); !(await isDirectory(at)); at = path.dirname(at)) missing.unshift(at);
  for (const at of missing) {
    try {
      await mkdir(at, DIRECTORY_MODE);
    } catch (error) {
      // Another process may have made it meanwhile.
      if (!(await isDirectory(at))) throw error;
    }
  }
}

/** The permission bits of a directory that more than its owner may enter, in octal; null: it is the owner's alone. */
export async function modeBeyondOwner(directory: string): Promise<string | null> {
  const { mode } = await stat(directory);
  return (mode & OTHERS) === 0 ? null : (mode & 0o7777).toString(8).padStart(4, '0');
}

async function isDirectory(at: string): Promise<boolean> {
  try {
    return (await stat(at)).isDirectory();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw error;
  }
}
