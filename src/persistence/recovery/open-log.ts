import type { Engine } from '../../engine/engine.js';
import type { Random } from '../../engine/ports.js';
import { type Disk, type DiskLock, isDiskFull, LOCK_NAME, PersistenceError, readWhole } from '../disk/disk.js';
import { segmentBytesFor, segmentName, segmentNumbers, snapshotIndexes } from '../format/file-names.js';
import { endOfContent, isUnused, type SnapshotMarker } from '../format/frame.js';
import { EPOCH_BYTES, firstChain } from '../format/header.js';
import { compareIdentity, type Identity, readManifest, type Manifest, writeManifest } from '../format/manifest.js';
import { LogJournal, type LogJournalOptions } from '../log/journal.js';
import { LogHistory } from '../log/log-history.js';
import {
  Snapshotter,
  type SnapshotterOptions,
  type StateSumOptions,
  recordStateSums,
} from '../snapshot/snapshotter.js';
import { checkHalt, noteDeepReorg } from './halted-log.js';
import { continueLog } from './lost-tail.js';
import type { Recovered, StartScan } from './recovery.js';
import { createEngine } from './replay.js';
import { removeUnfinished, removeLeftovers } from './torn-tail.js';

export interface OpenLogOptions
  extends
    Omit<LogJournalOptions, 'lock'>,
    StateSumOptions,
    Omit<SnapshotterOptions, 'epoch' | 'reorgDepth' | 'lastIndex'> {
  /** Chains and contracts that the log is of. */
  readonly identity: Identity;
  /** For a new log; one that is there keeps the depth that it was begun with. */
  readonly reorgDepth: number;
  /** Epoch of a log that halted at a deep reorg, and is to be put aside; null or absent: none. */
  readonly acceptDeepReorg?: string | null;
  /** Reads the log's segments away from this thread; without it they are read in this one. */
  readonly startScan?: StartScan;
  /** For a new log's epoch. */
  readonly random: Random;
}

/** Everything that a process has of its log. */
export interface OpenLog {
  /** As the log left it. */
  readonly engine: Engine;
  readonly journal: LogJournal;
  readonly history: LogHistory;
  readonly snapshotter: Snapshotter;
  /** 16 hex digits; another one when events that clients received may be lost. */
  readonly epoch: string;
  /** The depth that the engine was made with. */
  readonly reorgDepth: number;
  /** Files that are kept beside the log. */
  readonly files: readonly string[];
  /** From the next start on this file is one of them. Durable when it resolves. */
  noteFile(name: string): Promise<void>;
  /** The chains can't be followed any more: from the next start on the log is refused. Durable when it resolves. */
  noteDeepReorg(why: string): Promise<void>;
  /** Writes the engine's state hash, has a snapshot made, seals the log and gives the directory free. */
  close(): Promise<void>;
}

/**
 * Takes the directory for this process, rebuilds the engine from it, or begins a new log, and goes on from there.
 * Throws PersistenceError: LOCKED, FOREIGN, DEEP_REORG, DAMAGED, LOST_TAIL, NO_BASE, DIFFERS, NEWER_FORMAT; then nothing on the disk has
 * changed but `*.tmp` files.
 */
