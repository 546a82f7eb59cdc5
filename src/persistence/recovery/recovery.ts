import type { Engine } from '../../engine/engine.js';
import { type Disk, type Logger, PersistenceError } from '../disk/disk.js';
import { segmentName, segmentNumbers, snapshotIndexes } from '../format/file-names.js';
import { type LogScan, type PassedSegment, type ScannedSegment, scanLog } from '../log/log-scanner.js';
import { readRecords, readRecordsOf } from '../log/segment-reader.js';
import { Replayer, type StateAt, RecordedHashes } from './replay.js';
import { type BaseCandidate, factsOf, findBase, objection, readCandidate } from './snapshot-base.js';

/** An engine as the log leaves it. */
export interface Recovered {
  readonly engine: Engine;
  readonly scan: LogScan;
  /** Record up to which a snapshot gave the state; 0: none did. */
  readonly snapshotIndex: number;
  /** Newer snapshots that are of no use, by record index. */
  readonly passedSnapshots: readonly number[];
  /** State hashes that the log told and the replay came to again. */
  readonly comparedHashes: number;
}

/** One is written to and one lies ready: so few are read before a thread has begun. */
const LONG_SEGMENTS = 3;

/** A look through the log that goes on in another thread. */
export interface RunningScan {
  /** Ends when there is no more, also where the scan fails. */
  readonly passed: AsyncIterable<PassedSegment>;
  readonly scan: Promise<LogScan>;
}

/** Reads and checks every byte of the log's segments, as `scanLog` does, away from this thread. */
export type StartScan = (epoch: Buffer) => RunningScan;

/**
 * Reads and checks everything, and rebuilds the engine. Changes nothing on the disk. With `startScan` a long log is
 * replayed while that goes on. Throws PersistenceError: DAMAGED, NO_BASE, DIFFERS or NEWER_FORMAT, naming the place.
 */
export async function recover(
  disk: Disk,
  epoch: Buffer,
  reorgDepth: number,
  logger: Logger,
  startScan?: StartScan,
): Promise<Recovered> {
  const names = await disk.list();
  const segments = segmentNumbers(names).length;
  if (segments === 0) {
    throw new PersistenceError('NO_BASE', `${disk.label} was in use, and its log is gone: it has no segments`);
  }
  const snapshots = snapshotIndexes(names);
  const recovered =
    startScan === undefined || segments < LONG_SEGMENTS
      ? await recoverInOrder(disk, await scanLog(disk, epoch), snapshots, reorgDepth, logger)
      : await recoverAhead(disk, startScan(epoch), snapshots, reorgDepth, logger);
  const { snapshotIndex, comparedHashes } = recovered;
  const { index, seq } = recovered.scan.last;
  logger.info({ index, seq, snapshotIndex, replayed: index - snapshotIndex, comparedHashes }, 'log read');
  return recovered;
}

/** With what was replayed meanwhile, where that went well; else in order. */
async function recoverAhead(
  disk: Disk,
  { passed, scan: scanning }: RunningScan,
  snapshots: readonly number[],
  reorgDepth: number,
  logger: Logger,
): Promise<Recovered> {
  const newest = snapshots.at(-1);
  const replaying = newest === undefined ? null : replayDuringScan(disk, newest, reorgDepth, passed);
  // Neither is left to go on, or to fail with nobody there to hear of it, when the other one fails.
  await Promise.allSettled([replaying, scanning]);
  const scan = await scanning;
  const ahead = await replaying;
  if (ahead === null || !matchesScan(ahead, scan)) {
    return recoverInOrder(disk, scan, snapshots, reorgDepth, logger);
  }
  const { engine } = ahead.candidate;
  const isBaseTold = RecordedHashes.in(scan).compare(ahead.base, null);
  const comparedHashes = ahead.compared + (isBaseTold ? 1 : 0);
  return { engine, scan, snapshotIndex: ahead.base.index, passedSnapshots: [], comparedHashes };
}

