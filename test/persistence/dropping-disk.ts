import type { DiskFile, OpenMode } from '../../src/persistence/disk/disk.js';
import { MemoryDisk } from './memory-disk.js';

/** Drops segments between two calls of a reader, as retention does. */
export class DroppingDisk extends MemoryDisk {
  /** They go right behind so many more lists of names, or before so many more files are opened. */
  afterLists = Infinity;
  beforeOpens = Infinity;
  drops: readonly string[] = [];

  override async list(): Promise<string[]> {
    const names = await super.list();
    this.afterLists -= 1;
    if (this.afterLists === 0) this.#drop();
    return names;
  }

  override async open(name: string, mode: OpenMode): Promise<DiskFile> {
    this.beforeOpens -= 1;
    if (this.beforeOpens === 0) this.#drop();
    return super.open(name, mode);
  }

  #drop(): void {
    for (const name of this.drops) this.files.delete(name);
  }
}
