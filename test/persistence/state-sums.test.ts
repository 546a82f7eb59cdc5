import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { readWhole, writeWhole, type Disk } from '../../src/persistence/disk.js';
import { FILE_FORMAT, readSegmentHeader } from '../../src/persistence/file-header.js';
import { endOfContent, FrameType, readFrame } from '../../src/persistence/frame.js';
import { verifyLog } from '../../src/persistence/inspect.js';
import { segmentName, segmentNumbers } from '../../src/persistence/segment.js';
import { surveyLog } from '../../src/persistence/survey.js';
import { silent, type LogProcess } from '../simulation/simulated-log.js';
import { GOLDEN } from './golden-log.js';
import { World } from './world.js';

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
    process.log.journal.note(note);
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
  const survey = await world.clock.until(surveyLog(world.disk.boot(), Buffer.from(epoch, 'hex')));
  t.strictSame(survey.stateHashes, [{ type: 'STATE_HASH', index: 3, stateHash: engine.stateHash() }]);
  t.ok(survey.isSealed);
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
