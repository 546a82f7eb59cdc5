import type { Engine } from '../../engine/engine.js';
import {
  type Disk,
  type DiskFile,
  type DiskLock,
  type Logger,
  PersistenceError,
  readStart,
  readWhole,
  writeWhole,
} from '../disk/disk.js';
import {
  prepareSegment,
  segmentBytesFor,
  segmentName,
  segmentNumbers,
  snapshotIndexes,
  snapshotName,
} from '../format/file-names.js';
import { endOfContent, FILL } from '../format/frame.js';
import {
  FILE_FORMAT,
  FILLED_FORMAT,
  HEADER_BYTES,
  type LogPoint,
  readSegmentHeader,
  readSnapshotHeader,
} from '../format/header.js';
import { readManifest, type Manifest } from '../format/manifest.js';
import { LogJournal } from '../log/journal.js';
import type { LogEnd } from '../log/log-scanner.js';
import { readGroup, type SegmentStart, segmentStarts } from '../log/segment-reader.js';
import { checkHalt } from './halted-log.js';
import { LOCK_NAME } from '../disk/disk.js';
import { assembleLog, checkIdentity, emptyLog, type OpenLog, type OpenLogOptions, ManifestFile } from './open-log.js';
import { recover, type Recovered, type StartScan } from './recovery.js';
import { brokenName, removeUnfinished, removeLeftovers } from './torn-tail.js';

export interface ReplicaLogOptions {
  /** Of the log that is replicated: a directory without a log begins this one. */
  readonly manifest: Manifest;
  readonly startScan?: StartScan;
  readonly logger: Logger;
  /** Once: nothing is written any more. The process has to end. */
  readonly onFatal: (error: Error) => void;
}

/** A group of another process's log, checked: it follows on the last one that was appended. */
export interface ReplicatedBytes {
  readonly bytes: Buffer;
  readonly after: LogPoint;
  /** Its bytes begin with the HEADER of the next segment. */
  readonly beginsSegment: boolean;
}

/**
 * The log of a standby: byte for byte that of its leader, whose groups are appended as they come, any number of them
 * with one sync. Once this process leads, it goes on as a log of its own.
 */
