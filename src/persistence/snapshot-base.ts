import type { Disk } from './disk.js';
import type { LogPoint } from './file-header.js';
import type { Logger } from './logger.js';
import type { SnapshotNote } from './notes.js';
import { PersistenceError } from './persistence-error.js';
import { snapshotIndexes, snapshotName } from './segment.js';
import { readSnapshot, type ReadSnapshot } from './snapshot.js';
import type { SegmentStart } from './log-records.js';

/** What a log says that a snapshot has to agree with. */
export interface LogFacts {
  readonly epoch: Buffer;
  /** Rising. */
  readonly segments: readonly SegmentStart[];
  readonly last: LogPoint;
  /** What the log tells of its snapshots, by record index. */
  readonly snapshots: ReadonlyMap<number, SnapshotNote>;
  /** The chain value after a group of the log; undefined: not known. */
  chainAt(group: number): Buffer | undefined;
}

export interface Base {
  /** Null: there is none, and the log begins with record 1. */
  readonly snapshot: ReadSnapshot | null;
  /** Newer ones that are of no use, by record index. */
  readonly passed: readonly number[];
}

/**
 * The newest snapshot that a replay of this log can begin with. Throws PersistenceError: NO_BASE
 * when it doesn't, DAMAGED when a whole snapshot says that the log was once longer.
 */
export async function findBase(disk: Disk, log: LogFacts, logger: Logger): Promise<Base> {
  const passed: number[] = [];
  const reasons: string[] = [];
  const indexes = snapshotIndexes(await disk.list());
  for (const index of indexes.reverse()) {
    const snapshot = await usable(disk, index, log);
    if (typeof snapshot !== 'string') return { snapshot, passed };
    passed.push(index);
    reasons.push(`${snapshotName(index)}: ${snapshot}`);
    logger.warn(
      { snapshot: snapshotName(index), reason: snapshot },
      'a snapshot is of no use: the next older one is tried',
    );
  }
  const firstIndex = (log.segments[0]?.first.index ?? 0) + 1;
  if (firstIndex === 1) return { snapshot: null, passed };
  const why = reasons.length === 0 ? 'there is no snapshot' : `no snapshot can be used (${reasons.join('; ')})`;
  throw new PersistenceError('NO_BASE', `the log begins with record ${firstIndex}, and ${why}`);
}

/** The snapshot, or in words why it can't be the base. */
async function usable(disk: Disk, index: number, log: LogFacts): Promise<ReadSnapshot | string> {
  let snapshot: ReadSnapshot;
  try {
    snapshot = await readSnapshot(disk, index);
  } catch (error) {
    if (error instanceof PersistenceError && error.code === 'DAMAGED') return error.message;
    throw error;
  }
  const { header, sha256 } = snapshot;
  if (!header.epoch.equals(log.epoch)) return 'it belongs to another log';
  const note = log.snapshots.get(index);
  if (note !== undefined && note.sha256 !== sha256) return 'the log tells another hash of it';
  if (header.group > log.last.group) {
    const place = { file: snapshotName(index), offset: 0, index: log.last.index, seq: log.last.seq };
    throw new PersistenceError(
      'DAMAGED',
      `the log ends with record ${log.last.index}, and this snapshot has record ${index}`,
      {
        place,
      },
    );
  }
  const first = log.segments[0]?.first;
  if (first !== undefined && header.group < first.group) return `the log only begins with record ${first.index + 1}`;
  const chain = log.chainAt(header.group);
  return chain === undefined || chain.equals(header.chain) ? snapshot : 'it was made from another log than this one';
}
