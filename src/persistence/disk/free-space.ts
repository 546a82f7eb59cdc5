import { constants } from 'node:os';
import type { Clock } from '../../engine/ports.js';
import { repeat } from '../../system/timers.js';
import { type Disk, type DiskLock, type Logger, PersistenceError } from './disk.js';

export interface FreeSpaceOptions {
  /** Bytes that are to stay free; null: the smaller of `lowWaterMaxBytes` and `lowWaterShare` of the volume. */
  readonly lowWaterBytes: number | null;
  readonly lowWaterMaxBytes: number;
  /** From 0 to 1. */
  readonly lowWaterShare: number;
  readonly checkMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The directory's lock, whose file has to stay where it is. */
  readonly lock: Pick<DiskLock, 'isInPlace'>;
  /** The directory was moved away or replaced: the process has to end. */
  readonly onFatal: (error: Error) => void;
}

/**
 * Watches the room on the volume, so that a full disk is seen before a write half fails, and that the directory is still
 * in its place: open files follow a directory that is moved, new ones and the next start do not.
 */
export class FreeSpace {
  readonly #disk: Disk;
  readonly #options: FreeSpaceOptions;
  #freeBytes = 0;
  #lowWaterBytes = Infinity;
  #isLow = false;
  #cancel: () => void = () => undefined;
  #isClosed = false;

  /** Has looked once when it resolves. Rejects when the system doesn't tell. */
  static async watch(disk: Disk, options: FreeSpaceOptions): Promise<FreeSpace> {
    const watcher = new FreeSpace(disk, options);
    await watcher.#look();
    const check = (): Promise<void> => watcher.#check();
    watcher.#cancel = repeat(options.clock, options.checkMs, check, (error) => watcher.#unknown(error));
    return watcher;
  }

  private constructor(disk: Disk, options: FreeSpaceOptions) {
    this.#disk = disk;
    this.#options = options;
  }

  /** The reserve is touched: nothing is to be taken that could be refused. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Bytes that are to stay free. */
  get lowWaterBytes(): number {
    return this.#lowWaterBytes;
  }

  /** The same; Infinity when the configuration says that none need to. */
  get reserveBytes(): number {
    return this.#lowWaterBytes === 0 ? Infinity : this.#lowWaterBytes;
  }

  /** Whether so many bytes more leave the reserve alone. */
  hasRoom(bytes: number): boolean {
    return this.#freeBytes - bytes >= this.#lowWaterBytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  async #check(): Promise<void> {
    const isInPlace = await this.#options.lock.isInPlace();
    if (this.#isClosed) return;
    if (isInPlace) return this.#look();
    this.close();
    const { label } = this.#disk;
    this.#options.onFatal(new PersistenceError('FAILED', `${label} was moved away or replaced while it was in use`));
  }

  async #look(): Promise<void> {
    const { lowWaterBytes, lowWaterMaxBytes, lowWaterShare } = this.#options;
    const { freeBytes, totalBytes } = await this.#disk.space();
    this.#freeBytes = freeBytes;
    this.#lowWaterBytes = lowWaterBytes ?? Math.min(lowWaterMaxBytes, Math.floor(totalBytes * lowWaterShare));
    this.#set(freeBytes < this.#lowWaterBytes, { freeBytes, lowWaterBytes: this.#lowWaterBytes });
  }

  /** Not knowing is taken for having none, until the system tells again. */
  #unknown(error: unknown): void {
    this.#freeBytes = 0;
    this.#set(true, { err: error });
  }

  #set(isLow: boolean, details: object): void {
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    const { logger } = this.#options;
    if (isLow) logger.warn(details, 'disk nearly full');
    else logger.info(details, 'disk space recovered');
  }
}

/**
 * The parts of a file as they are asked for, while what is free on the volume stays above `keepFreeBytes` with them:
 * the reserve is for records that are under way. Throws ENOSPC before the first that would take of it.
 */
export async function* keepReserve(
  disk: Disk,
  keepFreeBytes: number,
  parts: Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    const { freeBytes } = await disk.space();
    if (freeBytes - part.length < keepFreeBytes) {
      const message = `${freeBytes} bytes are free, and ${keepFreeBytes} have to stay so`;
      throw Object.assign(new Error(message), { code: 'ENOSPC', errno: -constants.errno.ENOSPC });
    }
    yield part;
  }
}