export class ReplicaLog {
  readonly #disk: Disk;
  readonly #lock: DiskLock;
  readonly #manifestFile: ManifestFile;
  readonly #options: ReplicaLogOptions;
  #recovered: Recovered;
  #segments: SegmentPlace[];
  #last: LogPoint;
  #isSealed: boolean;
  #file: DiskFile | null = null;
  readonly #waiting: ReplicatedBytes[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  /** Throws PersistenceError: LOCKED, FOREIGN, DAMAGED, NO_BASE, DIFFERS, NEWER_FORMAT. */
  static async open(disk: Disk, options: ReplicaLogOptions): Promise<ReplicaLog> {
    const lock = await disk.lock(LOCK_NAME);
    if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
    try {
      const { manifest, logger } = options;
      const found = await readManifest(disk);
      checkIdentity(disk, found, manifest.identity);
      await checkHalt(disk, found, null);
      if (found !== null && !found.epoch.equals(manifest.epoch)) {
        const epochs = `${found.epoch.toString('hex')}, the cluster's is ${manifest.epoch.toString('hex')}`;
        throw new PersistenceError('FOREIGN', `${disk.label} holds the log ${epochs}: move it away`);
      }
      await removeUnfinished(disk);
      // Before the first segment: a crash in between leaves a log that has not begun, and `isBegun` finds that.
      const manifestFile = new ManifestFile(disk, { ...manifest, closedGroup: null });
      if (found?.closedGroup !== null) await manifestFile.change({});
      const recovered = await recoverReplica(disk, options);
      await removeLeftovers(disk, recovered, logger);
      return new ReplicaLog(disk, lock, manifestFile, options, recovered);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  private constructor(
    disk: Disk,
    lock: DiskLock,
    manifestFile: ManifestFile,
    options: ReplicaLogOptions,
    recovered: Recovered,
  ) {
    this.#disk = disk;
    this.#lock = lock;
    this.#manifestFile = manifestFile;
    this.#options = options;
    this.#recovered = recovered;
    const { segments, last, isSealed } = recovered.scan;
    this.#segments = segments.map(placeOfSegment);
    this.#last = last;
    this.#isSealed = isSealed;
  }

  /** As the log left it; another object after `cutAfter`. */
  get engine(): Engine {
    return this.#recovered.engine;
  }

  /** The last group that was appended. */
  get last(): LogPoint {
    return this.#last;
  }

  /** How far the log has come at the end of that group; null: dropped, or not written yet. */
  async pointAt(group: number): Promise<LogPoint | null> {
    return (await this.#placeOf(group))?.point ?? null;
  }

  /**
   * Takes back everything behind that group, which the replicated log does not have. It is kept as `*.broken`. The
   * engine is built anew.
   */
  async cutAfter(group: number): Promise<void> {
    const place = group === 0 ? null : await this.#placeOf(group);
    if (place === null && group > 0)
      throw new PersistenceError('NO_BASE', `group ${group} is not in ${this.#disk.label} any more`);
    const names = await this.#disk.list();
    for (const index of snapshotIndexes(names)) {
      const read = readSnapshotHeader(await readStart(this.#disk, snapshotName(index), HEADER_BYTES));
      if (typeof read === 'string' || read.header.group > group) await this.#disk.remove(snapshotName(index));
    }
    // From the last one back, each durable: after a crash in between the log is one that is cut less far.
    const cut = segmentNumbers(names).filter((number) => number > (place?.number ?? 0));
    for (const number of cut.reverse()) await this.#putAside(segmentName(number), names);
    if (place !== null) await this.#cutSegment(place.number, place.end, names);
    const recovered = await recoverReplica(this.#disk, this.#options);
    await removeLeftovers(this.#disk, recovered, this.#options.logger);
    this.#recovered = recovered;
    const { scan } = recovered;
    this.#segments = scan.segments.map(placeOfSegment);
    this.#last = scan.last;
    this.#isSealed = scan.isSealed;
  }

  async #putAside(name: string, names: readonly string[]): Promise<void> {
    await this.#disk.rename(name, brokenName(names, name));
    await this.#disk.syncDirectory();
  }

  /**
   * By another file under the same name: an overwritten one might be there in part after a power cut, and what stands
   * behind the gap would say that it was durable.
   */
  async #cutSegment(number: number, end: number, names: readonly string[]): Promise<void> {
    const name = segmentName(number);
    const bytes = await readWhole(this.#disk, name);
    const { format = FILE_FORMAT, madeBytes = 0 } = this.#segments.find((segment) => segment.number === number) ?? {};
    const contentEnd = endOfContent(bytes, end);
    if (contentEnd > end) {
      await writeWhole(this.#disk, brokenName(names, `${name}.${end}`), [bytes.subarray(end, contentEnd)]);
    }
    const unused = Buffer.alloc(Math.max(bytes.length, madeBytes) - end, format >= FILLED_FORMAT ? FILL : 0);
    await writeWhole(this.#disk, name, [bytes.subarray(0, end), unused]);
  }

  /** Appended, and not durable yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  append(group: ReplicatedBytes): void {
    this.#last = group.after;
    this.#waitingBytes += group.bytes.length;
    this.#waiting.push(group);
    this.#writing ??= this.#write();
  }

  /** Resolves when all that was appended is durable. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  /** From now on this process writes the log itself. The replica takes nothing more. */
  async lead(options: OpenLogOptions): Promise<OpenLog> {
    await this.flush();
    await this.#file?.close();
    this.#file = null;
    this.#isClosed = true;
    const used = this.#segments.at(-1)?.number ?? 0;
    const end: LogEnd = {
      epoch: this.#options.manifest.epoch,
      segments: this.#segments,
      emptySegments: this.#recovered.scan.emptySegments.filter((number) => number > used),
      last: this.#last,
      isSealed: this.#isSealed,
    };
    const segmentBytes = await segmentBytesFor(this.#disk, options.segmentBytes);
    const journal = await LogJournal.open(this.#disk, end, { ...options, segmentBytes, lock: this.#lock });
    return assembleLog(this.#disk, this.#lock, this.#manifestFile, this.#recovered, journal, options);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.flush();
    await this.#file?.close();
    await this.#lock.release();
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const groups = this.#waiting.splice(0);
        await this.#writeGroups(groups);
        for (const { bytes } of groups) this.#waitingBytes -= bytes.length;
      }
    } catch (cause) {
      this.#waiting.length = 0;
      this.#isClosed = true;
      this.#options.onFatal(new PersistenceError('FAILED', 'the replica of the log cannot be written', { cause }));
    }
    this.#writing = null;
  }

  /** A segment is durable before the next is begun, as a survey counts on. */
  async #writeGroups(groups: readonly ReplicatedBytes[]): Promise<void> {
    for (let from = 0; from < groups.length;) {
      if (groups[from]?.beginsSegment === true) await this.#beginSegment(groups[from]?.bytes);
      let to = from + 1;
      while (to < groups.length && groups[to]?.beginsSegment === false) to += 1;
      const piece = groups.slice(from, to);
      const bytes = piece.length === 1 ? piece[0]?.bytes : Buffer.concat(piece.map((group) => group.bytes));
      const segment = this.#segments.at(-1);
      if (segment === undefined || bytes === undefined) throw new Error('a log begins with a segment header');
      this.#file ??= await this.#disk.open(segmentName(segment.number), 'write');
      await this.#file.write(bytes, segment.end);
      await this.#file.sync();
      segment.end += bytes.length;
      // A seal has no frames but its COMMIT; that one more is written where the last was one does no harm.
      this.#isSealed = false;
      from = to;
    }
  }

  async #beginSegment(bytes: Buffer | undefined): Promise<void> {
    const read = bytes === undefined ? 'nothing' : readSegmentHeader(bytes);
    const number = (this.#segments.at(-1)?.number ?? 0) + 1;
    if (typeof read === 'string' || read.header.number !== number) {
      throw new Error(`segment ${number} is to come, and the group does not begin with its header`);
    }
    await this.#file?.close();
    const name = segmentName(number);
    const { madeBytes, format } = read.header;
    // As long as its header says that it was made, or a start would take the end of the log for lost.
    if (!(await this.#hasReady(name, madeBytes))) await prepareSegment(this.#disk, number, madeBytes, () => true);
    this.#file = await this.#disk.open(name, 'write');
    this.#segments.push({ number, format, madeBytes, end: 0 });
  }

  /** One that an earlier life of this process as the leader made; one that is too short is removed. */
  async #hasReady(name: string, madeBytes: number): Promise<boolean> {
    if (!(await this.#disk.list()).includes(name)) return false;
    const file = await this.#disk.open(name, 'read');
    const size = await file.size();
    await file.close();
    if (size >= madeBytes) return true;
    await this.#disk.remove(name);
    await this.#disk.syncDirectory();
    return false;
  }

  async #placeOf(group: number): Promise<{ number: number; end: number; point: LogPoint } | null> {
    const starts = await segmentStarts(this.#disk);
    const start = starts.findLast(({ first }) => first.group < group);
    if (start === undefined) return null;
    const { epoch } = this.#options.manifest;
    const bytes = await readWhole(this.#disk, segmentName(start.number));
    const header = readSegmentHeader(bytes);
    if (typeof header === 'string') return null;
    return placeIn(start, bytes, header.frame.end, group, epoch);
  }
}

interface SegmentPlace {
  readonly number: number;
  readonly format: number;
  readonly madeBytes: number;
  end: number;
}

function placeOfSegment({ number, format, madeBytes, end }: SegmentPlace): SegmentPlace {
  return { number, format, madeBytes, end };
}

function placeIn(
  { number, first }: SegmentStart,
  bytes: Buffer,
  headerEnd: number,
  group: number,
  epoch: Buffer,
): { number: number; end: number; point: LogPoint } | null {
  let point = first;
  for (let end = 0; ;) {
    const read = readGroup(bytes, end, end === 0 ? headerEnd : end, point, epoch);
    if ('reason' in read) return null;
    ({ point, end } = read);
    if (point.group === group) return { number, end, point };
  }
}

/** A directory in which no segment has begun is a replica without a group: what a crash left of the first is dropped. */
async function recoverReplica(disk: Disk, { manifest, logger, startScan }: ReplicaLogOptions): Promise<Recovered> {
  if ((await segmentStarts(disk)).length > 0) {
    return recover(disk, manifest.epoch, manifest.reorgDepth, logger, startScan);
  }
  for (const number of segmentNumbers(await disk.list())) await disk.remove(segmentName(number));
  await disk.syncDirectory();
  return emptyLog(disk, manifest);
}
