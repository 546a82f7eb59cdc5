import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { TEMPORARY } from '../../src/persistence/disk.js';
import { endOfContent } from '../../src/persistence/frame.js';
import { OpenSegment } from '../../src/persistence/open-segment.js';
import { segmentName } from '../../src/persistence/segment.js';
import { surveyLog } from '../../src/persistence/survey.js';
import { silent, type LogProcess } from '../simulation/simulated-log.js';
import { ManualClock } from '../system/manual-clock.js';
import { HeldDisk } from './held-disk.js';
import { MemoryDisk } from './memory-disk.js';
import { World } from './world.js';

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
  const segment = new OpenSegment(disk, await surveyLog(memory, Buffer.alloc(8)), {
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
