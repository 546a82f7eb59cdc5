import path from 'node:path';
import type { Logger } from 'pino';
import type { ChainIdentity } from '../chain/contracts/deployments.js';
import { intentFileName, IntentLog } from '../chain/wallet/intent-log.js';
import type { Limits } from '../config/limits.js';
import type { Settings } from '../config/setting-table.js';
import type { Hex } from '../engine/quote.js';
import { DAY_MS } from '../system/timers.js';
import {
  type Disk,
  isDiskFull,
  parseSyncMode,
  PersistenceError,
  type KeyValueStore,
} from '../persistence/disk/disk.js';
import { JsonStore } from '../persistence/disk/json-store.js';
import { openNodeDisk } from '../persistence/disk/node-disk.js';
import { type Identity, requireManifest } from '../persistence/format/manifest.js';
import { logBytes, type LogStorage, meteredDisk, readStorage } from '../persistence/recovery/log-backup.js';
import { type OpenLog, openLog, type OpenLogOptions } from '../persistence/recovery/open-log.js';
import { scanInThread } from '../persistence/recovery/scan-thread.js';
import { TradeFiles } from '../persistence/trades/trade-files.js';
import { SnapshotProcess } from '../persistence/snapshot/snapshot-process.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { Progress, type ProgressState } from './progress.js';

const BUDGET_FILE = 'budgets.jsonl';
const DRAFT_TAG_BYTES = 8;

export interface DataDirectoryOptions {
  readonly settings: Settings;
  readonly limits: Limits;
  /** The profile's name: each deployment's log has a directory of its own below `dataDir`. */
  readonly name: string;
  readonly identity: ChainIdentity;
  /** On a chain of one's own machine a log of another chain is left alone, and a new one begun beside it. */
  readonly beginAnew: boolean;
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
  /** Of a terminal, as `ProgressOutput` has it. */
  readonly showStatus?: ((text: string) => void) | undefined;
}

/** An open data directory. */
export interface DataDirectory extends OpenLog {
  /** Where the log is. */
  readonly directory: string;
  /** Daily usage of keys and wallets. */
  readonly budgets: KeyValueStore;
  /** Trade events of the log; null: they cannot be kept besides, which has been logged. */
  readonly tradeFiles: TradeFiles | null;
  /** How much room the log takes, and how old its newest snapshot is. */
  readonly storage: () => Promise<LogStorage>;
  /** Intents of this wallet on that chain. One process at a time holds them. */
  openIntents(chainId: number, address: Hex): Promise<IntentLog>;
}

/** Whether the operator has the service go on without this file. */
export function acceptsMissing({ acceptMissing }: Pick<Settings, 'acceptMissing'>, file: string): boolean {
  return acceptMissing?.split(',').includes(file) === true;
}

/** Opens the log of this deployment. Rejects with PersistenceError when it can't be trusted, or is somebody else's. */
export async function openDataDirectory(options: DataDirectoryOptions): Promise<DataDirectory> {
  const { settings, name, beginAnew, logger } = options;
  for (let copy = 1; ; copy++) {
    const directory = path.join(settings.dataDir, copy === 1 ? name : `${name}-${copy}`);
    try {
      return await openIn(directory, options);
    } catch (error) {
      if (!beginAnew || !(error instanceof PersistenceError) || error.code !== 'FOREIGN') throw error;
      logger.warn({ reason: error.message }, 'log belongs to another chain');
    }
  }
}

/** The process that makes snapshots of the log in that directory; it runs from now on. */
export function openSnapshots(directory: string, limits: Limits, logger: Logger): SnapshotProcess {
  const snapshots = new SnapshotProcess(directory, limits.snapshotMs, logger);
  // Now, before there is a book: to start another process holds up a small one for less.
  snapshots.start();
  return snapshots;
}

export interface LogSettings extends Pick<DataDirectoryOptions, 'settings' | 'limits' | 'logger' | 'onFatal'> {
  readonly identity: Identity;
  readonly snapshots: SnapshotProcess;
}

