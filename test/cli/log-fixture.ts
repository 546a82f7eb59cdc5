import type { Command, Rfq } from '../../src/engine/command.js';
import type { Hex } from '../../src/engine/quote.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { openLog } from '../../src/persistence/recovery/open-log.js';
import { SnapshotProcess } from '../../src/persistence/snapshot/snapshot-process.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

export interface LogFixtureOptions {
  /** The command of the record with that number; by default one that holds the text `"note":n`. */
  readonly recordOf?: (n: number) => Command;
  /** Engine time then, Unix seconds, from where it goes on; null: it stands still. */
  readonly startSeconds?: number | null;
}

const ADDRESS: Hex = `0x${'ab'.repeat(20)}`;

const noteOf = (n: number): Command => {
  const rfq: Rfq = { poolAddress: ADDRESS, side: 'ask', size: 1n, taker: ADDRESS, body: `{"note":${n}}` };
  return { type: 'PUBLISH_RFQ', rfq };
};

/**
 * Leaves a closed log of `records` records in a directory, in groups of `groupRecords`, and says how its engine stood.
 */
export async function logIn(
  directory: string,
  records: number,
  groupRecords = records,
  { recordOf = noteOf, startSeconds = null }: LogFixtureOptions = {},
): Promise<{ index: number; stateHash: string }> {
  const fail = (error: unknown): never => {
    throw error;
  };
  const snapshots = new SnapshotProcess(directory, 60_000, silent);
  const log = await openLog(await openNodeDisk(directory), {
    identity: { chainId: 421_613 },
    reorgDepth: 64,
    random: systemRandom,
    clock: systemClock,
    logger: silent,
    onFatal: fail,
    sync: { type: 'always' },
    segmentBytes: 1 << 20,
    bufferBytes: 1 << 16,
    sealDelayMs: 5,
    slowCommitMs: 1_000,
    spareRetryMs: 100,
    queueRecords: 1_000,
    queueBytes: 1 << 20,
    lowWaterBytes: 0,
    lowWaterMaxBytes: 0,
    lowWaterShare: 0,
    checkMs: 1_000,
    stateHashEveryRecords: 1_000_000,
    stateSumOrders: 1,
    snapshotEveryRecords: 1_000_000,
    snapshotRetryMs: 1_000,
    snapshotsKept: 2,
    retainLogBytes: Infinity,
    draftTag: 'fixture',
    make: (request) => snapshots.make(request),
  });
  const { engine, journal } = log;
  const time = new EngineTime(systemClock, engine.tsMs);
  if (startSeconds !== null) time.observe(startSeconds);
  const sequencer = new Sequencer({ engine, journal, time, expiredAtOnce: Infinity, onFault: fail });
  for (let n = 1; n <= records; n++) {
    sequencer.submit(recordOf(n));
    if (n % groupRecords === 0) await journal.flush();
  }
  await journal.flush();
  const state = { index: engine.index, stateHash: engine.stateHash() };
  await log.close();
  snapshots.end();
  return state;
}
