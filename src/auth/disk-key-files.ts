import { mkdir, open, readFile, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../engine/ports.js';
import type { KeyFiles } from './key-files.js';

const OWNER_ONLY = 0o600;
const RETRY_MS = 20;

/**
 * Key files in one directory. The next content is written to `NAME.new`, synced and renamed over `NAME`. That file is
 * also the lock: only one process can create it, and the rename takes it away.
 */
export class DiskKeyFiles implements KeyFiles {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #patienceMs: number;

  /** `patienceMs`: how long to wait for another process that is updating the same file. */
  constructor(directory: string, clock: Clock, patienceMs: number) {
    this.#directory = directory;
    this.#clock = clock;
    this.#patienceMs = patienceMs;
  }

  async read(name: string): Promise<string | null> {
    return unlessMissing(readFile(join(this.#directory, name), 'utf8'));
  }

  async stamp(name: string): Promise<string | null> {
    const stats = await unlessMissing(stat(join(this.#directory, name), { bigint: true }));
    return stats && [stats.ino, stats.size, stats.mtimeNs].join('/');
  }

  async update(name: string, change: (current: string | null) => string): Promise<string> {
    await mkdir(this.#directory, { recursive: true });
    const path = join(this.#directory, name);
    const next = `${path}.new`;
    const handle = await this.#claim(next);
    let content: string;
    try {
      content = change(await this.read(name));
      await handle.writeFile(content);
      await handle.sync();
      await handle.close();
      await rename(next, path);
    } catch (error) {
      await handle.close();
      await unlink(next);
      throw error;
    }
    await this.#syncDirectory();
    return content;
  }

  async #claim(path: string): Promise<FileHandle> {
    const deadline = this.#clock.monotonicMs() + this.#patienceMs;
    for (;;) {
      try {
        return await open(path, 'wx', OWNER_ONLY);
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
        if (this.#clock.monotonicMs() >= deadline) {
          throw new Error(
            `${path} is in the way: another process is writing it, or died while it did. Remove it then.`,
            {
              cause: error,
            },
          );
        }
      }
      await new Promise<void>((resolve) => {
        this.#clock.after(RETRY_MS, resolve);
      });
    }
  }

  /** A rename is durable once its directory is. */
  async #syncDirectory(): Promise<void> {
    const directory = await open(this.#directory, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }
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
