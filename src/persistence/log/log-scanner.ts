import { crc32 } from 'node:zlib';
import { type Disk, type LogPlace, PersistenceError, readStart, readWhole } from '../disk/disk.js';
import { readAhead } from '../disk/read-ahead.js';
import { segmentName, segmentNumbers, snapshotIndexes, snapshotName } from '../format/file-names.js';
import {
  endOfContent,
  type Frame,
  isUnused,
  LEAST_SEGMENT_BYTES,
  readMarker,
  type SnapshotMarker,
  type StateHashMarker,
  zeroedAt,
} from '../format/frame.js';
import {
  FILE_FORMAT,
  FILLED_FORMAT,
  firstChain,
  HEADER_BYTES,
  highestDurable,
  type LogPoint,
  readSegmentHeader,
  readSnapshotHeader,
  type SegmentHeader,
} from '../format/header.js';
import { type GroupFault, readGroup } from './segment-reader.js';

/**
 * Reads the whole log and says what is in it. Throws PersistenceError DAMAGED where bytes that were once durable are
 * wrong or gone, naming the place. Changes nothing, so it may run beside a server that writes: what it is just writing
 * then looks like a torn tail. `onPassed` gets each segment that has records, as soon as it is verified.
 */
export async function scanLog(disk: Disk, epoch: Buffer, onPassed?: (passed: PassedSegment) => void): Promise<LogScan> {
  return new LogScanner(disk, epoch, onPassed).scan();
}

class LogScanner {
  readonly #disk: Disk;
  readonly #epoch: Buffer;
  readonly #onPassed: ((passed: PassedSegment) => void) | undefined;
  readonly #segments: ScannedSegment[] = [];
  readonly #snapshots = new Map<number, SnapshotMarker>();
  readonly #stateHashes: StateHashMarker[] = [];
  readonly #chains = new Map<number, Buffer>();
  #snapshotGroups: ReadonlySet<number> = new Set();
  #numbers: number[] = [];
  #point: LogPoint;
  #isSealed = true;
  #torn: TornTail | null = null;
  /** The lost tail found so far; null: none. */
  #lost: LostTail | null = null;
  readonly #ready: number[] = [];

  constructor(disk: Disk, epoch: Buffer, onPassed?: (passed: PassedSegment) => void) {
    this.#disk = disk;
    this.#epoch = epoch;
    this.#onPassed = onPassed;
    this.#point = { index: 0, seq: 0, group: 0, chain: firstChain(epoch) };
  }

