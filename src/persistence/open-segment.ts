import type { Disk, DiskFile } from './disk.js';
import { FILE_FORMAT, putSegmentHeader, type LogPoint } from './file-header.js';
import { GrowingBuffer } from './growing-buffer.js';
import type { LogSurvey } from './log-survey.js';
import { segmentName } from './segment.js';
import { SpareSegment, type SpareSegmentOptions } from './spare-segment.js';

/** The segment that groups are written to, one behind the other, and the step from a full one to the next. */
export class OpenSegment {
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

  /** Goes on behind what the survey found. To be opened before anything else. */
  constructor(disk: Disk, survey: LogSurvey, options: SpareSegmentOptions) {
    const last = survey.segments.at(-1);
    this.#disk = disk;
    this.#epoch = survey.epoch;
    this.#options = options;
    this.#number = last?.number ?? 0;
    this.#format = last?.format ?? FILE_FORMAT;
    this.#end = last?.end ?? 0;
    this.#spare = new SpareSegment(disk, this.#number + 1, options);
  }

  /** `readySegments`: those that an earlier process made. */
  async open(readySegments: readonly number[]): Promise<void> {
    if (this.#number > 0) this.#file = await this.#disk.open(segmentName(this.#number), this.#options.openMode);
    await this.#spare.adopt(readySegments);
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
