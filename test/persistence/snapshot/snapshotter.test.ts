import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import t from 'tap';
import { type Disk, readWhole, writeNew, writeWhole } from '../../../src/persistence/disk/disk.js';
import { segmentName, segmentNumbers, snapshotIndexes } from '../../../src/persistence/format/file-names.js';
import { endOfContent, FrameType, readFrame } from '../../../src/persistence/format/frame.js';
import { FILE_FORMAT, readSegmentHeader } from '../../../src/persistence/format/header.js';
import { scanLog } from '../../../src/persistence/log/log-scanner.js';
import { verifyLog } from '../../../src/persistence/recovery/log-tools.js';
import { openLog, type OpenLogOptions } from '../../../src/persistence/recovery/open-log.js';
import { makeSnapshot, type SnapshotRequest } from '../../../src/persistence/snapshot/snapshot-process.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { SimClock } from '../../simulation/sim-clock.js';
import { type Line, type LogProcess, optionsFor, silent } from '../../simulation/simulated-log.js';
import { GOLDEN } from '../golden-log.js';
import { madeLog } from '../made-log.js';
import { MemoryDisk } from '../memory-disk.js';
import { World } from '../world.js';

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

t.test('a snapshot gets its name only after its writer has reported it complete', async (t) => {
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

const madeBy = ({ lines }: LogProcess): number => lines.filter(({ message }) => message === 'snapshot written').length;

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
  t.match((await world.start()).lines, [{ details: { snapshotIndex: 13, replayed: 0 }, message: 'log read' }]);
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
    [{ level: 'error', details: { err: new Error('it died') }, message: 'snapshot failed' }],
  );
  t.strictSame(fatal, []);
  t.equal(log.journal.refusal(), null);
});

for (const [code, waitsFor] of [
  ['ENOSPC', 'disk space'],
  ['EDQUOT', 'disk space'],
  ['EMFILE', 'file descriptor'],
  ['ENFILE', 'file descriptor'],
] as const) {
  t.test(`after ${code} the snapshot waits for ${waitsFor} and leaves no draft`, async (t) => {
    const error = Object.assign(new Error(code), { code, errno: -constants.errno[code] });
    const { log, fatal, lines, drafts } = await started(failing(error));
    await log.snapshotter.take();
    t.strictSame(fatal, []);
    t.strictSame(await drafts(), []);
    t.match(lines.at(-1), { level: 'warn', message: 'snapshot postponed', details: { waitsFor } });
  });
}

