import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type DiskFile, type OpenMode, TEMPORARY } from '../../../src/persistence/disk/disk.js';
import { segmentName } from '../../../src/persistence/format/file-names.js';
import { endOfContent } from '../../../src/persistence/format/frame.js';
import { scanLog } from '../../../src/persistence/log/log-scanner.js';
import { SegmentWriter, SpareSegment, type SpareSegmentOptions } from '../../../src/persistence/log/segment-writer.js';
import { type LogProcess, silent } from '../../simulation/simulated-log.js';
import { ManualClock } from '../../system/manual-clock.js';
import { HeldDisk } from '../held-disk.js';
import { MemoryDisk } from '../memory-disk.js';
import { World } from '../world.js';

const [CURRENT, NEXT] = [segmentName(1), segmentName(2)];
/** Long enough for the next segment to be made ready. */
const QUIET_MS = 10_000;

async function killedLog(world: World): Promise<void> {
  await write(world, await world.start());
  await world.clock.advance(QUIET_MS);
  world.disk.crash('kill');
  world.clock.clear();
}

async function write(world: World, process: LogProcess): Promise<void> {
  world.submit(process, 1);
  await world.clock.until(process.log.journal.flush());
}

t.test('a start goes on in the segment in which the log ended', async (t) => {
  const world = new World(1);
  await killedLog(world);
  const before = endOfContent(world.disk.contentOf(CURRENT), 0);
  await write(world, await world.start());
  t.ok(endOfContent(world.disk.contentOf(CURRENT), 0) > before);
  t.equal(endOfContent(world.disk.contentOf(NEXT), 0), 0);
});

t.test('a start that finds no room for the next segment goes on without', async (t) => {
  const world = new World(1, { capacityBytes: 8 << 20 });
  const { disk } = world;
  await killedLog(world);
  disk.lose(NEXT);
  disk.foreignBytes = disk.space().freeBytes;
  const process = await world.start();
  await write(world, process);
  t.equal(process.told, 2);
  t.notOk(disk.fileNames().includes(NEXT));
});

t.test('when it is closed, nobody is still making the next one', async (t) => {
  const memory = new MemoryDisk([]);
  const disk = new HeldDisk(memory);
  const segment = new SegmentWriter(disk, await scanLog(memory, Buffer.alloc(8)), {
    segmentBytes: 2 << 20,
    openMode: 'durable',
    spareRetryMs: 1_000,
    clock: new ManualClock(),
    logger: silent,
    hasRoom: () => true,
    onFatal(error) {
      throw error;
    },
  });
  await segment.open([]);
  disk.hold();
  t.not(segment.nextFor(1), null);
  await turn();
  t.strictSame([...memory.files.keys()], [CURRENT, NEXT + TEMPORARY], 'it is under way');
  const closed = segment.close();
  disk.release();
  await closed;
  t.strictSame([...memory.files.keys()], [CURRENT]);
});

const SEGMENT_BYTES = 16 << 10;
const [SPARE_SEGMENT_CURRENT, SPARE_SEGMENT_NEXT] = [segmentName(1), segmentName(2)];
/** A segment is made in pieces of so many bytes. */
const PIECE_BYTES = 1 << 20;

/** A log that is in its first segment and has made the second one ready, killed. */
async function logKilledWithSpare(world: World): Promise<void> {
  const process = await world.start({ segmentBytes: SEGMENT_BYTES });
  world.submit(process, 1);
  await world.clock.advance(QUIET_MS);
  world.disk.crash('kill');
  world.clock.clear();
}

t.test('what an earlier process made ready is the next segment, and not made again', async (t) => {
  const seen: string[] = [];
  const world = new World(1, {
    delayMs(call) {
      seen.push(call);
      return 0;
    },
  });
  await logKilledWithSpare(world);
  const made = world.disk.inode(SPARE_SEGMENT_NEXT);
  seen.length = 0;
  const process = await world.start({ segmentBytes: SEGMENT_BYTES });
  await world.clock.advance(QUIET_MS);
  t.notOk(seen.includes('remove') || seen.includes('rename'), 'nothing is put in its place');
  while (world.disk.contentOf(SPARE_SEGMENT_NEXT)[0] === 0) {
    world.submit(process, 10);
    await world.clock.until(process.log.journal.flush());
  }
  t.equal(world.disk.inode(SPARE_SEGMENT_NEXT), made);
});

t.test(
  'a power cut loses no acknowledged group of a segment whose maker was killed before its name was durable',
  async (t) => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const seen: string[] = [];
      const world = new World(seed, {
        delayMs(call) {
          seen.push(call);
          return 1;
        },
      });
      const first = await world.start({ segmentBytes: SEGMENT_BYTES });
      world.submit(first, 1);
      await world.clock.until(first.log.journal.flush());
      while (!world.disk.fileNames().includes(SPARE_SEGMENT_NEXT)) await world.clock.step();
      t.equal(seen.at(-1), 'syncDirectory', 'its directory is just being synced');
      world.disk.crash('kill');
      world.clock.clear();

      const second = await world.start({ segmentBytes: SEGMENT_BYTES });
      while (world.disk.contentOf(SPARE_SEGMENT_NEXT)[0] === 0) {
        world.submit(second, 1);
        await world.clock.until(second.log.journal.flush());
      }
      const { told } = second;
      world.disk.crash('power');
      world.clock.clear();
      const { log } = await world.start({ segmentBytes: SEGMENT_BYTES });
      t.equal(log.engine.index, told, `seed ${seed}`);
    }
  },
);