  async scan(): Promise<LogScan> {
    const names = await this.#disk.list();
    this.#numbers = segmentNumbers(names);
    this.#snapshotGroups = await snapshotGroups(this.#disk, snapshotIndexes(names));
    let isOver = false;
    let place = 0;
    for await (const bytes of readAhead(this.#disk, this.#numbers.map(segmentName))) {
      const number = this.#numbers[place] ?? 0;
      const before = this.#numbers[place - 1];
      if (before !== undefined && number !== before + 1) {
        throw this.#damage(before, 0, `${segmentName(before + 1)} behind it is missing`);
      }
      if (isOver) {
        // A segment is synced before the next is begun, so behind the end there is nothing but the prepared one.
        this.#inspectEmpty(number, bytes);
        if (endOfContent(bytes, 0) > 0)
          await this.#judge(number, 0, bytes, { reason: 'it follows an empty segment', at: 0 });
      } else {
        isOver = !(await this.#readSegment(number, bytes, place === 0));
      }
      if (this.#torn !== null) break;
      place += 1;
    }
    const used = this.#segments.at(-1)?.number ?? 0;
    return {
      epoch: this.#epoch,
      segments: this.#segments,
      emptySegments: this.#numbers.filter((number) => number > used),
      last: this.#point,
      isSealed: this.#isSealed,
      readySegments: this.#ready,
      torn: this.#torn,
      lost: this.#lost,
      snapshots: this.#snapshots,
      stateHashes: this.#stateHashes,
      chains: this.#chains,
    };
  }

  /** False when no whole group is in it: the log ended before. */
  async #readSegment(number: number, bytes: Buffer, isFirst: boolean): Promise<boolean> {
    const contentEnd = endOfContent(bytes, 0);
    if (contentEnd === 0) {
      if (isFirst && number > 1) throw this.#damage(number, 0, 'it holds nothing, and what lay before it was dropped');
      this.#inspectEmpty(number, bytes);
      return false;
    }
    const read = this.#header(number, bytes, isFirst);
    if (typeof read === 'string') {
      if (isFirst && number > 1) throw this.#damage(number, 0, `${read}, and what lay before it was dropped`);
      await this.#judge(number, 0, bytes, { reason: read, at: 0 });
      this.#inspectEmpty(number, bytes);
      return false;
    }
    const { format, madeBytes, end: headerEnd } = read;
    const first = this.#point;
    const hashesBefore = this.#stateHashes.length;
    /** Groups that may not be durable yet, oldest first. */
    const open: { readonly group: number; readonly start: number }[] = [];
    let end = 0;
    // A hash at the very end may end with zeros of its own.
    while (end < contentEnd) {
      const group = readGroup(bytes, end, end === 0 ? headerEnd : end, this.#point, this.#epoch);
      if ('reason' in group) {
        await this.#judge(number, end, bytes, group);
        break;
      }
      open.push({ group: group.point.group, start: end });
      while ((open[0]?.group ?? Infinity) <= group.durable) open.shift();
      for (const frame of group.markers) this.#mark(frame, number);
      this.#point = group.point;
      if (this.#snapshotGroups.has(group.point.group)) this.#chains.set(group.point.group, group.point.chain);
      this.#isSealed = group.isEmpty;
      end = group.end;
    }
    this.#lost = lostBehind(number, bytes, end, madeBytes);
    if (end === 0) return false;
    const durableEnd = open[0]?.start ?? end;
    const checked = { end, crc: crc32(bytes.subarray(0, end)) };
    const segment = { number, first, end, last: this.#point, format, madeBytes, durableEnd, checked };
    this.#segments.push(segment);
    this.#onPassed?.({ segment, stateHashes: this.#stateHashes.slice(hashesBefore) });
    return true;
  }

  /** The format of the segment's header and where that ends, when it belongs here; otherwise words that say why not. */
  #header(
    number: number,
    bytes: Buffer,
    isFirst: boolean,
  ): { readonly format: number; readonly madeBytes: number; readonly end: number } | string {
    const read = readSegmentHeader(bytes);
    if (typeof read === 'string') return read;
    const { header, frame } = read;
    if (!header.epoch.equals(this.#epoch)) throw this.#damage(number, 0, 'it belongs to another log');
    if (header.number !== number) throw this.#damage(number, 0, `it is segment ${header.number} by its header`);
    if (isFirst && number > 1) {
      const { index, seq, group } = header;
      // Copied, so that the segment's bytes can go.
      this.#point = { index, seq, group, chain: Buffer.from(header.chain) };
      this.#chains.set(group, this.#point.chain);
    }
    if (!samePoint(header, this.#point)) {
      const { index, group } = this.#point;
      throw this.#damage(
        number,
        0,
        `its header follows on record ${header.index} and group ${header.group}, but what lies before it ends with record ${index} and group ${group}`,
      );
    }
    return { format: header.format, madeBytes: header.madeBytes, end: frame.end };
  }

  /** No whole group is in that segment: it was only made ready, unless its beginning is gone. */
  #inspectEmpty(number: number, bytes: Buffer): void {
    if (isUnused(bytes) && bytes.length >= LEAST_SEGMENT_BYTES) this.#ready.push(number);
    // An older program's segments were zeros. How long a segment without its HEADER was made is
    // not known: behind that, where it has grown for a large group, zeros say nothing.
    else if ((this.#segments.at(-1)?.format ?? FILE_FORMAT) >= FILLED_FORMAT)
      this.#lost ??= lostBehind(number, bytes, 0, LEAST_SEGMENT_BYTES);
  }

  /**
   * The group that follows `#point`, at `start`, is not whole. If anything behind says that it once was, that is
   * damage; else the tail is torn.
   */
  async #judge(number: number, start: number, bytes: Buffer, fault: GroupFault): Promise<void> {
    const missing = this.#point.group + 1;
    let total = 0;
    for (const later of this.#numbers.filter((candidate) => candidate >= number)) {
      const content = later === number ? bytes : await readWhole(this.#disk, segmentName(later));
      const from = later === number ? start : 0;
      const durable = Math.max(highestDurable(content, from, this.#epoch), this.#durableByHeader(content));
      if (durable >= missing) {
        const proof = `group ${missing} was durable by what ${segmentName(later)} says behind it`;
        throw this.#damage(number, fault.at, `${fault.reason}; ${proof}`);
      }
      total += endOfContent(content, from) - from;
    }
    this.#torn = { number, offset: start, bytes: total, reason: fault.reason };
  }

  /** A segment is begun when all before it is durable. */
  #durableByHeader(bytes: Buffer): number {
    const read = readSegmentHeader(bytes);
    return typeof read !== 'string' && read.header.epoch.equals(this.#epoch) ? read.header.group : 0;
  }

  #mark(frame: Frame, number: number): void {
    const marker = readMarker(frame, { ...this.#point, file: segmentName(number), offset: frame.start });
    if (marker.type === 'SNAPSHOT') this.#snapshots.set(marker.index, marker);
    else this.#stateHashes.push(marker);
  }

  #damage(number: number, offset: number, reason: string): PersistenceError {
    const { index, seq } = this.#point;
    const place: LogPlace = { file: segmentName(number), offset, index, seq };
    return new PersistenceError('DAMAGED', reason, { place });
  }
}

/** Whether the file shows that groups were behind its last whole one, which ends at `end`. */
function lostBehind(number: number, bytes: Buffer, end: number, madeBytes: number): LostTail | null {
  if (bytes.length < madeBytes) {
    const reason = `the file is ${bytes.length} bytes long, and was made with ${madeBytes}`;
    return { number, offset: end, reason };
  }
  const zeroed = zeroedAt(bytes, end, madeBytes);
  return zeroed === -1 ? null : { number, offset: end, reason: `the file has zeros at byte ${zeroed}` };
}

/** The groups that the snapshots say to end with, as far as their headers can be read. */
async function snapshotGroups(disk: Disk, indexes: readonly number[]): Promise<ReadonlySet<number>> {
  const groups = new Set<number>();
  for (const index of indexes) {
    const read = readSnapshotHeader(await readStart(disk, snapshotName(index), HEADER_BYTES));
    if (typeof read !== 'string') groups.add(read.header.group);
  }
  return groups;
}

function samePoint(a: SegmentHeader, b: LogPoint): boolean {
  return a.group === b.group && a.index === b.index && a.seq === b.seq && a.chain.equals(b.chain);
}

/** A segment with at least one whole group. */
export interface ScannedSegment {
  readonly number: number;
  /** Position of the log at its start. */
  readonly first: LogPoint;
  /** Behind its last whole group, and how far the log has come there. */
  readonly end: number;
  readonly last: LogPoint;
  /** Of its header. */
  readonly format: number;
  /** How long the file was made; 0 where its header does not say. */
  readonly madeBytes: number;
  /** From here on a group may be in the page cache alone, although it is whole; else `end`. */
  readonly durableEnd: number;
  readonly checked: { readonly end: number; readonly crc: number };
}

/** A segment that has been looked through, and what the running engine told there of its state. */
export interface PassedSegment {
  readonly segment: ScannedSegment;
  readonly stateHashes: readonly StateHashMarker[];
}

/** Bytes behind the last whole group that are neither zeros nor acknowledged groups. */
interface TornTail {
  readonly number: number;
  readonly offset: number;
  /** Up to the last byte that isn't zero, in all segments from here on. */
  readonly bytes: number;
  readonly reason: string;
}

/**
 * The log ends where groups were written once, by the state of the file behind its end: the file is shorter than it was
 * made, or has zeros where unused space holds FILL. Clients may have received their events.
 */
export interface LostTail {
  readonly number: number;
  readonly offset: number;
  readonly reason: string;
}

/** Where a log ends: what a writer needs to go on behind it. */
export interface LogEnd extends Pick<LogScan, 'epoch' | 'emptySegments' | 'last' | 'isSealed'> {
  /** The last of them is the one that is written to. */
  readonly segments: readonly Pick<ScannedSegment, 'number' | 'format' | 'end'>[];
}

/** All that the segments say, every byte of them checked. */
export interface LogScan {
  readonly epoch: Buffer;
  readonly segments: readonly ScannedSegment[];
  /** Segments without a whole group, rising: the prepared one, or what a torn tail left. */
  readonly emptySegments: readonly number[];
  /** Those of them that are as they were made. The others are overwritten before the log is continued. */
  readonly readySegments: readonly number[];
  readonly last: LogPoint;
  /** The last group is empty (or absent): it says that the one before is durable. */
  readonly isSealed: boolean;
  readonly torn: TornTail | null;
  readonly lost: LostTail | null;
  /** By record index. */
  readonly snapshots: ReadonlyMap<number, SnapshotMarker>;
  /** In the order of the log. */
  readonly stateHashes: readonly StateHashMarker[];
  /** The log's own chain value after each group that a snapshot in the directory says to end with. */
  readonly chains: ReadonlyMap<number, Buffer>;
}
