import { isMissing, type Disk } from './disk.js';
import { segmentStart, type SegmentStart } from './log-records.js';
import { segmentNumbers } from './segment.js';

/** The log's segments, each header read once: a segment that is begun never changes it. */
export class KnownSegments {
  readonly #disk: Disk;
  readonly #starts = new Map<number, SegmentStart>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Those that are there now and begun, rising. */
  async list(): Promise<SegmentStart[]> {
    const numbers = segmentNumbers(await this.#disk.list());
    for (const known of this.#starts.keys()) if (known < (numbers[0] ?? Infinity)) this.#starts.delete(known);
    const starts: SegmentStart[] = [];
    for (const number of numbers) {
      const start = this.#starts.get(number) ?? (await this.#read(number));
      if (start === null) continue;
      this.#starts.set(number, start);
      starts.push(start);
    }
    return starts;
  }

  /** Null: it is not begun, or was dropped since the names were listed, as those before it were. */
  async #read(number: number): Promise<SegmentStart | null> {
    try {
      return await segmentStart(this.#disk, number);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }
}
