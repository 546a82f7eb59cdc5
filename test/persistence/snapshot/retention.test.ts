import t from 'tap';
import {
  segmentName,
  segmentNumbers,
  snapshotIndexes,
  snapshotName,
} from '../../../src/persistence/format/file-names.js';
import { scanLog } from '../../../src/persistence/log/log-scanner.js';
import type { OpenLogOptions } from '../../../src/persistence/recovery/open-log.js';
import { removeSuperseded } from '../../../src/persistence/snapshot/retention.js';
import { writeSnapshot } from '../../../src/persistence/snapshot/snapshot-file.js';
import { newEngine } from '../../engine/samples.js';
import { type MadeLog, madeLog } from '../made-log.js';
import { MemoryDisk } from '../memory-disk.js';
import { World } from '../world.js';

const SEGMENT_BYTES = 4 << 10;
const SNAPSHOT_EVERY = 40;

/** A log of some ten segments and as many snapshots, closed. */
async function longLog(options: Partial<OpenLogOptions>): Promise<{ world: World; stateHash: string }> {
  const world = new World(3);
  const process = await world.start({ segmentBytes: SEGMENT_BYTES, snapshotEveryRecords: SNAPSHOT_EVERY, ...options });
  for (let group = 0; group < 80; group += 1) {
    world.submit(process, 5);
    await world.clock.until(process.log.journal.flush());
    await world.clock.advance(100);
  }
  const stateHash = process.log.engine.stateHash();
  await world.clock.until(process.log.close());
  return { world, stateHash };
}

const segmentsOf = ({ disk }: World): number[] => segmentNumbers(disk.fileNames());
const snapshotsOf = ({ disk }: World): number[] => snapshotIndexes(disk.fileNames());

t.test('without a bound all of the log stays, and as many snapshots as are to be kept', async (t) => {
  for (const snapshotsKept of [2, 3]) {
    const { world } = await longLog({ retainLogBytes: Infinity, snapshotsKept });
    t.equal(segmentsOf(world)[0], 1);
    t.equal(snapshotsOf(world).length, snapshotsKept);
  }
});

t.test('with none to retain just the segments stay that the older snapshot needs', async (t) => {
  const { world, stateHash } = await longLog({ retainLogBytes: 0 });
  const [first = 0] = segmentsOf(world);
  t.ok(first > 1, `segments from ${first} on`);
  const [older = 0, newer = 0] = snapshotsOf(world);
  // The newer one rots: the older one and the log give the same state.
  world.disk.place(`snapshot-${String(newer).padStart(16, '0')}.snap`, Buffer.alloc(100));
  const again = await world.start();
  t.equal(again.log.engine.stateHash(), stateHash);
  t.match(again.lines, [{ level: 'warn' }, { level: 'info', details: { snapshotIndex: older } }]);
});

t.test(
  'while there are fewer snapshots than are to be kept, no segment goes: the one that there is may rot',
  async (t) => {
    const { world, stateHash } = await longLog({ retainLogBytes: 0, snapshotEveryRecords: Infinity });
    t.equal(segmentsOf(world)[0], 1);
    const [only = 0, ...others] = snapshotsOf(world);
    t.strictSame([only > 0, others], [true, []], 'closing it has made the first');
    world.disk.place(`snapshot-${String(only).padStart(16, '0')}.snap`, Buffer.alloc(100));
    t.equal((await world.start()).log.engine.stateHash(), stateHash);
  },
);

t.test('in between, the oldest go while the log is larger', async (t) => {
  const retainLogBytes = 15 * SEGMENT_BYTES;
  const { world } = await longLog({ retainLogBytes });
  const [first = 0] = segmentsOf(world);
  const bytes = segmentsOf(world).reduce(
    (sum, number) => sum + world.disk.contentOf(`segment-${String(number).padStart(8, '0')}.log`).length,
    0,
  );
  t.ok(first > 1 && bytes <= retainLogBytes + SEGMENT_BYTES, `${bytes} bytes from segment ${first} on`);
  const { world: unbounded } = await longLog({ retainLogBytes: 0 });
  t.ok(first < (segmentsOf(unbounded)[0] ?? 0), 'more stays than with none to retain');
});

/** Segments that are dropped of a log whose older snapshot ends with that group. */
async function droppedBy(made: MadeLog, group: number, change = (bytes: Buffer): Buffer => bytes): Promise<string[]> {
  const disk = new MemoryDisk([...made.files].filter(([name]) => !name.endsWith('.snap')));
  const { last } = await scanLog(disk, made.epoch);
  const state = newEngine().exportState();
  for (const point of [{ ...last, index: 1, group }, last]) {
    await writeSnapshot(disk, snapshotName(point.index), made.epoch, point, state);
  }
  const older = snapshotName(1);
  disk.files.set(older, change(Buffer.from(disk.files.get(older) ?? [])));
  const { segments } = await removeSuperseded(disk, { snapshotsKept: 2, retainLogBytes: 0 });
  return [...segments];
}

t.test('a segment goes when the older snapshot has its last group, and not one group before', async (t) => {
  const made = await madeLog(24 << 10, true, { segmentBytes: 4 << 10 });
  const { segments } = await scanLog(new MemoryDisk(made.files), made.epoch);
  const [first, second] = segments;
  if (first === undefined || second === undefined) throw new Error('The log has several segments');
  t.strictSame(await droppedBy(made, first.last.group - 1), []);
  t.strictSame(await droppedBy(made, first.last.group), [segmentName(1)]);
  t.strictSame(await droppedBy(made, second.last.group - 1), [segmentName(1)]);
  t.strictSame(await droppedBy(made, second.last.group), [segmentName(1), segmentName(2)]);
});

/** Writes down in which order files go and names are made durable. */
class WatchedDisk extends MemoryDisk {
  readonly calls: string[] = [];

  override remove(name: string): Promise<void> {
    this.calls.push(name);
    return super.remove(name);
  }

  override syncDirectory(): Promise<void> {
    this.calls.push('sync');
    return super.syncDirectory();
  }
}

t.test('the oldest go first, and each for good before the next', async (t) => {
  const made = await madeLog(24 << 10, true, { segmentBytes: 4 << 10 });
  const disk = new WatchedDisk([...made.files].filter(([name]) => !name.endsWith('.snap')));
  const { last } = await scanLog(disk, made.epoch);
  const state = newEngine().exportState();
  for (const index of [1, 2, 3, 4]) {
    await writeSnapshot(disk, snapshotName(index), made.epoch, { ...last, index }, state);
  }
  disk.calls.length = 0;
  const { snapshots, segments } = await removeSuperseded(disk, { snapshotsKept: 2, retainLogBytes: 0 });
  t.strictSame(snapshots, [snapshotName(1), snapshotName(2)]);
  t.ok(segments.length > 1);
  t.strictSame(
    disk.calls,
    [...snapshots, ...segments].flatMap((name) => [name, 'sync']),
  );
});

t.test('of a snapshot whose head cannot be read nobody knows what it has: no segment goes', async (t) => {
  const made = await madeLog(24 << 10, true, { segmentBytes: 4 << 10 });
  const rot = (bytes: Buffer): Buffer => bytes.fill(7, 20, 30);
  t.strictSame(await droppedBy(made, 30, rot), []);
  t.not((await droppedBy(made, 30)).length, 0);
});