export async function openLog(disk: Disk, options: OpenLogOptions): Promise<OpenLog> {
  const lock = await disk.lock(LOCK_NAME);
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using ${disk.label}`);
  try {
    return await openLocked(disk, lock, options);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openLocked(disk: Disk, lock: DiskLock, options: OpenLogOptions): Promise<OpenLog> {
  const stamped = await readManifest(disk);
  checkIdentity(disk, stamped, options.identity);
  const found = await checkHalt(disk, stamped, options.acceptDeepReorg ?? null);
  if (stamped !== null && found === null) options.logger.warn({}, 'halted log set aside');
  await removeUnfinished(disk);
  const isWeak = options.sync.type !== 'always';
  const acceptsLoss = isWeak || (found?.sync ?? 'always') !== 'always';
  const begun = newManifest(options);
  const { recovered, manifest, isNewEpoch } =
    found === null
      ? { recovered: await emptyLog(disk, begun), manifest: begun, isNewEpoch: false }
      : await continueLog(disk, { ...options, acceptsLoss, isWeak });
  if (manifest.reorgDepth !== options.reorgDepth) {
    const details = { reorgDepth: manifest.reorgDepth, wanted: options.reorgDepth };
    options.logger.warn(details, 'reorg depth setting ignored');
  }
  const manifestFile = new ManifestFile(disk, manifest);
  // Before anything is mended or written: a crash in between must not leave a log that looks closed, or the old epoch.
  // With `always` a group that was closed is there for good.
  const closedGroup = isWeak ? null : manifest.closedGroup;
  const isChanged = isNewEpoch || manifest.sync !== options.sync.type || manifest.closedGroup !== closedGroup;
  if (found !== null && isChanged) await manifestFile.change({ sync: options.sync.type, closedGroup });
  await removeLeftovers(disk, recovered, options.logger);
  const segmentBytes = await segmentBytesFor(disk, options.segmentBytes);
  const journal = await LogJournal.open(disk, recovered.scan, { ...options, segmentBytes, lock });
  try {
    // Last of all: from now on a directory without segments is one that has lost them.
    if (found === null) await manifestFile.change(manifest);
  } catch (error) {
    // Its looks at the volume would keep the process alive for ever. The first error explains any that follow.
    await journal.close().catch(() => undefined);
    throw error;
  }
  return assembleLog(disk, lock, manifestFile, recovered, journal, options);
}

export function assembleLog(
  disk: Disk,
  lock: DiskLock,
  manifestFile: ManifestFile,
  { engine, snapshotIndex }: Pick<Recovered, 'engine' | 'snapshotIndex'>,
  journal: LogJournal,
  options: OpenLogOptions,
): OpenLog {
  const { epoch, feedEpoch, reorgDepth } = manifestFile.manifest;
  recordStateSums(engine, journal, options);
  const snapshotter = new Snapshotter(disk, journal, { ...options, epoch, reorgDepth, lastIndex: snapshotIndex });
  return {
    engine,
    journal,
    snapshotter,
    history: new LogHistory(disk, epoch),
    epoch: feedEpoch.toString('hex'),
    reorgDepth,
    files: manifestFile.manifest.files,
    async noteFile(name) {
      const { files } = manifestFile.manifest;
      if (!files.includes(name)) await manifestFile.change({ files: [...files, name] });
    },
    noteDeepReorg: (why) => noteDeepReorg(disk, epoch.toString('hex'), why),
    async close() {
      await snapshotter.take();
      await snapshotter.close();
      journal.addMarker({ type: 'STATE_HASH', index: engine.index, stateHash: engine.stateHash() });
      await journal.close();
      await manifestFile.change({ closedGroup: journal.durable.group }).catch((error: unknown) => {
        if (!isDiskFull(error)) throw error;
        options.logger.warn({ err: error }, 'clean stop not recorded');
      });
      await lock.release();
    },
  };
}

export function checkIdentity(disk: Disk, found: Manifest | null, wanted: Identity): void {
  const differences = found === null ? [] : compareIdentity(found.identity, wanted);
  if (differences.length === 0) return;
  throw new PersistenceError(
    'FOREIGN',
    `${disk.label} belongs to other chains or contracts: ${differences.join('; ')}`,
  );
}

function newManifest({ random, reorgDepth, identity, sync }: OpenLogOptions): Manifest {
  const epoch = Buffer.from(random.bytes(EPOCH_BYTES));
  return { epoch, feedEpoch: epoch, reorgDepth, identity, sync: sync.type, closedGroup: null, files: [] };
}

/** The manifest on the disk: its changes are written one after another. */
export class ManifestFile {
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(
    private readonly disk: Disk,
    public manifest: Manifest,
  ) {}

  /** Durable when it resolves. */
  change(change: Partial<Manifest>): Promise<void> {
    this.manifest = { ...this.manifest, ...change };
    const write = (): Promise<void> => writeManifest(this.disk, this.manifest);
    this.#lastWrite = this.#lastWrite.then(write, write);
    return this.#lastWrite;
  }
}

/** A directory without a manifest may have been begun, no more: a first segment that nothing was written to. */
export async function emptyLog(disk: Disk, { epoch, reorgDepth }: Manifest): Promise<Recovered> {
  const names = await disk.list();
  const emptySegments = segmentNumbers(names);
  const readySegments: number[] = [];
  for (const number of emptySegments) {
    const name = segmentName(number);
    const bytes = await readWhole(disk, name);
    if (isUnused(bytes)) readySegments.push(number);
    if (endOfContent(bytes, 0) > 0) {
      throw new PersistenceError('NO_BASE', `${disk.label} has a log (${name}), and its stamp is gone`);
    }
  }
  if (snapshotIndexes(names).length > 0) {
    throw new PersistenceError('NO_BASE', `${disk.label} has snapshots, and its stamp is gone`);
  }
  const scan = {
    epoch,
    segments: [],
    emptySegments,
    readySegments,
    last: { index: 0, seq: 0, group: 0, chain: firstChain(epoch) },
    isSealed: true,
    torn: null,
    lost: null,
    snapshots: new Map<number, SnapshotMarker>(),
    stateHashes: [],
    chains: new Map<number, Buffer>(),
  };
  return { engine: createEngine(reorgDepth), scan, snapshotIndex: 0, passedSnapshots: [], comparedHashes: 0 };
}
