import { type FileHandle, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../engine/ports.js';
import { makeDirectory } from '../system/make-directory.js';
import { pause } from '../system/timers.js';
import type { KeyFiles } from './key-file.js';

const OWNER_ONLY = 0o600;
const RETRY_MS = 20;
const ROOT = 0;

/**
 * Takes the lock on the file at this path, made when it is absent; null while another process has it. It ends with the
 * process, in whatever way that ends.
 */
export type LockFile = (path: string) => Promise<{ release(): Promise<void> } | null>;

/**
 * Key files in one directory. The process that has the lock on `NAME.new` writes the next content to it, syncs it and
 * renames it over `NAME`. The lock ends with its process, so a file that a dead process left behind blocks nobody.
 */
export class DiskKeyFiles implements KeyFiles {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #lockFile: LockFile;

  /** `patienceMs`: how long to wait for another process that is updating the same file. */
  constructor(directory: string, clock: Clock, patienceMs: number, lockFile: LockFile) {
    this.#directory = directory;
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    this.#lockFile = lockFile;
  }

  async read(name: string): Promise<string | null> {
    return unlessMissing(readFile(join(this.#directory, name), 'utf8').catch((error: unknown) => named(error, name)));
  }

  async stamp(name: string): Promise<string | null> {
    const stats = await unlessMissing(stat(join(this.#directory, name), { bigint: true }));
    return stats && [stats.ino, stats.size, stats.mtimeNs].join('/');
  }

  async update(name: string, change: (current: string | null) => string): Promise<string> {
    await makeDirectory(this.#directory);
    const named = join(this.#directory, name);
    // Through a link: to put a file into the link's place would leave the one that others read as it was.
    const path = (await unlessMissing(realpath(named))) ?? named;
    const next = `${path}.new`;
    const lock = await this.#claim(next);
    let content: string;
    try {
      content = change(await this.read(name));
      await write(next, content, await ownerFor(path));
      await rename(next, path);
    } catch (error) {
      await unlink(next);
      throw error;
    } finally {
      await lock.release();
    }
    await syncDirectory(dirname(path));
    return content;
  }

  async #claim(path: string): Promise<{ release(): Promise<void> }> {
    const deadline = this.#clock.monotonicMs() + this.#patienceMs;
    for (;;) {
      const lock = await this.#lockFile(path);
      if (lock !== null) return lock;
      if (this.#clock.monotonicMs() >= deadline) {
        throw new Error(
          `${path} is in the way: another process is writing it, and has been for ${this.#patienceMs} ms`,
        );
      }
      await pause(this.#clock, RETRY_MS);
    }
  }
}

/** A rename is durable once its directory is. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The owner of the file, or of its directory if the file is missing. Null unless root, since only root can chown. */
async function ownerFor(path: string): Promise<Owner | null> {
  if (process.geteuid?.() !== ROOT) return null;
  return (await unlessMissing(stat(path))) ?? stat(dirname(path));
}

async function giveTo({ uid, gid }: Owner, handle: FileHandle): Promise<void> {
  const now = await handle.stat();
  // Not every volume lets root do it: where there is nothing to do it is not asked.
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid);
}

/** All of it is on the disk when this resolves. */
async function write(path: string, content: string, owner: Owner | null): Promise<void> {
  const handle = await open(path, 'w', OWNER_ONLY);
  try {
    // The service of another user could not read what root has written: a key that root revoked would stay in force.
    if (owner !== null) await giveTo(owner, handle);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Of what fails after the file was opened the system does not say which file: so where a directory stands in its place,
 * which is what a container gets whose mounted file is missing.
 */
function named(error: unknown, name: string): never {
  if (error instanceof Error && !('path' in error)) error.message = `${name}: ${error.message}`;
  throw error;
}

async function unlessMissing<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
