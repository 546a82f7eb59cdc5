import { constants } from 'node:os';
import type { Clock } from '../../src/engine/ports.js';
import {
  type Disk,
  type DiskFile,
  type DiskLock,
  type DiskSpace,
  type OpenMode,
  syncingEachWrite,
} from '../../src/persistence/disk/disk.js';
import type { SeededRandom } from '../simulation/seeded-random.js';

const SECTOR_BYTES = 512;

/**
 * `kill`: the process alone dies, what it wrote stays. `power`: what wasn't synced reaches the disk in part, sector by
 * sector.
 */
export type Crash = 'kill' | 'power';

type ErrorCode = 'EIO' | 'ENOSPC' | 'ENOENT' | 'EEXIST';
type Call =
  'open' | 'write' | 'read' | 'size' | 'sync' | 'close' | 'list' | 'rename' | 'remove' | 'syncDirectory' | 'space';

export interface SimDiskOptions {
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly capacityBytes?: number;
  /** How long a call takes. */
  readonly delayMs?: (call: Call) => number;
}

export interface Fault {
  /** Which call from now on fails, counted from 1. */
  readonly nth: number;
  readonly code: 'EIO' | 'ENOSPC';
  /** All calls after it fail, too. */
  readonly persistent: boolean;
  /** Calls that count; all when absent. */
  readonly calls?: readonly Call[];
}

interface Inode {
  /** Content for readers: the page cache. */
  content: Buffer;
  /** Content that survives a power cut. */
  stable: Buffer;
  /** Sectors that were written and not synced. */
  readonly dirty: Set<number>;
}

type NameChange = (names: Map<string, Inode>) => void;

/**
 * A directory on a disk that keeps its promises and no more: writes are buffered until they are synced, names until the
 * directory is; a power cut keeps a random subset of sectors and the first few changes of names; a failed sync leaves
 * pages that read as written, count as clean and are not on the disk. One process uses it at a time.
 */
export class SimDisk {
  readonly #options: SimDiskOptions;
  #names = new Map<string, Inode>();
  #stableNames = new Map<string, Inode>();
  #changes: NameChange[] = [];
  #session: Session | null = null;
  #fault: Fault | null = null;
  #calls = 0;
  /** Writes that were asked for and not answered: a crash finds some of each done. */
  readonly #inFlight = new Set<() => void>();
  /** Bytes that others take on the volume. */
  foreignBytes = 0;

  constructor(options: SimDiskOptions) {
    this.#options = options;
  }

  /** The disk as a new process sees it. */
  boot(): Disk {
    this.#session?.end();
    this.#session = new Session(this);
    return this.#session;
  }

