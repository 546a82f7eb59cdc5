import { constants } from 'node:os';
import type { Disk, DiskFile, DiskLock, OpenMode } from '../../src/persistence/disk/disk.js';

/**
 * Files in memory that answer at once: for reading a log that a test has changed byte by byte. Nothing is lost, nothing
 * fails.
 */
export class MemoryDisk implements Disk {
  readonly label = 'memory';
  readonly files: Map<string, Buffer>;

  constructor(files: Iterable<readonly [string, Buffer]>) {
    this.files = new Map(files);
  }

  async open(name: string, mode: OpenMode): Promise<DiskFile> {
    if (mode === 'create') {
      if (this.files.has(name)) throw failure('EEXIST', name);
      this.files.set(name, Buffer.alloc(0));
    }
    if (!this.files.has(name)) throw failure('ENOENT', name);
    return new MemoryFile(name, this.files);
  }

  async list(): Promise<string[]> {
    return [...this.files.keys()];
  }

  async rename(from: string, to: string): Promise<void> {
    this.files.set(to, this.files.get(from) ?? Buffer.alloc(0));
    this.files.delete(from);
  }

  async remove(name: string): Promise<void> {
    this.files.delete(name);
  }

  async syncDirectory(): Promise<void> {
    // Nothing here is ever lost.
  }

  async space(): Promise<{ freeBytes: number; totalBytes: number }> {
    return { freeBytes: 2 ** 40, totalBytes: 2 ** 40 };
  }

  async lock(): Promise<DiskLock> {
    return { isInPlace: async () => true, release: async () => undefined };
  }
}

class MemoryFile implements DiskFile {
  readonly name: string;
  readonly #files: Map<string, Buffer>;

  constructor(name: string, files: Map<string, Buffer>) {
    this.name = name;
    this.#files = files;
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    const before = this.#bytes();
    const after = Buffer.alloc(Math.max(before.length, position + bytes.length));
    before.copy(after);
    after.set(bytes, position);
    this.#files.set(this.name, after);
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    const part = this.#bytes().subarray(position, position + into.length);
    into.set(part);
    return part.length;
  }

  async size(): Promise<number> {
    return this.#bytes().length;
  }

  async sync(): Promise<void> {
    // Nothing here is ever lost.
  }

  async close(): Promise<void> {
    // Nothing is held.
  }

  #bytes(): Buffer {
    const bytes = this.#files.get(this.name);
    if (bytes === undefined) throw failure('ENOENT', this.name);
    return bytes;
  }
}

function failure(code: 'ENOENT' | 'EEXIST', name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${name}`), { code, errno: -constants.errno[code] });
}
