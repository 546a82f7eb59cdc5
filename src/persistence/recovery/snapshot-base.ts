import type { Engine } from '../../engine/engine.js';
import { type Disk, type Logger, lostTailAt, PersistenceError } from '../disk/disk.js';
import { snapshotName } from '../format/file-names.js';
import type { SnapshotMarker } from '../format/frame.js';
import type { LogPoint } from '../format/header.js';
import type { LogScan } from '../log/log-scanner.js';
import type { SegmentStart } from '../log/segment-reader.js';
import { type ReadSnapshot, readSnapshot } from '../snapshot/snapshot-file.js';
import { createEngine } from './replay.js';

/** Statements of the log that a snapshot has to agree with. */
export interface LogFacts {
  readonly epoch: Buffer;
  /** Rising. */
  readonly segments: readonly SegmentStart[];
  readonly last: LogPoint;
  /** The log's markers of its snapshots, by record index. */
  readonly snapshots: ReadonlyMap<number, SnapshotMarker>;
  /** The chain value after a group of the log; undefined: not known. */
  chainAt(group: number): Buffer | undefined;
}

export function factsOf(scan: LogScan): LogFacts {
  return { ...scan, chainAt: (group) => scan.chains.get(group) };
}

export interface Base {
  /** As the snapshot says; an empty engine if no snapshot exists and the log begins with record 1. */
  readonly engine: Engine;
  /** Newer ones that are of no use, by record index. */
  readonly passed: readonly number[];
}

/**
 * An engine with the newest snapshot of `indexes`, rising, that a replay of this log can begin with. The snapshots are
 * those of before the scan: one that a server makes meanwhile has records that the scan did not see. Throws
 * PersistenceError: NO_BASE without a usable one, LOST_TAIL, with the snapshot's name as its place, when a whole one
 * says that the log was once longer.
 */
export async function findBase(
  disk: Disk,
  indexes: readonly number[],
  facts: LogFacts,
  reorgDepth: number,
  logger: Logger,
): Promise<Base> {
  const passed: number[] = [];
  const reasons: string[] = [];
  for (const index of [...indexes].reverse()) {
    const candidate = await readCandidate(disk, index, reorgDepth);
    const reason = typeof candidate === 'string' ? candidate : objection(candidate, facts);
    if (typeof candidate !== 'string' && reason === null) return { engine: candidate.engine, passed };
    passed.push(index);
    reasons.push(`${snapshotName(index)}: ${reason}`);
    logger.warn({ snapshot: snapshotName(index), reason }, 'snapshot unusable');
  }
  const firstIndex = (facts.segments[0]?.first.index ?? 0) + 1;
  if (firstIndex === 1) return { engine: createEngine(reorgDepth), passed };
  const why = reasons.length === 0 ? 'there is no snapshot' : `no snapshot can be used (${reasons.join('; ')})`;
  throw new PersistenceError('NO_BASE', `the log begins with record ${firstIndex}, and ${why}`);
}

/** An engine with a snapshot's state, and what the log has to agree with. */
export interface BaseCandidate {
  readonly index: number;
  readonly engine: Engine;
  readonly snapshot: Omit<ReadSnapshot, 'state'>;
}

/** Reads a snapshot; words say why it is not whole. */
export async function readCandidate(disk: Disk, index: number, reorgDepth: number): Promise<BaseCandidate | string> {
  const engine = createEngine(reorgDepth);
  try {
    const { state, ...snapshot } = await readSnapshot(disk, index);
    engine.importState(state);
    return { index, engine, snapshot };
  } catch (error) {
    if (!(error instanceof PersistenceError) || error.code !== 'DAMAGED') throw error;
    return error.message;
  }
}

/** In words why the log and the snapshot do not match; null: they match. */
export function objection({ index, snapshot }: BaseCandidate, log: LogFacts): string | null {
  const { header, sha256 } = snapshot;
  if (!header.epoch.equals(log.epoch)) return 'it belongs to another log';
  const marker = log.snapshots.get(index);
  if (marker !== undefined && marker.sha256 !== sha256) return 'the log tells another hash of it';
  if (header.group > log.last.group) {
    const place = { file: snapshotName(index), offset: 0, index: log.last.index, seq: log.last.seq };
    const reason = `the log ends with record ${log.last.index}, and this snapshot has record ${index}`;
    throw lostTailAt(place, reason);
  }
  const first = log.segments[0]?.first;
  if (first !== undefined && header.group < first.group) return `the log only begins with record ${first.index + 1}`;
  const chain = log.chainAt(header.group);
  return chain === undefined || chain.equals(header.chain) ? null : 'it was made from another log than this one';
}
