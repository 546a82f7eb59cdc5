import type { Engine } from '../../engine/engine.js';
import type { Random } from '../../engine/ports.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { type Disk, type Logger, PersistenceError, TEMPORARY, writeWhole } from '../disk/disk.js';
import { segmentName, segmentNumbers, snapshotName } from '../format/file-names.js';
import { FILL, FRAME_HEAD_BYTES } from '../format/frame.js';
import {
  COMMIT_BYTES,
  EPOCH_BYTES,
  firstChain,
  HEADER_BYTES,
  type LogPoint,
  putCommit,
  putSegmentHeader,
} from '../format/header.js';
import { type Manifest, requireManifest, writeManifest } from '../format/manifest.js';
import { readSnapshotFile, writeSnapshot } from '../snapshot/snapshot-file.js';
import { putAside } from './halted-log.js';
import { createEngine } from './replay.js';

/** Of the first segment: it grows until it is full. */
const FIRST_BYTES = 4096;

/** A state that a log can be begun with, and the manifest of the log that it is from. */
export interface WholeState {
  readonly engine: Engine;
  readonly manifest: Manifest;
}

/**
 * Puts the log of `disk` aside as `*.broken` and begins one with that state. Records and events go on to count from
 * there, and both epochs are new ones, since the same numbers may come to identify other events than the clients know.
 */
export async function startNewLog(
  disk: Disk,
  { engine, manifest }: WholeState,
  random: Pick<Random, 'bytes'>,
  logger: Logger,
): Promise<void> {
  const last = segmentNumbers(await disk.list()).at(-1) ?? 1;
  // The manifest stays: until the very end the directory is one whose log is gone, and no start takes it for a new one.
  const setAside = await putAside(disk);
  const epoch = Buffer.from(random.bytes(EPOCH_BYTES));
  await beginWith(disk, { engine, manifest: { ...manifest, epoch, feedEpoch: epoch, closedGroup: null } }, last + 1);
  logger.info({ index: engine.index, seq: engine.seq, setAside }, 'new log started');
}

/** The state of a snapshot of the log in `disk`. Throws PersistenceError, also FOREIGN: it is of another log. */
export async function readWholeSnapshot(disk: Disk, source: Disk, name: string): Promise<WholeState> {
  // A snapshot does not say of which chains it is: the manifest does.
  const manifest = await requireManifest(disk);
  const { header, state } = await readSnapshotFile(source, name);
  if (!header.epoch.equals(manifest.epoch)) {
    throw new PersistenceError('FOREIGN', `${name} is a snapshot of another log than the one in ${disk.label}`);
  }
  const engine = createEngine(manifest.reorgDepth);
  engine.importState(state);
  return { engine, manifest };
}

/** `number`: of its first segment; not 1, which begins with record 1. */
async function beginWith(disk: Disk, { engine, manifest }: WholeState, number: number): Promise<void> {
  const { epoch } = manifest;
  const point: LogPoint = { index: engine.index, seq: engine.seq, group: 0, chain: firstChain(epoch) };
  const draft = snapshotName(engine.index) + TEMPORARY;
  await writeSnapshot(disk, draft, epoch, point, engine.exportState());
  await disk.rename(draft, snapshotName(engine.index));
  await writeWhole(disk, segmentName(number), [firstGroup(epoch, number, point)]);
  await writeManifest(disk, manifest);
}

/** A segment's HEADER and a group without records, which makes it one that is begun. */
function firstGroup(epoch: Buffer, number: number, point: LogPoint): Buffer {
  const header = new GrowingBuffer(HEADER_BYTES);
  putSegmentHeader(header, { ...point, epoch, number, madeBytes: FIRST_BYTES });
  const commit = new GrowingBuffer(FRAME_HEAD_BYTES + COMMIT_BYTES);
  const { index, seq, group, chain } = point;
  putCommit(commit, epoch, chain, header.view(), { index, seq, group: group + 1, durable: group, records: 0 });
  const bytes = Buffer.alloc(FIRST_BYTES, FILL);
  Buffer.concat([header.view(), commit.view()]).copy(bytes);
  return bytes;
}
