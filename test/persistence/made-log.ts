import { FILL } from '../../src/persistence/format/frame.js';
import { readManifest } from '../../src/persistence/format/manifest.js';
import type { OpenLogOptions } from '../../src/persistence/recovery/open-log.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { SimClock } from '../simulation/sim-clock.js';
import { LogProcess } from '../simulation/simulated-log.js';
import { Workload } from '../simulation/workload.js';
import { MemoryDisk } from './memory-disk.js';
import { SimDisk } from './sim-disk.js';

/** How the log stood at the end of a group. */
export interface GroupEnd {
  /** Behind the group's last byte, in the first segment. */
  readonly offset: number;
  readonly index: number;
  readonly stateHash: string;
}

export interface MadeLog {
  readonly epoch: Buffer;
  readonly files: ReadonlyMap<string, Buffer>;
  /** From the log's beginning: what a prefix of it has to read as. */
  readonly ends: readonly GroupEnd[];
}

export const FIRST_SEGMENT = 'segment-00000001.log';

/**
 * A log whose groups of one to four records fill at least `bytes`, in one segment unless the options say otherwise.
 * `sealed`: closed in order; else its process was killed right after the last commit.
 */
export async function madeLog(bytes: number, sealed: boolean, options: Partial<OpenLogOptions> = {}): Promise<MadeLog> {
  const clock = new SimClock();
  const random = new SeededRandom(bytes);
  const disk = new SimDisk({ clock, random });
  const quiet = { segmentBytes: 2 * bytes, snapshotEveryRecords: Infinity, sealDelayMs: 1e6, ...options };
  const process = await clock.until(LogProcess.start(disk, clock, random, quiet));
  const workload = new Workload(random);
  const { engine, journal } = process.log;
  const ends: GroupEnd[] = [{ offset: 0, index: 0, stateHash: engine.stateHash() }];
  const note = (): void => {
    const hasFirst = disk.fileNames().includes(FIRST_SEGMENT);
    const offset = hasFirst ? contentEnd(disk.contentOf(FIRST_SEGMENT)) : NaN;
    ends.push({ offset, index: engine.index, stateHash: engine.stateHash() });
  };
  let written = 0;
  // A hash of the state, told every so often, is a group of its own.
  journal.onGroup((group) => {
    written += group.bytes;
    note();
  });
  while (written < bytes) {
    for (let records = random.between(1, 4); records > 0; records -= 1) workload.submitNext(process);
    await clock.until(journal.flush());
    // Time for what goes on beside: the next segment, a snapshot.
    await clock.advance(1);
  }
  if (sealed) await clock.until(journal.close());
  disk.crash('kill');
  const files = new Map(disk.fileNames().map((name) => [name, disk.contentOf(name)]));
  const stamp = await readManifest(new MemoryDisk(files));
  if (stamp === null) throw new Error('a log that was opened has its stamp');
  return { epoch: stamp.epoch, files, ends };
}

/** The same files with one of them changed. */
export function withFile({ files }: MadeLog, name: string, bytes: Buffer): MemoryDisk {
  return new MemoryDisk(new Map(files).set(name, bytes));
}

/** The last end that a log of so many good bytes has reached. */
export function endWithin({ ends }: MadeLog, bytes: number): GroupEnd {
  const end = ends.findLast(({ offset }) => offset <= bytes);
  if (end === undefined) throw new Error('every log has its beginning');
  return end;
}

function contentEnd(bytes: Buffer): number {
  let end = bytes.length;
  while (bytes[end - 1] === FILL) end -= 1;
  return end;
}
