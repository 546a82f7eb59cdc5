import type { Clock } from '../engine/ports.js';
import { isNoRoom, type Disk, type DiskFile, type OpenMode } from './disk.js';
import type { Logger } from './logger.js';
import { prepareSegment, segmentName } from './segment.js';

export interface SpareSegmentOptions {
  readonly segmentBytes: number;
  /** How a segment is opened that is to be written to. */
  readonly openMode: OpenMode;
  /** How soon it is tried again when there was no room. */
  readonly spareRetryMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hasRoom: (bytes: number) => boolean;
  readonly onFatal: (error: unknown) => void;
}

/** The segment after the current one, made ready in the background. */
export class SpareSegment {
  readonly #disk: Disk;
  readonly #options: SpareSegmentOptions;
  #number: number;
  #file: DiskFile | null = null;
  #preparing: Promise<void> | null = null;
  #isWanted = true;
  #retryAtMs = 0;
  /** The last try found no room: said once, until one is made. */
  #isPutOff = false;

  /** `number`: of the segment to make. */
  constructor(disk: Disk, number: number, options: SpareSegmentOptions) {
    this.#disk = disk;
    this.#number = number;
    this.#options = options;
  }

  /** Takes over what an earlier process made ready. `numbers`: segments as they were made, rising. */
  async adopt(numbers: readonly number[]): Promise<void> {
    // The last first: a crash in between leaves no gap in the numbers.
    for (const number of [...numbers].reverse()) {
      const name = segmentName(number);
      const file = await this.#disk.open(name, this.#options.openMode);
      if (number === this.#number && (await file.size()) >= this.#options.segmentBytes) {
        this.#file = file;
        continue;
      }
      await file.close();
      await this.#disk.remove(name);
      await this.#disk.syncDirectory();
    }
  }

  /** Begins to make it, unless it is there, under way, or there is no room for it. */
  prepare(): void {
    const { clock, hasRoom, segmentBytes } = this.#options;
    if (this.#file !== null || this.#preparing !== null || !this.#isWanted) return;
    if (clock.monotonicMs() < this.#retryAtMs || !hasRoom(segmentBytes)) return;
    this.#preparing = this.#make().catch((error: unknown) => {
      if (isNoRoom(error)) this.#putOff(error);
      else this.#options.onFatal(error);
    });
  }

  /** Resolves when it is there; rejects when it can't be made. For the first segment of a new log. */
  async ready(): Promise<void> {
    if (this.#file === null) await this.#make();
  }

  /** The segment, unused, if it is there; then the one after it is begun. */
  take(): DiskFile | null {
    const file = this.#file;
    if (file !== null) {
      this.#file = null;
      this.#number += 1;
    }
    this.prepare();
    return file;
  }

  /** Stops making it. */
  abandon(): void {
    this.#isWanted = false;
  }

  async close(): Promise<void> {
    this.abandon();
    await this.#preparing;
    await this.#file?.close();
  }

  async #make(): Promise<void> {
    const { segmentBytes, openMode } = this.#options;
    try {
      const isMade = await prepareSegment(this.#disk, this.#number, segmentBytes, () => this.#isWanted);
      if (isMade) this.#file = await this.#disk.open(segmentName(this.#number), openMode);
      this.#isPutOff = false;
    } finally {
      this.#preparing = null;
    }
  }

  #putOff(error: unknown): void {
    const { clock, logger, spareRetryMs } = this.#options;
    this.#retryAtMs = clock.monotonicMs() + spareRetryMs;
    if (this.#isPutOff) return;
    this.#isPutOff = true;
    logger.warn(
      { err: error, segment: segmentName(this.#number) },
      'no room to make the next segment of the log ready',
    );
  }
}
