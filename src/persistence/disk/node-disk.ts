import { close, constants, fdatasync, fstat, fsync, open, read, write } from 'node:fs';
import { readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { platform } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { makeDirectory } from '../../system/make-directory.js';
import {
  type Disk,
  type DiskFile,
  type DiskLock,
  type DiskSpace,
  isOutOfDescriptors,
  type OpenMode,
  syncingEachWrite,
} from './disk.js';
import { lockFile } from './file-lock.js';

/** Owner alone: the log holds quotes that were meant for one taker. */
const FILE_MODE = 0o600;
/** How soon a file is opened again when the process has no descriptor for it. */
const DESCRIPTOR_RETRY_MS = 50;

/**
 * On Linux a write to a file opened with O_DSYNC is a write and an fdatasync of it (open(2), NOTES). On macOS it leaves
 * the bytes in the drive's cache, which only the F_FULLFSYNC that libuv's fdatasync is there forces out.
 */
const WRITES_DURABLY = platform === 'linux';

const OPEN_FLAGS: Record<OpenMode, number> = {
  read: constants.O_RDONLY,
  write: constants.O_RDWR,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
  durable: constants.O_RDWR | (WRITES_DURABLY ? constants.O_DSYNC : 0),
};

/**
 * A directory of the real file system, made when it isn't there. All calls run on libuv's threads, never on the
 * caller's.
 */
export async function openNodeDisk(directory: string): Promise<Disk> {
  await makeDirectory(directory);
  return nodeDiskAt(directory);
}

/** As it is: where there is no such directory, whatever is done first rejects with ENOENT. */
export function nodeDiskAt(directory: string): Disk {
  return new NodeDisk(directory);
}

class NodeDisk implements Disk {
  readonly label: string;

  constructor(directory: string) {
    this.label = directory;
  }

  async open(name: string, mode: OpenMode): Promise<DiskFile> {
    const path = this.#path(name);
    const descriptor = await withDescriptor(() =>
      promised<number>((done) => open(path, OPEN_FLAGS[mode], FILE_MODE, done)),
    );
    const file = new NodeFile(name, descriptor);
    return mode === 'durable' && !WRITES_DURABLY ? syncingEachWrite(file) : file;
  }

  list(): Promise<string[]> {
    return withDescriptor(() => readdir(this.label));
  }

  async rename(from: string, to: string): Promise<void> {
    await rename(this.#path(from), this.#path(to));
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name));
  }

  async syncDirectory(): Promise<void> {
    const descriptor = await withDescriptor(() =>
      promised<number>((done) => open(this.label, constants.O_RDONLY, done)),
    );
    try {
      // Not fdatasync: ext4 may take a changed directory for something that "data" doesn't cover.
      await promised((done) => fsync(descriptor, done));
    } finally {
      await promised((done) => close(descriptor, done));
    }
  }

  async space(): Promise<DiskSpace> {
    const { bavail, blocks, bsize } = await statfs(this.label);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  }

  lock(name: string): Promise<DiskLock | null> {
    return lockFile(this.#path(name));
  }

  #path(name: string): string {
    return join(this.label, name);
  }
}

/** Plain descriptors and callbacks: a FileHandle costs a promise more on each commit. */
class NodeFile implements DiskFile {
  readonly name: string;
  readonly #descriptor: number;

  constructor(name: string, descriptor: number) {
    this.name = name;
    this.#descriptor = descriptor;
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      const from = written;
      // write(2) may take less than it was given, for instance just before the disk is full.
      const count = await promised<number>(
        (done) => write(this.#descriptor, bytes, from, bytes.length - from, position + from, done),
        this.name,
      );
      if (count === 0) throw new Error(`write of ${bytes.length - from} bytes to ${this.name} took none`);
      written += count;
    }
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    let filled = 0;
    while (filled < into.length) {
      const from = filled;
      const count = await promised<number>(
        (done) => read(this.#descriptor, into, from, into.length - from, position + from, done),
        this.name,
      );
      if (count === 0) break;
      filled += count;
    }
    return filled;
  }

  async size(): Promise<number> {
    return (await promised<{ size: number }>((done) => fstat(this.#descriptor, done), this.name)).size;
  }

  async sync(): Promise<void> {
    await promised((done) => fdatasync(this.#descriptor, done), this.name);
  }

  async close(): Promise<void> {
    await promised((done) => close(this.#descriptor, done), this.name);
  }
}

/**
 * Waits for a descriptor where connections hold all that the process may have: nothing was done to the disk, so the log
 * only gets late, which its queue bounds. A crowd of strangers must not be able to stop the service.
 */
async function withDescriptor<Value>(start: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!isOutOfDescriptors(error)) throw error;
      await pause(DESCRIPTOR_RETRY_MS);
    }
  }
}

/** `file`: its name, for the calls whose errors of the system name none. */
function promised<Value = void>(
  start: (done: (error: Error | null, value?: Value) => void) => void,
  file?: string,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    start((error, value) => {
      if (error && file !== undefined) error.message = `${file}: ${error.message}`;
      if (error) reject(error);
      else resolve(value as Value);
    });
  });
}