t.test('damage that the snapshot process finds in the log is logged, and the log goes on', async (t) => {
  const error = Object.assign(new Error('a group is damaged'), { code: 'DAMAGED', errno: undefined });
  const { log, fatal, lines, drafts } = await started(failing(error));
  await log.snapshotter.take();
  t.strictSame(fatal, []);
  t.strictSame(await drafts(), []);
  t.match(lines.at(-1), { level: 'error', message: 'snapshot failed' });
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

const RECORDS = 100;
const EVERY_TEN = { stateHashEveryRecords: 10, snapshotEveryRecords: Infinity };

/** Submits a record at a time, each its own group. */
async function write(world: World, process: LogProcess): Promise<void> {
  for (let record = 0; record < RECORDS; record += 1) {
    world.submit(process, 1);
    await world.clock.until(process.log.journal.flush());
  }
  // A sum comes with the group after its record.
  await world.clock.advance(100);
}

/** The process dies, and somebody looks at what it left. */
async function comparedAfterKill(world: World): Promise<number> {
  world.disk.crash('kill');
  world.clock.clear();
  return (await world.clock.until(verifyLog(world.disk.boot(), silent))).comparedHashes;
}

t.test('the running engine tells its sum every so many records, and a replay has the same', async (t) => {
  const world = new World(5);
  await write(world, await world.start({ ...EVERY_TEN, stateSumOrders: 1000 }));
  t.equal(await comparedAfterKill(world), RECORDS / 10);
});

t.test('with more changed orders than one turn has time for, the sum is of a later record', async (t) => {
  const world = new World(5);
  await write(world, await world.start({ ...EVERY_TEN, stateSumOrders: 1 }));
  const compared = await comparedAfterKill(world);
  t.ok(compared > 0 && compared < RECORDS / 10, `${compared} sums`);
});

t.test('a start whose replay comes to another sum is refused, naming the record', async (t) => {
  const world = new World(5);
  const process = await world.start({ ...EVERY_TEN, stateSumOrders: 1000 });
  const { engine } = process.log;
  const stateSum = engine.stateSum.bind(engine);
  engine.stateSum = () => (engine.index === 50 ? '00'.repeat(32) : stateSum());
  await write(world, process);
  world.disk.crash('kill');
  world.clock.clear();
  await t.rejects(world.start(), {
    code: 'DIFFERS',
    message: /after record 50 .* the state's sum is [0-9a-f]{64}, by the log it was 0{64}/,
  });
});

const WRONG = '00'.repeat(32);

for (const note of [
  { type: 'STATE_HASH', index: RECORDS, stateHash: WRONG },
  { type: 'SNAPSHOT', index: RECORDS, bytes: 1000, sha256: WRONG, stateHash: WRONG },
] as const) {
  t.test(`so is one whose replay comes to another hash than a ${note.type} of the log tells`, async (t) => {
    const world = new World(5);
    const process = await world.start({ ...EVERY_TEN, stateHashEveryRecords: Infinity });
    world.submit(process, RECORDS);
    process.log.journal.addMarker(note);
    await world.clock.until(process.log.journal.flush());
    world.disk.crash('kill');
    world.clock.clear();
    await t.rejects(world.start(), {
      code: 'DIFFERS',
      message: /after record 100 .* the state's hash is [0-9a-f]{64}, by/,
    });
  });
}

t.test('an orderly stop tells the hash, and seals the log', async (t) => {
  const world = new World(5);
  const process = await world.start({ ...EVERY_TEN, stateHashEveryRecords: Infinity, sealDelayMs: 1e6 });
  const { engine, epoch } = process.log;
  world.submit(process, 3);
  await world.clock.until(process.log.close());
  const scan = await world.clock.until(scanLog(world.disk.boot(), Buffer.from(epoch, 'hex')));
  t.strictSame(scan.stateHashes, [{ type: 'STATE_HASH', index: 3, stateHash: engine.stateHash() }]);
  t.ok(scan.isSealed);
});

/** By segment: its format, and whether a sum is in it. */
async function sumsOf(disk: Disk): Promise<{ format: number; hasSums: boolean }[]> {
  const found = [];
  for (const number of segmentNumbers(await disk.list())) {
    const bytes = await readWhole(disk, segmentName(number));
    const read = readSegmentHeader(bytes);
    if (typeof read === 'string') continue;
    const types = new Set<FrameType>();
    for (let at = 0, end = endOfContent(bytes, 0); at < end;) {
      const frame = readFrame(bytes, at);
      if (typeof frame === 'string') throw new Error(frame);
      types.add(frame.type);
      at = frame.end;
    }
    found.push({ format: read.header.format, hasSums: types.has(FrameType.stateSum) });
  }
  return found;
}

t.test("an older program's log is gone on with, and gets no sum into a segment of that program's", async (t) => {
  const world = new World(5);
  const disk = world.disk.boot();
  const directory = new URL('1/', GOLDEN);
  for (const name of readdirSync(directory).filter((each) => /^(segment|snapshot|stamp)/.test(each))) {
    await world.clock.until(writeWhole(disk, name, [readFileSync(new URL(name, directory))]));
  }
  // The last one of 16 KiB is nearly full: there has to be room for sums in it.
  const process = await world.start({ ...EVERY_TEN, stateSumOrders: 1000, segmentBytes: 32 << 10 });
  for (let round = 0; round < 5; round += 1) await write(world, process);
  await world.clock.until(process.log.close());
  const segments = await world.clock.until(sumsOf(world.disk.boot()));
  t.ok(segments.some(({ format }) => format === 1) && segments.some(({ format }) => format === FILE_FORMAT));
  for (const { format, hasSums } of segments) t.equal(hasSums, format === FILE_FORMAT);
  const { engine } = process.log;
  const report = await world.clock.until(verifyLog(world.disk.boot(), silent));
  t.match(report, { lastIndex: engine.index, stateHash: engine.stateHash() });
});
