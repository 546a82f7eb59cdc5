import type { Disk } from './disk.js';
import type { LogPoint } from './file-header.js';
import { readRecords, segmentStarts } from './log-records.js';
import type { Logger } from './logger.js';
import type { SnapshotNote } from './notes.js';
import { PersistenceError } from './persistence-error.js';
import { Replayer } from './replayer.js';
import { snapshotIndexes } from './segment.js';
import { findBase } from './snapshot-base.js';
import { writeSnapshot } from './snapshot.js';

/** What a snapshot is made of: plain data, so that it can go to another process. */
export interface SnapshotRequest {
  readonly epoch: Uint8Array;
  readonly reorgDepth: number;
  /** The end of a durable group; the snapshot is of its last record. */
  readonly point: LogPoint;
  /** The file to write it to. */
  readonly draft: string;
  /** What is to stay free on the volume: a snapshot can wait, records that are under way can't. */
  readonly keepFreeBytes: number;
}

/**
 * Replays the log up to `point` from the newest snapshot before it, and writes the state to `draft`, a new file: it
 * changes nothing else, and may run on for a moment when the process that writes the log is gone. That process gives
 * the file its name, and puts the note that this resolves to into the log. Throws PersistenceError: NO_BASE, DIFFERS, or
 * DAMAGED, also where the log no longer has all records up to `point`.
 */
export async function makeSnapshot(disk: Disk, request: SnapshotRequest, logger: Logger): Promise<SnapshotNote> {
  const epoch = Buffer.from(request.epoch);
  const point = { ...request.point, chain: Buffer.from(request.point.chain) };
  const segments = await segmentStarts(disk);
  // The survey at the start compared the snapshots with the log; those made since then came from it.
  const facts = { epoch, segments, last: point, snapshots: new Map<number, SnapshotNote>(), chainAt: () => undefined };
  const snapshots = snapshotIndexes(await disk.list());
  const { engine } = await findBase(disk, snapshots, facts, request.reorgDepth, logger);
  const replayer = new Replayer(engine);
  for await (const records of readRecords(disk, segments, engine.index, point.index)) {
    for (const record of records) replayer.apply(record);
  }
  if (engine.index !== point.index) {
    const lost = `the log ends with record ${engine.index}, and was durable up to record ${point.index}`;
    throw new PersistenceError('DAMAGED', lost);
  }
  const seal = await writeSnapshot(disk, request.draft, epoch, point, engine.exportState(), request.keepFreeBytes);
  return { type: 'SNAPSHOT', index: point.index, ...seal, stateHash: engine.stateHash() };
}
