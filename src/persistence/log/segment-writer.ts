import type { Clock } from '../../engine/ports.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { type Disk, type DiskFile, isDiskFull, type Logger, type OpenMode } from '../disk/disk.js';
import { prepareSegment, segmentName } from '../format/file-names.js';
import { FILE_FORMAT, type LogPoint, putSegmentHeader } from '../format/header.js';
import type { LogEnd } from './log-scanner.js';

/** The segment that groups are written to, one behind the other, and the step from a full one to the next. */
export class SegmentWriter {
  readonly #disk: Disk;
  readonly #epoch: Buffer;
  readonly #options: SpareSegmentOptions;
  readonly #spare: SpareSegment;
  readonly #header = new GrowingBuffer(256);
  /** Null before the first segment of a new log. */
  #file: DiskFile | null = null;
  #number: number;
  #format: number;
  /** Where the next group goes. */
  #end: number;

  /** Goes on behind what the scan found. To be opened before anything else. */
  constructor(disk: Disk, scan: LogEnd, options: SpareSegmentOptions) {
    const last = scan.segments.at(-1);
    this.#disk = disk;
    this.#epoch = scan.epoch;
    this.#options = options;
    this.#number = last?.number ?? 0;
    this.#format = last?.format ?? FILE_FORMAT;
    this.#end = last?.end ?? 0;
    this.#spare = new SpareSegment(disk, this.#number + 1, options);
  }

  /** `emptySegments`: those that an earlier process made, unused by now. */
  async open(emptySegments: readonly number[]): Promise<void> {
    if (this.#number > 0) this.#file = await this.#disk.open(segmentName(this.#number), this.#options.openMode);
    await this.#spare.adopt(emptySegments);
    if (this.#file === null) await this.#spare.ready();
    else this.#spare.prepare();
  }

  get format(): number {
    return this.#format;
  }

  /** False before the first group of a new log. */
  get isBegun(): boolean {
    return this.#file !== null;
  }

  /**
   * The segment that a group of so many bytes has to go to; null: this one, which grows where the next is not ready
   * yet.
   */
  nextFor(bytes: number): DiskFile | null {
    const isFull = this.#end + bytes > this.#options.segmentBytes;
    return this.#file !== null && !isFull ? null : this.#spare.take();
  }

  /** Goes on in the next one, once all of this one is durable. Returns the HEADER that it has to begin with. */
  async moveTo(next: DiskFile, after: LogPoint): Promise<Buffer> {
    await this.#file?.close();
    this.#file = next;
    this.#number += 1;
    this.#format = FILE_FORMAT;
    this.#end = 0;
    this.#header.clear(0);
    const madeBytes = await next.size();
    putSegmentHeader(this.#header, { ...after, epoch: this.#epoch, number: this.#number, madeBytes });
    return this.#header.view();
  }

  /** Behind what was written before. After one that fails there is no telling what is there. */
  write(bytes: Buffer): Promise<void> {
    const at = this.#end;
    this.#end += bytes.length;
    return this.#opened().write(bytes, at);
  }

  sync(): Promise<void> {
    return this.#opened().sync();
  }

  /** Nothing more will be written: no next segment is made ready. */
  abandon(): void {
    this.#spare.abandon();
  }

  async close(): Promise<void> {
    await this.#spare.close();
    await this.#file?.close();
  }

  #opened(): DiskFile {
    if (this.#file === null) throw new Error('a new log has its first segment ready before anything is written');
    return this.#file;
  }
}

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
      if (isDiskFull(error)) this.#putOff(error);
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
    logger.warn({ err: error, segment: segmentName(this.#number) }, 'next segment not preallocated');
  }
}