  crash(crash: Crash): void {
    this.#session?.end();
    this.#session = null;
    for (const writeSome of this.#inFlight) writeSome();
    this.#inFlight.clear();
    if (crash === 'power') this.#cutPower();
  }

  inject(fault: Fault | null): void {
    this.#fault = fault;
    this.#calls = 0;
  }

  /** Calls since the last `inject` that the fault counts. */
  get calls(): number {
    return this.#calls;
  }

  /** A file's bytes, as a reader sees them. */
  contentOf(name: string): Buffer {
    return Buffer.from(this.inode(name).content);
  }

  fileNames(): string[] {
    return [...this.#names.keys()].sort();
  }

  /** Puts a file there, durable. */
  place(name: string, bytes: Uint8Array): void {
    const inode: Inode = { content: Buffer.from(bytes), stable: Buffer.from(bytes), dirty: new Set() };
    this.#names.set(name, inode);
    this.#stableNames.set(name, inode);
  }

  /** Takes a file away, durably. */
  lose(name: string): void {
    this.#names.delete(name);
    this.#stableNames.delete(name);
  }

  inode(name: string): Inode {
    const inode = this.#names.get(name);
    if (inode === undefined) throw failure('ENOENT', name);
    return inode;
  }

  names(): ReadonlyMap<string, Inode> {
    return this.#names;
  }

  change(change: NameChange): void {
    change(this.#names);
    this.#changes.push(change);
  }

  settleNames(): void {
    this.#stableNames = new Map(this.#names);
    this.#changes = [];
  }

  /** Resolves to what the call does after its time; the process that asked may be dead by then. */
  call<Value>(session: Session, call: Call, run: (error: Error | null) => Value): Promise<Value> {
    return new Promise((resolve) => {
      this.#options.clock.after(this.#options.delayMs?.(call) ?? 0, () => {
        if (session.isAlive) resolve(attempt(() => run(this.#faultOf(call))));
      });
    });
  }

  /** `writeSome`: does a part of the write. Returns what is to be called when the write is done. */
  begin(session: Session, writeSome: () => void): () => void {
    if (session.isAlive) this.#inFlight.add(writeSome);
    return () => this.#inFlight.delete(writeSome);
  }

  get random(): SeededRandom {
    return this.#options.random;
  }

  space(): DiskSpace {
    const totalBytes = this.#options.capacityBytes ?? 2 ** 40;
    let used = this.foreignBytes;
    for (const { content } of this.#names.values()) used += content.length;
    return { totalBytes, freeBytes: Math.max(0, totalBytes - used) };
  }

  #faultOf(call: Call): Error | null {
    const fault = this.#fault;
    if (fault !== null && !(fault.calls?.includes(call) ?? true)) return null;
    this.#calls += 1;
    if (fault === null) return null;
    const isHit = fault.persistent ? this.#calls >= fault.nth : this.#calls === fault.nth;
    return isHit ? failure(fault.code, call) : null;
  }

  #cutPower(): void {
    const names = new Map(this.#stableNames);
    const kept = this.random.below(this.#changes.length + 1);
    for (const change of this.#changes.slice(0, kept)) change(names);
    for (const inode of new Set(names.values())) this.#tear(inode);
    this.#names = names;
    this.settleNames();
  }

  #tear(inode: Inode): void {
    const { random } = this;
    // Some cuts take nothing that was buffered, some take nearly all.
    const share = random.pick([0, 0.1, 0.5, 0.9, 1]);
    for (const sector of inode.dirty) if (random.chance(share)) copySector(inode, sector);
    if (inode.content.length < inode.stable.length && random.chance(0.5)) {
      inode.stable = inode.stable.subarray(0, inode.content.length);
    }
    inode.content = Buffer.from(inode.stable);
    inode.dirty.clear();
  }
}

/** One process's view of the disk. */
class Session implements Disk {
  readonly label = 'simulated disk';
  isAlive = true;
  readonly #disk: SimDisk;
  #isLocked = false;

  constructor(disk: SimDisk) {
    this.#disk = disk;
  }

  end(): void {
    this.isAlive = false;
  }

  open(name: string, mode: OpenMode): Promise<DiskFile> {
    return this.#disk.call(this, 'open', (error) => {
      if (error) throw error;
      if (mode === 'create') {
        if (this.#disk.names().has(name)) throw failure('EEXIST', name);
        const inode: Inode = { content: Buffer.alloc(0), stable: Buffer.alloc(0), dirty: new Set() };
        this.#disk.change((names) => names.set(name, inode));
      }
      const file = new SimFile(this.#disk, this, name, this.#disk.inode(name));
      return mode === 'durable' ? syncingEachWrite(file) : file;
    });
  }

  list(): Promise<string[]> {
    return this.#disk.call(this, 'list', (error) => {
      if (error) throw error;
      return this.#disk.random.chance(0.5) ? this.#disk.fileNames() : this.#disk.fileNames().reverse();
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#disk.call(this, 'rename', (error) => {
      if (error) throw error;
      const inode = this.#disk.inode(from);
      this.#disk.change((names) => {
        names.delete(from);
        names.set(to, inode);
      });
    });
  }

  remove(name: string): Promise<void> {
    return this.#disk.call(this, 'remove', (error) => {
      if (error) throw error;
      this.#disk.inode(name);
      this.#disk.change((names) => names.delete(name));
    });
  }

  syncDirectory(): Promise<void> {
    return this.#disk.call(this, 'syncDirectory', (error) => {
      if (error) throw error;
      this.#disk.settleNames();
    });
  }

  space(): Promise<DiskSpace> {
    return this.#disk.call(this, 'space', (error) => {
      if (error) throw error;
      return this.#disk.space();
    });
  }

  lock(): Promise<DiskLock | null> {
    if (this.#isLocked) return Promise.resolve(null);
    this.#isLocked = true;
    return Promise.resolve({
      isInPlace: () => Promise.resolve(true),
      release: () => {
        this.#isLocked = false;
        return Promise.resolve();
      },
    });
  }
}

