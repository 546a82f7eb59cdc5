import type { Engine } from '../engine/engine.js';
import type { Disk } from './disk.js';
import type { LogPoint } from './file-header.js';
import { freshEngine } from './fresh-engine.js';
import type { Logger } from './logger.js';
import type { SnapshotNote } from './notes.js';
import { PersistenceError } from './persistence-error.js';
import { snapshotName } from './segment.js';
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
  /** As the snapshot says; one that has applied nothing when there is none, and the log begins with record 1. */
  readonly engine: Engine;
  /** Newer ones that are of no use, by record index. */
  readonly passed: readonly number[];
}

/**
 * An engine with the newest snapshot of `indexes`, rising, that a replay of this log can begin with. `facts` may still
 * be on their way: reading a snapshot takes as long as a survey. The snapshots are those of before the survey: one that
 * a server makes meanwhile has records that the survey did not see. Throws PersistenceError: NO_BASE when it doesn't, DAMAGED when a whole
 * snapshot says that the log was once longer.
 */
export async function findBase(
  disk: Disk,
  indexes: readonly number[],
  facts: LogFacts | Promise<LogFacts>,
  reorgDepth: number,
  logger: Logger,
): Promise<Base> {
  const passed: number[] = [];
  const reasons: string[] = [];
  for (const index of [...indexes].reverse()) {
    const engine = await engineFrom(disk, index, facts, reorgDepth);
    if (typeof engine !== 'string') return { engine, passed };
    passed.push(index);
    reasons.push(`${snapshotName(index)}: ${engine}`);
    logger.warn(
      { snapshot: snapshotName(index), reason: engine },
      'a snapshot is of no use: the next older one is tried',
    );
  }
  const firstIndex = ((await facts).segments[0]?.first.index ?? 0) + 1;
  if (firstIndex === 1) return { engine: freshEngine(reorgDepth), passed };
  const why = reasons.length === 0 ? 'there is no snapshot' : `no snapshot can be used (${reasons.join('; ')})`;
  throw new PersistenceError('NO_BASE', `the log begins with record ${firstIndex}, and ${why}`);
}

/**
 * An engine with the snapshot's state, or in words why it can't be the base. The facts are only asked for once it is
 * made.
 */
async function engineFrom(
  disk: Disk,
  index: number,
  facts: LogFacts | Promise<LogFacts>,
  reorgDepth: number,
): Promise<Engine | string> {
  const engine = freshEngine(reorgDepth);
  let snapshot: ReadSnapshot;
  try {
    snapshot = await readSnapshot(disk, index);
  } catch (error) {
    if (!(error instanceof PersistenceError) || error.code !== 'DAMAGED') throw error;
    await facts;
    return error.message;
  }
  engine.importState(snapshot.state);
  return objection(snapshot, index, await facts) ?? engine;
}

/** In words why the log does not go with the snapshot; null: it does. */
function objection({ header, sha256 }: ReadSnapshot, index: number, log: LogFacts): string | null {
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
  return chain === undefined || chain.equals(header.chain) ? null : 'it was made from another log than this one';
}
