import t from 'tap';
import type { SyncMode } from '../../../src/persistence/disk/disk.js';
import { snapshotIndexes, snapshotName } from '../../../src/persistence/format/file-names.js';
import { endOfContent, FILL } from '../../../src/persistence/format/frame.js';
import { repairLog, verifyLog } from '../../../src/persistence/recovery/log-tools.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { type LogProcess, silent } from '../../simulation/simulated-log.js';
import { FIRST_SEGMENT } from '../made-log.js';
import { MemoryDisk } from '../memory-disk.js';
import { World } from '../world.js';

const GROUPS = 4;
const GROUP_RECORDS = 5;
const WHOLE = GROUPS * GROUP_RECORDS;

const always: SyncMode = { type: 'always' };
const weak: readonly SyncMode[] = [{ type: 'interval', intervalMs: 20 }, { type: 'never' }];
const endings = ['close', 'kill'] as const;

interface Life {
  readonly world: World;
  readonly epoch: string;
  /** Behind each group, in the first segment. */
  readonly ends: readonly number[];
}

/** A log of some groups, after an orderly stop or a kill. */
async function lived(sync: SyncMode, ending: (typeof endings)[number]): Promise<Life> {
  const world = new World(5);
  // All groups in the first segment.
  const process = await world.start({ sync, segmentBytes: 64 << 10 });
  const ends: number[] = [];
  for (let group = 0; group < GROUPS; group += 1) {
    world.submit(process, GROUP_RECORDS);
    await world.clock.until(process.log.journal.flush());
    ends.push(endOfContent(world.disk.contentOf(FIRST_SEGMENT), 0));
  }
  const { epoch } = process.log;
  if (ending === 'close') await world.clock.until(process.log.close());
  else world.disk.crash('kill');
  world.clock.clear();
  return { world, epoch, ends };
}

/** The first segment after a crash of the disk damaged it behind byte `end`. */
const losses: Readonly<Record<string, (bytes: Buffer, end: number) => Buffer>> = {
  'cut off': (bytes, end) => bytes.subarray(0, end),
  zeroed: (bytes, end) => Buffer.concat([bytes.subarray(0, end), Buffer.alloc(bytes.length - end)]),
  'zeroed in part': (bytes, end) =>
    Buffer.concat([bytes.subarray(0, end), Buffer.alloc(64), Buffer.alloc(bytes.length - end - 64, FILL)]),
};

function lose({ world, ends }: Life, loss: string): void {
  const bytes = world.disk.contentOf(FIRST_SEGMENT);
  world.disk.place(FIRST_SEGMENT, losses[loss]?.(bytes, ends[1] ?? 0) ?? bytes);
  // The snapshot of an orderly stop alone would say that the log was longer.
  for (const name of world.disk.fileNames()) if (name.endsWith('.snap')) world.disk.lose(name);
}

const contents = ({ disk }: World) => new Map(disk.fileNames().map((name) => [name, disk.contentOf(name)]));
const warningsOf = ({ lines }: LogProcess) => lines.filter(({ level }) => level === 'warn');

for (const loss of Object.keys(losses)) {
  for (const ending of endings) {
    t.test(`sync always, ${ending}: a tail that was ${loss} is refused until \`log repair\``, async (t) => {
      const life = await lived(always, ending);
      const { world, epoch } = life;
      lose(life, loss);
      const before = contents(world);
      await t.rejects(world.start(), {
        code: 'LOST_TAIL',
        message: /acknowledged records may be gone.*`quotebook log repair`.*under a new epoch/,
      });
      t.strictSame(contents(world), before, 'nothing was changed');
      await t.rejects(verifyLog(new MemoryDisk(before), silent), { code: 'LOST_TAIL' });

      const report = await world.clock.until(repairLog(world.disk.boot(), new SeededRandom(9), silent));
      t.equal(report.lastIndex, 2 * GROUP_RECORDS, 'the groups before it are there');
      t.not(report.epoch, epoch);
      const next = await world.start();
      t.match(next.log, { epoch: report.epoch, engine: { index: 2 * GROUP_RECORDS } });
      world.submit(next, GROUP_RECORDS);
      await world.clock.until(next.log.close());
      t.equal((await world.start()).log.epoch, report.epoch, 'which stays');
    });
  }
}

