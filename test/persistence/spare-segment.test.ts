import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { TEMPORARY, type DiskFile, type OpenMode } from '../../src/persistence/disk.js';
import { segmentName } from '../../src/persistence/segment.js';
import { SpareSegment, type SpareSegmentOptions } from '../../src/persistence/spare-segment.js';
import { silent } from '../simulation/simulated-log.js';
import { ManualClock } from '../system/manual-clock.js';
import { HeldDisk } from './held-disk.js';
import { MemoryDisk } from './memory-disk.js';
import { World } from './world.js';

const SEGMENT_BYTES = 16 << 10;
const [CURRENT, NEXT] = [segmentName(1), segmentName(2)];
/** A segment is made in pieces of so many bytes. */
const PIECE_BYTES = 1 << 20;
/** Long enough for all that a log does by itself. */
const QUIET_MS = 10_000;

/** A log that is in its first segment and has made the second one ready, killed. */
async function killedLog(world: World): Promise<void> {
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
  await killedLog(world);
  const made = world.disk.inode(NEXT);
  seen.length = 0;
  const process = await world.start({ segmentBytes: SEGMENT_BYTES });
  await world.clock.advance(QUIET_MS);
  t.notOk(seen.includes('remove') || seen.includes('rename'), 'nothing is put in its place');
  while (world.disk.contentOf(NEXT)[0] === 0) {
    world.submit(process, 10);
    await world.clock.until(process.log.journal.flush());
  }
  t.equal(world.disk.inode(NEXT), made);
});

t.test(
  'a power cut does not take what is told to be in one whose maker was killed before its name was durable',
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
      while (!world.disk.fileNames().includes(NEXT)) await world.clock.step();
      t.equal(seen.at(-1), 'syncDirectory', 'its directory is just being synced');
      world.disk.crash('kill');
      world.clock.clear();

      const second = await world.start({ segmentBytes: SEGMENT_BYTES });
      while (world.disk.contentOf(NEXT)[0] === 0) {
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
  await killedLog(world);
  await world.start({ segmentBytes: 2 * SEGMENT_BYTES });
  await world.clock.advance(QUIET_MS);
  t.equal(world.disk.contentOf(NEXT).length, 2 * SEGMENT_BYTES);
});

t.test('a log that is opened makes the next segment ready before it is needed', async (t) => {
  const world = new World(1);
  await killedLog(world);
  world.disk.lose(NEXT);
  await world.start({ segmentBytes: SEGMENT_BYTES });
  await world.clock.advance(QUIET_MS);
  t.strictSame(
    world.disk.fileNames().filter((name) => name.startsWith('segment-')),
    [CURRENT, NEXT],
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
  t.equal(memory.files.get(`${NEXT}${TEMPORARY}`)?.length, PIECE_BYTES, 'half of it is there');
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
  t.strictSame([...disk.files.keys()], [NEXT]);
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
