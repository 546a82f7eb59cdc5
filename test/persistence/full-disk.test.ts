import t from 'tap';
import { enter, sampleQuote } from '../engine/samples.js';
import { SMALL } from '../simulation/simulated-log.js';
import { World } from './world.js';

const MIB = 1 << 20;
const FILLED = { lowWaterBytes: null, capacityBytes: 8 * MIB } as const;

function filledWorld() {
  return new World(1, { capacityBytes: FILLED.capacityBytes });
}

t.test('below the low-water mark nothing new is taken, until there is space again', async (t) => {
  const world = filledWorld();
  const { clock, disk } = world;
  const process = await world.start({ lowWaterBytes: null });
  const { journal } = process.log;
  world.submit(process, 5);
  disk.foreignBytes = 7.7 * MIB;
  await clock.advance(100);
  t.equal(journal.refusal(), 'STORAGE_FULL');
  t.equal(world.workload.submitNext(process), null);
  t.equal(process.told, 5, 'what was taken before is durable');
  t.match(process.lines.at(-1), { level: 'warn', message: 'disk nearly full' });
  disk.foreignBytes = 0;
  await clock.advance(100);
  t.equal(journal.refusal(), null);
  world.submit(process, 5);
  await clock.until(journal.flush());
  t.equal(process.told, 10);
  t.strictSame(process.fatal, []);
});

t.test('the mark is the smaller of a number of bytes and a share of the volume, unless one is set', async (t) => {
  const refusals: unknown[] = [];
  for (const lowWaterBytes of [null, 3 * MIB, 0]) {
    const world = filledWorld();
    const process = await world.start({ lowWaterBytes });
    world.disk.foreignBytes = 6 * MIB;
    await world.clock.advance(100);
    refusals.push(process.log.journal.refusal());
  }
  t.strictSame(refusals, [null, 'STORAGE_FULL', null]);
});

t.test('without room for the next segment the current one grows, into the reserve', async (t) => {
  const world = filledWorld();
  const { clock, disk } = world;
  const process = await world.start({ lowWaterBytes: null, snapshotEveryRecords: Infinity });
  world.submit(process, 1);
  await clock.advance(1000);
  const segments = (): number => disk.fileNames().filter((name) => name.startsWith('segment-')).length;
  const before = segments();
  // Above the mark still, but not by a whole segment.
  disk.foreignBytes = disk.space().freeBytes - 0.05 * FILLED.capacityBytes - SMALL.segmentBytes / 2;
  await clock.advance(100);
  for (let group = 0; group < 60; group += 1) {
    world.submit(process, 2);
    await clock.until(process.log.journal.flush());
  }
  t.equal(segments(), before, 'no segment was made');
  t.equal(process.told, 121);
  disk.foreignBytes = 0;
  await clock.advance(2000);
  world.submit(process, 1);
  await clock.advance(2000);
  t.ok(segments() > before, 'now there is one');
  t.strictSame(process.fatal, []);
});

t.test('a full disk stops no start: what is there is read, and nothing new taken', async (t) => {
  const world = filledWorld();
  const { clock, disk } = world;
  const first = await world.start({ lowWaterBytes: null });
  world.submit(first, 30);
  await clock.until(first.log.journal.flush());
  const stateHash = first.log.engine.stateHash();
  disk.crash('kill');
  clock.clear();
  disk.foreignBytes = 7.9 * MIB;
  const second = await world.start({ lowWaterBytes: null });
  t.equal(second.log.engine.stateHash(), stateHash);
  t.equal(second.log.journal.refusal(), 'STORAGE_FULL');
});

t.test('no snapshot is begun on a disk that has become full', async (t) => {
  const writeMs = 300;
  const world = new World(1, {
    capacityBytes: FILLED.capacityBytes,
    delayMs: (call) => (call === 'write' ? writeMs : 0),
  });
  const { clock, disk } = world;
  const process = await world.start({ lowWaterBytes: null, snapshotEveryRecords: 5 });
  await clock.advance(60_000);
  world.submit(process, 5);
  disk.foreignBytes = 7.7 * MIB;
  await clock.advance(10 * writeMs);
  t.equal(process.told, 5, 'pending records are committed');
  const [warning, ...others] = process.lines.filter(({ level }) => level !== 'info');
  t.match(warning, { level: 'warn', message: 'disk nearly full' });
  t.strictSame(others, [], 'nothing else is tried');
  t.strictSame(process.fatal, []);
});