for (const sync of weak) {
  t.test(`${sync.type}: a log that was not closed in order gets a new epoch, a closed one keeps its own`, async (t) => {
    const killed = await lived(sync, 'kill');
    const next = await killed.world.start({ sync });
    t.equal(next.log.engine.index, WHOLE);
    t.not(next.log.epoch, killed.epoch);
    t.match(warningsOf(next), [{ details: { epoch: next.log.epoch }, message: 'new log epoch' }]);
    const closed = await lived(sync, 'close');
    const again = await closed.world.start({ sync });
    t.equal(again.log.epoch, closed.epoch);
    t.strictSame(warningsOf(again), []);
    closed.world.disk.crash('kill');
    closed.world.clock.clear();
    t.not((await closed.world.start({ sync: always })).log.epoch, closed.epoch, 'also under a stronger sync');
  });

  for (const loss of Object.keys(losses)) {
    t.test(`${sync.type}: a tail that was ${loss} is continued with a warning under a new epoch`, async (t) => {
      const life = await lived(sync, 'close');
      lose(life, loss);
      const next = await life.world.start({ sync });
      t.equal(next.log.engine.index, 2 * GROUP_RECORDS);
      t.not(next.log.epoch, life.epoch);
      t.ok(warningsOf(next).some(({ message }) => message === 'new log epoch'));
    });
  }
}

t.test('sync always: the epoch outlives kills and torn tails', async (t) => {
  const { world, epoch, ends } = await lived(always, 'kill');
  const bytes = world.disk.contentOf(FIRST_SEGMENT);
  bytes.write('half a group', ends.at(-1) ?? 0);
  world.disk.place(FIRST_SEGMENT, bytes);
  const { log } = await world.start();
  t.match(log, { epoch, engine: { index: WHOLE } });
});

t.test('a closed log whose last groups look as if they had never been written is refused', async (t) => {
  const life = await lived(always, 'close');
  const bytes = life.world.disk.contentOf(FIRST_SEGMENT).fill(FILL, life.ends[1]);
  life.world.disk.place(FIRST_SEGMENT, bytes);
  for (const name of life.world.disk.fileNames()) if (name.endsWith('.snap')) life.world.disk.lose(name);
  await t.rejects(life.world.start(), {
    code: 'LOST_TAIL',
    message: /was closed after group \d+, and ends with group/,
  });
});

t.test('repair takes the state of a snapshot that has more than the log', async (t) => {
  const { world, epoch, ends } = await lived(always, 'close');
  const [index = 0] = snapshotIndexes(world.disk.fileNames());
  world.disk.place(FIRST_SEGMENT, world.disk.contentOf(FIRST_SEGMENT).fill(0, ends[1]));
  await t.rejects(world.start(), { code: 'LOST_TAIL', message: /log repair/ });
  const report = await world.clock.until(repairLog(world.disk.boot(), new SeededRandom(9), silent));
  t.match(report, { lastIndex: WHOLE, snapshotIndex: index });
  t.not(report.epoch, epoch);
  t.ok(world.disk.fileNames().includes(`${snapshotName(index)}.broken`), 'what was there is kept');
  t.equal((await world.start()).log.epoch, report.epoch);
});

t.test('repair leaves a log without a whole group with its first segment', async (t) => {
  const life = await lived(always, 'kill');
  const { world } = life;
  world.disk.place(FIRST_SEGMENT, world.disk.contentOf(FIRST_SEGMENT).subarray(0, 10));
  await t.rejects(world.start(), { code: 'LOST_TAIL' });
  const report = await world.clock.until(repairLog(world.disk.boot(), new SeededRandom(9), silent));
  t.match(report, { lastIndex: 0 });
  t.match((await world.start()).log, { epoch: report.epoch, engine: { index: 0 } });
});