class SimFile implements DiskFile {
  readonly name: string;
  readonly #disk: SimDisk;
  readonly #session: Session;
  readonly #inode: Inode;

  constructor(disk: SimDisk, session: Session, name: string, inode: Inode) {
    this.#disk = disk;
    this.#session = session;
    this.name = name;
    this.#inode = inode;
  }

  write(bytes: Uint8Array, position: number): Promise<void> {
    const done = this.#disk.begin(this.#session, () =>
      this.#put(bytes.subarray(0, this.#disk.random.below(bytes.length + 1)), position),
    );
    return this.#disk.call(this.#session, 'write', (error) => {
      done();
      const room = this.#inode.content.length + this.#disk.space().freeBytes - position;
      const full = bytes.length > room ? failure('ENOSPC', this.name) : null;
      // A write that fails has written some of it.
      const taken = error ? this.#disk.random.below(bytes.length + 1) : Math.min(bytes.length, Math.max(0, room));
      this.#put(bytes.subarray(0, taken), position);
      const fault = error ?? full;
      if (fault) throw fault;
    });
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return this.#disk.call(this.#session, 'read', (error) => {
      if (error) throw error;
      const part = this.#inode.content.subarray(position, position + into.length);
      into.set(part);
      return part.length;
    });
  }

  size(): Promise<number> {
    return this.#disk.call(this.#session, 'size', (error) => {
      if (error) throw error;
      return this.#inode.content.length;
    });
  }

  sync(): Promise<void> {
    return this.#disk.call(this.#session, 'sync', (error) => {
      const inode = this.#inode;
      for (const sector of inode.dirty) if (!error || this.#disk.random.chance(0.5)) copySector(inode, sector);
      // After a failed sync the kernel takes its pages for clean: the next one would say yes and do nothing.
      inode.dirty.clear();
      if (error) throw error;
    });
  }

  close(): Promise<void> {
    return this.#disk.call(this.#session, 'close', (error) => {
      if (error) throw error;
    });
  }

  #put(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    const inode = this.#inode;
    const end = position + bytes.length;
    if (end > inode.content.length) {
      const longer = Buffer.alloc(end);
      inode.content.copy(longer);
      inode.content = longer;
    }
    inode.content.set(bytes, position);
    for (let sector = Math.floor(position / SECTOR_BYTES); sector * SECTOR_BYTES < end; sector += 1)
      inode.dirty.add(sector);
  }
}

/** A throw becomes a rejection. */
async function attempt<Value>(run: () => Value): Promise<Value> {
  return run();
}

/** The sector is on the disk, and with it the file is at least that long. */
function copySector(inode: Inode, sector: number): void {
  const start = sector * SECTOR_BYTES;
  const bytes = inode.content.subarray(start, start + SECTOR_BYTES);
  if (start + bytes.length > inode.stable.length) {
    const longer = Buffer.alloc(start + bytes.length);
    inode.stable.copy(longer);
    inode.stable = longer;
  }
  inode.stable.set(bytes, start);
}

function failure(code: ErrorCode, about: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${about}`), { code, errno: -constants.errno[code] });
}