t.test('one that is smaller than segments are now is made again', async (t) => {
  const world = new World(1);
  await logKilledWithSpare(world);
  await world.start({ segmentBytes: 2 * SEGMENT_BYTES });
  await world.clock.advance(QUIET_MS);
  t.equal(world.disk.contentOf(SPARE_SEGMENT_NEXT).length, 2 * SEGMENT_BYTES);
});

t.test('a log that is opened makes the next segment ready before it is needed', async (t) => {
  const world = new World(1);
  await logKilledWithSpare(world);
  world.disk.lose(SPARE_SEGMENT_NEXT);
  await world.start({ segmentBytes: SEGMENT_BYTES });
  await world.clock.advance(QUIET_MS);
  t.strictSame(
    world.disk.fileNames().filter((name) => name.startsWith('segment-')),
    [SPARE_SEGMENT_CURRENT, SPARE_SEGMENT_NEXT],
  );
});

/** Of a segment of two pieces. */
const optionsWith = (clock: ManualClock): SpareSegmentOptions => ({
  segmentBytes: 2 * PIECE_BYTES,
  openMode: 'durable',
  spareRetryMs: 1_000,
  clock,
  logger: silent,
  hasRoom: () => true,
  onFatal(error) {
    throw error;
  },
});

t.test('one that is under way when the log is closed is given up, and nothing is left of it', async (t) => {
  const memory = new MemoryDisk([]);
  const disk = new HeldDisk(memory);
  const spare = new SpareSegment(disk, 2, optionsWith(new ManualClock()));
  disk.hold();
  spare.prepare();
  await turn();
  t.equal(memory.files.get(`${SPARE_SEGMENT_NEXT}${TEMPORARY}`)?.length, PIECE_BYTES, 'half of it is there');
  const closed = spare.close();
  disk.release();
  await closed;
  t.strictSame([...memory.files.keys()], []);
});

t.test('one that is under way is not begun a second time, however often a group finds the segment full', async (t) => {
  const disk = new HeldDisk(new MemoryDisk([]));
  const spare = new SpareSegment(disk, 2, optionsWith(new ManualClock()));
  disk.hold();
  for (let group = 0; group < 3; group += 1) {
    t.equal(spare.take(), null);
    await turn();
  }
  disk.release();
  while (spare.take() === null) await turn();
  await spare.close();
});

/** Holds one piece and no more, until there is room. Counts how often a file is begun, and what is removed. */
class TightDisk extends MemoryDisk {
  isFull = true;
  begun = 0;
  readonly removed: string[] = [];

  override async open(name: string, mode: OpenMode): Promise<DiskFile> {
    if (mode === 'create') this.begun += 1;
    const file = await super.open(name, mode);
    const write = file.write.bind(file);
    file.write = async (bytes, position) => {
      if (this.isFull && position > 0) throw Object.assign(new Error('EDQUOT'), { code: 'EDQUOT' });
      await write(bytes, position);
    };
    return file;
  }

  override async remove(name: string): Promise<void> {
    this.removed.push(name);
    await super.remove(name);
  }
}

t.test('one for which the room runs out leaves nothing of itself, and is tried again after a while', async (t) => {
  const clock = new ManualClock();
  const disk = new TightDisk([]);
  const warnings: string[] = [];
  const logger = { ...silent, warn: (_: object, message: string) => warnings.push(message) };
  const spare = new SpareSegment(disk, 2, { ...optionsWith(clock), logger });
  const tried = async (): Promise<number> => {
    spare.prepare();
    await turn();
    return disk.begun;
  };
  t.equal(await tried(), 1);
  t.strictSame([...disk.files.keys()], []);
  clock.advance(999);
  t.equal(await tried(), 1, 'not with every group that is written');
  clock.advance(1);
  t.equal(await tried(), 2);
  t.equal(warnings.length, 1, 'it is said once');
  disk.isFull = false;
  clock.advance(1_000);
  t.equal(await tried(), 3);
  t.strictSame([...disk.files.keys()], [SPARE_SEGMENT_NEXT]);
  await spare.close();
});

t.test('of several that are of no use the last goes first, so that a crash leaves no gap', async (t) => {
  const numbers = [2, 3, 4];
  const disk = new TightDisk(numbers.map((number) => [segmentName(number), Buffer.alloc(100)]));
  const spare = new SpareSegment(disk, 2, optionsWith(new ManualClock()));
  await spare.adopt(numbers);
  t.strictSame(disk.removed, [...numbers].reverse().map(segmentName));
  await spare.close();
});
