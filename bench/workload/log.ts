import { limits } from '../../src/config/limits.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { type OpenLog, openLog, type OpenLogOptions } from '../../src/persistence/recovery/open-log.js';
import { SnapshotProcess } from '../../src/persistence/snapshot/snapshot-process.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { CHAIN_ID } from './signed-quotes.js';

export const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A log as the service has it by default: an fsync before every acknowledgement, segments of the same size. */
export function benchLogOptions(maker: SnapshotProcess, snapshots: boolean): OpenLogOptions {
  return {
    identity: { chainId: CHAIN_ID },
    reorgDepth: limits.reorgDepth,
    random: systemRandom,
    clock: systemClock,
    logger: silent,
    onFatal(error) {
      throw error;
    },
    sync: { type: 'always' },
    segmentBytes: limits.logSegmentBytes,
    bufferBytes: limits.logBufferBytes,
    sealDelayMs: limits.logSealDelayMs,
    slowCommitMs: limits.logSlowCommitMs,
    spareRetryMs: limits.logSpareRetryMs,
    queueRecords: limits.logQueueRecords,
    queueBytes: limits.logQueueBytes,
    lowWaterBytes: null,
    lowWaterMaxBytes: limits.lowWaterMaxBytes,
    lowWaterShare: limits.lowWaterPercent / 100,
    checkMs: limits.spaceCheckMs,
    snapshotEveryRecords: snapshots ? limits.snapshotEveryRecords : Number.MAX_SAFE_INTEGER,
    snapshotRetryMs: limits.snapshotRetryMs,
    snapshotsKept: limits.snapshotsKept,
    stateHashEveryRecords: limits.stateHashEveryRecords,
    stateSumOrders: limits.stateSumOrders,
    retainLogBytes: Infinity,
    draftTag: 'bench',
    // One that is asked for where none are due leaves no process behind.
    make: (request) => maker.make(request).finally(() => (snapshots ? undefined : maker.end())),
  };
}

/** Snapshots are written by another process and take CPU time, so only some contenders write them. */
export async function openBenchLog(directory: string, snapshots: boolean): Promise<OpenLog> {
  const maker = new SnapshotProcess(directory, limits.snapshotMs, silent);
  if (snapshots) maker.start();
  const log = await openLog(await openNodeDisk(directory), benchLogOptions(maker, snapshots));
  return {
    ...log,
    async close() {
      await log.close();
      maker.end();
    },
  };
}