/** How a log is written, as the settings and limits have it. */
export function openLogOptions({
  settings,
  limits,
  identity,
  logger,
  onFatal,
  snapshots,
}: LogSettings): OpenLogOptions {
  return {
    identity,
    reorgDepth: limits.reorgDepth,
    acceptDeepReorg: settings.acceptDeepReorg,
    random: systemRandom,
    clock: systemClock,
    logger,
    onFatal,
    sync: parseSyncMode(settings.sync),
    segmentBytes: limits.logSegmentBytes,
    bufferBytes: limits.logBufferBytes,
    sealDelayMs: limits.logSealDelayMs,
    slowCommitMs: limits.logSlowCommitMs,
    spareRetryMs: limits.logSpareRetryMs,
    queueRecords: limits.logQueueRecords,
    queueBytes: limits.logQueueBytes,
    lowWaterBytes: settings.lowWaterBytes,
    lowWaterMaxBytes: limits.lowWaterMaxBytes,
    lowWaterShare: limits.lowWaterPercent / 100,
    checkMs: limits.spaceCheckMs,
    stateHashEveryRecords: limits.stateHashEveryRecords,
    stateSumOrders: limits.stateSumOrders,
    snapshotEveryRecords: limits.snapshotEveryRecords,
    snapshotRetryMs: limits.snapshotRetryMs,
    snapshotsKept: limits.snapshotsKept,
    pastSnapshots: settings.pastSnapshots,
    retainLogBytes: settings.retainLogBytes ?? Infinity,
    draftTag: Buffer.from(systemRandom.bytes(DRAFT_TAG_BYTES)).toString('hex'),
    make: (request) => snapshots.make(request),
  };
}

async function openTradeFiles(
  disk: Disk,
  { engine }: OpenLog,
  { limits, logger }: DataDirectoryOptions,
): Promise<TradeFiles> {
  const { epoch } = await requireManifest(disk);
  return TradeFiles.open(disk, {
    epoch,
    end: { seq: engine.seq, tsMs: engine.tsMs },
    fileBytes: limits.tradeFileBytes,
    fileMs: limits.tradeFileMs,
    keptMs: limits.tradeDays * DAY_MS,
    logger,
  });
}

async function openIn(directory: string, options: DataDirectoryOptions): Promise<DataDirectory> {
  const { settings, limits, logger, onFatal } = options;
  const files: JsonStore[] = [];
  const unmetered = await openNodeDisk(directory);
  const line = ({ percent, secondsLeft }: ProgressState): void => {
    logger.info({ percent, secondsLeft }, 'recovering the log');
  };
  const progress = new Progress({ line, status: options.showStatus }, systemClock);
  // Damage is found, and named, by the recovery itself.
  const estimate = await logBytes(unmetered).catch(() => null);
  if (estimate !== null) progress.begin(`recovering the log of ${options.name}`, estimate.recover);
  const onRead = (bytes: number): void => progress.advance(bytes);
  const disk = meteredDisk(unmetered, onRead);
  const snapshots = openSnapshots(directory, limits, logger);
  const log = await openLog(disk, {
    ...openLogOptions({ ...options, snapshots }),
    startScan: scanInThread(directory, onRead),
  })
    .catch((error: unknown) => {
      snapshots.end();
      throw error;
    })
    .finally(() => progress.end());
  const openKept = async (file: string, maxBytes: number): Promise<JsonStore> => {
    const isExpected = log.files.includes(file);
    const acceptMissing = acceptsMissing(settings, file);
    const kept = await JsonStore.open(disk, file, { maxBytes, logger, onFatal, isExpected, acceptMissing });
    files.push(kept);
    await log.noteFile(file).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error;
      logger.warn({ err: error, file }, 'kept file not recorded');
    });
    return kept;
  };
  const tradeFiles = await openTradeFiles(disk, log, options).catch((error: unknown) => {
    logger.error({ err: error }, 'trade files not opened');
    return null;
  });
  const close = async (): Promise<void> => {
    for (const file of files) await file.close();
    await tradeFiles?.close();
    await log.close();
    snapshots.end();
  };
  const budgets = await openKept(BUDGET_FILE, limits.budgetFileBytes).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    ...log,
    directory,
    budgets,
    tradeFiles,
    storage: () => readStorage(disk),
    async openIntents(chainId, address) {
      return new IntentLog(await openKept(intentFileName(chainId, address), limits.intentFileBytes));
    },
    close,
  };
}