async function recoverInOrder(
  disk: Disk,
  scan: LogScan,
  snapshots: readonly number[],
  reorgDepth: number,
  logger: Logger,
): Promise<Recovered> {
  const { engine, passed } = await findBase(disk, snapshots, factsOf(scan), reorgDepth, logger);
  const snapshotIndex = engine.index;
  const comparedHashes = await replay(disk, scan, engine);
  return { engine, scan, snapshotIndex, passedSnapshots: passed, comparedHashes };
}

/** Everything after what the engine has. Resolves to the number of state hashes that were compared. */
async function replay(disk: Disk, scan: LogScan, engine: Engine): Promise<number> {
  const replayer = new Replayer(engine);
  const recorded = RecordedHashes.in(scan);
  let compared = recorded.compare(engine, null) ? 1 : 0;
  for await (const records of readRecords(disk, scan.segments, engine.index, scan.last.index)) {
    for (const record of records) {
      replayer.apply(record);
      if (recorded.compare(engine, record)) compared += 1;
    }
  }
  if (engine.index !== scan.last.index || engine.seq !== scan.last.seq) {
    const last = scan.segments.at(-1);
    const place = {
      file: segmentName(last?.number ?? 1),
      offset: last?.end ?? 0,
      index: engine.index,
      seq: engine.seq,
    };
    throw new PersistenceError('DIFFERS', `the log ends with record ${scan.last.index} and event ${scan.last.seq}`, {
      place,
    });
  }
  return compared;
}

/** The part of a log that was replayed before all of it had been looked through. */
export interface EarlyReplay {
  readonly candidate: BaseCandidate;
  /** The candidate's engine before the first record. */
  readonly base: StateAt;
  /** State hashes that the log records behind it, and that the replay reproduced. */
  readonly compared: number;
}

/**
 * Replays the log behind the newest snapshot while the scan goes on: each segment once its bytes and those of the next
 * one are verified, because the next one records the last hashes of its state. Null where that fails: a replay in order
 * meets the same fault again, and names it.
 */
export async function replayDuringScan(
  disk: Disk,
  snapshotIndex: number,
  reorgDepth: number,
  passed: AsyncIterable<PassedSegment>,
): Promise<EarlyReplay | null> {
  try {
    const candidate = await readCandidate(disk, snapshotIndex, reorgDepth);
    if (typeof candidate === 'string') return null;
    const { engine } = candidate;
    const base = stateOf(engine);
    const recorded = new RecordedHashes();
    const replayer = new Replayer(engine);
    let compared = 0;
    for await (const records of readRecordsOf(disk, oneBehind(passed, recorded), engine.index)) {
      for (const record of records) {
        replayer.apply(record);
        if (recorded.compare(engine, record)) compared += 1;
      }
    }
    return { candidate, base, compared };
  } catch {
    return null;
  }
}

/** Whether the log as a whole goes with what was replayed ahead, and tells of no state that was passed over. */
export function matchesScan({ candidate, base, compared }: EarlyReplay, scan: LogScan): boolean {
  const { engine } = candidate;
  const { last } = scan;
  return (
    engine.index === last.index &&
    engine.seq === last.seq &&
    RecordedHashes.in(scan).countAfter(base.index) === compared &&
    objection(candidate, factsOf(scan)) === null
  );
}

/** As it is now: the engine goes on. */
function stateOf(engine: Engine): StateAt {
  const [hash, sum] = [engine.stateHash(), engine.stateSum()];
  return { index: engine.index, seq: engine.seq, stateHash: () => hash, stateSum: () => sum };
}

async function* oneBehind(
  passed: AsyncIterable<PassedSegment>,
  recorded: RecordedHashes,
): AsyncGenerator<ScannedSegment> {
  let before: ScannedSegment | null = null;
  for await (const { segment, stateHashes } of passed) {
    for (const marker of stateHashes) recorded.add(marker);
    if (before !== null) yield before;
    before = segment;
  }
  if (before !== null) yield before;
}
