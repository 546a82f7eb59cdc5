import { constants } from 'node:os';
import t from 'tap';
import { writeNew, type Disk } from '../../src/persistence/disk.js';
import { openLog, type OpenLogOptions } from '../../src/persistence/open-log.js';
import { snapshotIndexes } from '../../src/persistence/segment.js';
import { makeSnapshot, type SnapshotRequest } from '../../src/persistence/snapshot-maker.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { SimClock } from '../simulation/sim-clock.js';
import { optionsFor, silent, type Line, type LogProcess } from '../simulation/simulated-log.js';
import { madeLog } from './made-log.js';
import { MemoryDisk } from './memory-disk.js';
import { World } from './world.js';

const made = await madeLog(16 << 10, true);

/** A process that has opened the log; `make` is how its snapshots are made. */
async function started(make: (disk: Disk, request: SnapshotRequest) => ReturnType<OpenLogOptions['make']>) {
  const disk = new MemoryDisk(made.files);
  const fatal: unknown[] = [];
  const lines: Line[] = [];
  const options = optionsFor(disk, new SimClock(), new SeededRandom(1), { fatal, lines });
  const log = await openLog(disk, { ...options, make: (request) => make(disk, request) });
  const drafts = async (): Promise<string[]> => (await disk.list()).filter((name) => /^snapshot-.*\.tmp$/.test(name));
  return { disk, log, fatal, lines, drafts };
}

const failing =
  (error: Error) =>
  async (disk: Disk, { draft }: SnapshotRequest) => {
    await writeNew(disk, draft, [Buffer.from('a part of it')]);
    throw error;
  };

t.test('a snapshot has its name only when whoever made it says that it is whole', async (t) => {
  const seen: string[][] = [];
  const { disk, log, drafts } = await started(async (disk, request) => {
    const note = await makeSnapshot(disk, request, silent);
    seen.push([request.draft], snapshotIndexes(await disk.list()).map(String));
    return note;
  });
  await log.snapshotter.take();
  t.match(seen, [[/^snapshot-[0-9]{16}\.snap\.simulated\.tmp$/], []]);
  t.strictSame(snapshotIndexes(await disk.list()), [log.engine.index]);
  t.strictSame(await drafts(), []);
});

const madeBy = ({ lines }: LogProcess): number =>
  lines.filter(({ message }) => message === 'a snapshot is made').length;

t.test('the next is due so many records after the last, and a stop makes none of what that one has', async (t) => {
  const world = new World(1);
  const process = await world.start({ snapshotEveryRecords: 10 });
  const counts: number[] = [];
  for (const records of [9, 1, 1, 8, 1]) {
    world.submit(process, records);
    await world.clock.advance(1000);
    counts.push(madeBy(process));
  }
  t.strictSame(counts, [0, 1, 1, 1, 2]);
  await world.clock.until(process.log.close());
  t.equal(madeBy(process), 2);
});

t.test('a stop makes one of what came since the last: the next start has nothing to replay', async (t) => {
  const world = new World(1);
  const process = await world.start({ snapshotEveryRecords: 10 });
  world.submit(process, 10);
  await world.clock.advance(1000);
  world.submit(process, 3);
  await world.clock.until(process.log.close());
  t.strictSame(snapshotIndexes(world.disk.fileNames()), [10, 13]);
  t.match((await world.start()).lines, [{ details: { snapshotIndex: 13, replayed: 0 }, message: 'the log is read' }]);
});

t.test('where nothing else forces the log to the disk, one that is due does', async (t) => {
  const world = new World(1);
  const process = await world.start({ snapshotEveryRecords: 10, sync: { type: 'never' } });
  world.submit(process, 10);
  await world.clock.advance(1000);
  t.equal(madeBy(process), 1);
  t.strictSame(snapshotIndexes(world.disk.fileNames()), [10]);
});

