import type { EngineEvent } from '../../engine/event.js';
import type { Journal, JournalRecord } from '../../engine/ports.js';
import { RecordWriter } from '../codec/record-codec.js';
import type { Disk } from '../disk/disk.js';
import { FreeSpace, type FreeSpaceOptions } from '../disk/free-space.js';
import type { Marker } from '../format/frame.js';
import type { LogPoint } from '../format/header.js';
import type { LogEnd } from './log-scanner.js';
import { type CommittedGroup, LogWriter, type LogWriterOptions } from './log-writer.js';

export interface LogJournalOptions extends Omit<LogWriterOptions, 'hasRoom' | 'onCommit'>, FreeSpaceOptions {
  /** Limits of the records that wait for the next group; beyond them the journal rejects more. */
  readonly queueRecords: number;
  readonly queueBytes: number;
}

type GroupListener = (group: CommittedGroup) => void;

/** The engine's log on a disk. */
export class LogJournal implements Journal {
  readonly #writer: LogWriter;
  readonly #space: FreeSpace;
  readonly #records: RecordWriter;
  readonly #options: LogJournalOptions;
  readonly #listeners: GroupListener[];
  #seq: number;

  /**
   * Goes on behind `scan`, whose torn tail is cut. The file system's room has been looked at once when it resolves.
   */
  static async open(disk: Disk, scan: LogEnd, options: LogJournalOptions): Promise<LogJournal> {
    const space = await FreeSpace.watch(disk, options);
    const listeners: GroupListener[] = [];
    try {
      const writer = await LogWriter.open(disk, scan, {
        ...options,
        hasRoom: (bytes) => space.hasRoom(bytes),
        onCommit: (group) => {
          for (const listener of listeners) listener(group);
        },
      });
      return new LogJournal(writer, space, listeners, scan.last.seq, options);
    } catch (error) {
      space.close();
      throw error;
    }
  }

  private constructor(
    writer: LogWriter,
    space: FreeSpace,
    listeners: GroupListener[],
    seq: number,
    options: LogJournalOptions,
  ) {
    this.#writer = writer;
    this.#space = space;
    this.#listeners = listeners;
    this.#seq = seq;
    this.#records = new RecordWriter(writer.buffer);
    this.#options = options;
  }

  /** Encodes at once: events show orders that change later. Throws PersistenceError FAILED after failed I/O. */
  append(record: JournalRecord): void {
    this.#seq = lastSeq(record.events) ?? this.#seq;
    this.#writer.addRecord(record.stamp.index, this.#seq, () => this.#records.write(record));
  }

  /** On a small volume less may wait: what waits is to fit into the reserve, twice over. */
  refusal(): 'STORAGE_FULL' | 'BUSY' | null {
    if (this.#space.isLow) return 'STORAGE_FULL';
    const { records, bytes } = this.#writer.waiting;
    const { queueRecords, queueBytes } = this.#options;
    const isFull = records >= queueRecords || bytes >= Math.min(queueBytes, this.#space.reserveBytes / 2);
    return isFull ? 'BUSY' : null;
  }

  onCommit(listener: (index: number) => void): void {
    this.#listeners.push(({ index }) => listener(index));
  }

  /** As `onCommit`, with how many records and bytes the group has. */
  onGroup(listener: GroupListener): void {
    this.#listeners.push(listener);
  }

  /** Records and bytes that wait for the next group. */
  get waiting(): { readonly records: number; readonly bytes: number } {
    return this.#writer.waiting;
  }

  /** Bytes that are to stay free on the volume; 0: none need to. */
  get lowWaterBytes(): number {
    return this.#space.lowWaterBytes;
  }

  /** Of the segment that a marker would come into, at least. */
  get format(): number {
    return this.#writer.format;
  }

  /** Something that the log says about itself; durable with the next group. */
  addMarker(marker: Marker): void {
    this.#writer.addMarker(marker);
  }

  /** How far the log is on the disk. */
  get durable(): LogPoint {
    return this.#writer.durable;
  }

  /** Rejects with PersistenceError FAILED when the log fails before all is durable. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  async close(): Promise<void> {
    this.#space.close();
    await this.#writer.close();
  }
}

function lastSeq(events: readonly EngineEvent[]): number | undefined {
  return events.at(-1)?.seq;
}
