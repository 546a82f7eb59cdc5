import type { Disk, DiskFile, DiskLock, DiskSpace, OpenMode } from '../../src/persistence/disk/disk.js';

/**
 * A disk of which a test says when it is slow: between `hold` and `release` no sync ends, nor a write that is one.
 * Everything else goes on.
 */
export class HeldDisk implements Disk {
  readonly label: string;
  readonly #disk: Disk;
  #held: Promise<void> | null = null;
  #release: () => void = () => undefined;

  constructor(disk: Disk) {
    this.#disk = disk;
    this.label = disk.label;
  }

  hold(): void {
    this.#held = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#held = null;
    this.#release();
  }

  async open(name: string, mode: OpenMode): Promise<DiskFile> {
    const file = await this.#disk.open(name, mode);
    return {
      name,
      write: async (bytes, position) => {
        await file.write(bytes, position);
        if (mode === 'durable') await this.#held;
      },
      read: (into, position) => file.read(into, position),
      size: () => file.size(),
      sync: async () => {
        await file.sync();
        await this.#held;
      },
      close: () => file.close(),
    };
  }

  list(): Promise<string[]> {
    return this.#disk.list();
  }

  rename(from: string, to: string): Promise<void> {
    return this.#disk.rename(from, to);
  }

  remove(name: string): Promise<void> {
    return this.#disk.remove(name);
  }

  syncDirectory(): Promise<void> {
    return this.#disk.syncDirectory();
  }

  space(): Promise<DiskSpace> {
    return this.#disk.space();
  }

  lock(name: string): Promise<DiskLock | null> {
    return this.#disk.lock(name);
  }
}