t.test('what the log tells of as a snapshot still has its name after a power cut', async (t) => {
  for (let seed = 1; seed <= 10; seed++) {
    const world = new World(seed);
    // No segment is made ready meanwhile, for which the directory would be synced, too.
    const process = await world.start({ snapshotEveryRecords: 10, segmentBytes: 1 << 20 });
    await world.clock.advance(1000);
    world.submit(process, 10);
    for (let waited = 0; madeBy(process) === 0 && waited < 1000; waited++) await world.clock.advance(1);
    t.equal(madeBy(process), 1);
    world.disk.crash('power');
    t.strictSame(snapshotIndexes(world.disk.fileNames()), [10], `seed ${seed}`);
  }
});

t.test('of one whose maker died nothing is left, people hear of it, and the log goes on', async (t) => {
  const { disk, log, fatal, lines, drafts } = await started(failing(new Error('it died')));
  await log.snapshotter.take();
  t.strictSame(await drafts(), []);
  t.strictSame(snapshotIndexes(await disk.list()), []);
  t.match(
    lines.filter(({ level }) => level !== 'info'),
    [{ level: 'error', details: { err: new Error('it died') }, message: /no snapshot could be made/ }],
  );
  t.strictSame(fatal, []);
  t.equal(log.journal.refusal(), null);
});

for (const [code, what] of [
  ['ENOSPC', 'no room for a snapshot'],
  ['EDQUOT', 'no room for a snapshot'],
  ['EMFILE', 'no file descriptor for a snapshot'],
  ['ENFILE', 'no file descriptor for a snapshot'],
] as const) {
  t.test(`${code} passes: there is ${what} this time, and nothing is left of it`, async (t) => {
    const error = Object.assign(new Error(code), { code, errno: -constants.errno[code] });
    const { log, fatal, lines, drafts } = await started(failing(error));
    await log.snapshotter.take();
    t.strictSame(fatal, []);
    t.strictSame(await drafts(), []);
    t.match(lines.at(-1), { level: 'warn', message: what });
  });
}

t.test('damage that another process finds in the log is told to people, and the log goes on', async (t) => {
  const error = Object.assign(new Error('a group is damaged'), { code: 'DAMAGED', errno: undefined });
  const { log, fatal, lines, drafts } = await started(failing(error));
  await log.snapshotter.take();
  t.strictSame(fatal, []);
  t.strictSame(await drafts(), []);
  t.match(lines.at(-1), { level: 'error', message: /no snapshot could be made/ });
});

t.test('of a log that has lost its segments none is made', async (t) => {
  const { disk, log, lines, drafts } = await started((disk, request) => makeSnapshot(disk, request, silent));
  for (const [name, { length }] of disk.files) {
    if (name.startsWith('segment-')) disk.files.set(name, Buffer.alloc(length));
  }
  await log.snapshotter.take();
  t.strictSame(snapshotIndexes(await disk.list()), []);
  t.strictSame(await drafts(), []);
  t.match(lines.at(-1), { level: 'error', details: { err: { code: 'DAMAGED' } } });
});

t.test('failed I/O of the maker ends the process, which touches nothing more', async (t) => {
  const error = Object.assign(new Error('bad disk'), { code: 'EIO', errno: -5 });
  const { log, fatal, drafts } = await started(failing(error));
  await log.snapshotter.take();
  t.strictSame(fatal, [error]);
  t.equal((await drafts()).length, 1, 'the next start removes it');
});

t.test('what the orphan of a killed process writes is in the way of none', async (t) => {
  const { disk, log, drafts } = await started((disk, request) => makeSnapshot(disk, request, silent));
  const orphans = `snapshot-${String(log.engine.index).padStart(16, '0')}.snap.killed.tmp`;
  await writeNew(disk, orphans, [Buffer.from('of the same record')]);
  await log.snapshotter.take();
  t.strictSame(snapshotIndexes(await disk.list()), [log.engine.index]);
  await log.close();
  t.strictSame(await drafts(), [orphans]);
  const options = optionsFor(disk, new SimClock(), new SeededRandom(1), { fatal: [], lines: [] });
  await (await openLog(disk, options)).close();
  t.strictSame(await drafts(), [], 'the next start removes it');
});
