import type { DiskFile, OpenMode } from '../../src/persistence/disk/disk.js';
import { MemoryDisk } from './memory-disk.js';

/** Counts the bytes that are read, and how often a file is opened. */
export class CountedDisk extends MemoryDisk {
  #readBytes = 0;
  #opened = 0;

  override async open(name: string, mode: OpenMode): Promise<DiskFile> {
    this.#opened += 1;
    const file = await super.open(name, mode);
    return {
      name,
      write: (bytes, position) => file.write(bytes, position),
      read: async (into, position) => {
        const bytes = await file.read(into, position);
        this.#readBytes += bytes;
        return bytes;
      },
      size: () => file.size(),
      sync: () => file.sync(),
      close: () => file.close(),
    };
  }

  /** Since the last time. */
  take(): { readonly readBytes: number; readonly opened: number } {
    const taken = { readBytes: this.#readBytes, opened: this.#opened };
    this.#readBytes = 0;
    this.#opened = 0;
    return taken;
  }
}