t.test('a snapshot that finds no room is tried again later', async (t) => {
  const world = filledWorld();
  const { clock, disk } = world;
  const process = await world.start({ lowWaterBytes: 0, snapshotEveryRecords: 10 });
  await clock.advance(1000);
  disk.inject({ nth: 1, code: 'ENOSPC', persistent: false, calls: ['open'] });
  world.submit(process, 10);
  await clock.advance(1000);
  disk.inject(null);
  t.strictSame(process.fatal, []);
  world.submit(process, 10);
  await clock.advance(1000);
  t.ok(disk.fileNames().some((name) => name.endsWith('.snap')));
});

t.test('one that found no room stays due, and is tried again after a while and not with every record', async (t) => {
  const world = filledWorld();
  const { clock, disk } = world;
  const snapshotRetryMs = 60_000;
  const process = await world.start({ lowWaterBytes: 0, snapshotEveryRecords: 10, snapshotRetryMs });
  await clock.advance(1000);
  const warnings = () => process.lines.filter(({ message }) => message === 'snapshot postponed').length;
  const snapshots = () => disk.fileNames().filter((name) => name.endsWith('.snap')).length;
  disk.inject({ nth: 1, code: 'ENOSPC', persistent: true, calls: ['open'] });
  world.submit(process, 10);
  await clock.advance(1000);
  const tried = disk.calls;
  t.ok(tried > 0);
  world.submit(process, 1);
  await clock.advance(snapshotRetryMs - 2000);
  world.submit(process, 1);
  await clock.advance(1);
  t.strictSame([disk.calls, snapshots()], [tried, 0]);
  await clock.advance(1000);
  world.submit(process, 1);
  await clock.advance(1);
  t.ok(disk.calls > tried, 'tried again');
  t.equal(warnings(), 1, 'and said once');
  disk.inject(null);
  await clock.advance(snapshotRetryMs);
  world.submit(process, 1);
  await clock.advance(1000);
  t.strictSame([warnings(), snapshots(), process.fatal], [1, 1, []], 'one record more is enough');
});

t.test('a snapshot takes nothing of the reserve: the segment that has to grow meanwhile does', async (t) => {
  const world = filledWorld();
  const { clock, disk } = world;
  const segmentBytes = 256 << 10;
  const process = await world.start({
    lowWaterBytes: null,
    segmentBytes,
    snapshotEveryRecords: Infinity,
    stateHashEveryRecords: Infinity,
    queueBytes: MIB,
  });
  const { journal, snapshotter } = process.log;
  let quotes = 0;
  const write = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) process.submit(enter(sampleQuote({ n: (quotes += 1) })));
    await clock.until(journal.flush());
  };
  // More than the reserve is in a snapshot of these.
  for (let group = 0; group < 30; group += 1) {
    await write(100);
    await clock.advance(200);
  }
  disk.foreignBytes = disk.space().freeBytes - 0.05 * FILLED.capacityBytes - segmentBytes / 2;
  await clock.advance(100);
  const segment =
    disk
      .fileNames()
      .filter((name) => name.startsWith('segment-'))
      .at(-1) ?? '';
  while (disk.contentOf(segment).length <= segmentBytes) await write(10);
  t.equal(journal.refusal(), null);
  const state = { isOver: false };
  void snapshotter.take().then(() => (state.isOver = true));
  while (!state.isOver) {
    if (journal.refusal() === null) process.submit(enter(sampleQuote({ n: (quotes += 1) })));
    await clock.step();
  }
  await clock.until(journal.flush());
  t.strictSame(process.fatal, []);
  t.equal(process.told, quotes);
  t.match(process.lines.at(-1), { level: 'warn', message: 'snapshot postponed', details: { waitsFor: 'disk space' } });
  t.strictSame(
    disk.fileNames().filter((name) => name.includes('snapshot-')),
    [],
  );
  disk.foreignBytes = 0;
  await clock.until(snapshotter.take());
  t.ok(disk.fileNames().some((name) => name.endsWith('.snap')));
});

t.test('a failed query of the free space counts as a full disk', async (t) => {
  const world = filledWorld();
  const process = await world.start();
  world.disk.inject({ nth: 1, code: 'EIO', persistent: false, calls: ['space'] });
  await world.clock.advance(100);
  t.equal(process.log.journal.refusal(), 'STORAGE_FULL');
  t.match(process.lines.at(-1), { level: 'warn', details: { err: { code: 'EIO' } } }, 'named as the text log shows it');
  await world.clock.advance(100);
  t.equal(process.log.journal.refusal(), null);
});
