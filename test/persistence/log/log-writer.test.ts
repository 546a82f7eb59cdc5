import t from 'tap';
import { scanLog } from '../../../src/persistence/log/log-scanner.js';
import type { LogProcess } from '../../simulation/simulated-log.js';
import { World } from '../world.js';

t.test('what one turn appends is one group, what comes while it is written is the next', async (t) => {
  const world = new World(1, { delayMs: () => 1 });
  const { clock } = world;
  const process = await world.start();
  const groups: number[] = [];
  process.log.journal.onGroup(({ records }) => groups.push(records));
  world.submit(process, 3);
  await clock.step();
  world.submit(process, 2);
  world.submit(process, 5);
  await clock.until(process.log.journal.flush());
  t.strictSame(groups, [3, 7]);
});

t.test('what one turn appends is one group, also where promises come between', async (t) => {
  const world = new World(1, { delayMs: () => 1 });
  const { clock } = world;
  const process = await world.start();
  const groups: number[] = [];
  process.log.journal.onGroup(({ records }) => groups.push(records));
  world.submit(process, 1);
  for (let n = 0; n < 20; n++) await Promise.resolve();
  world.submit(process, 2);
  await clock.until(process.log.journal.flush());
  t.strictSame(groups, [3]);
});

t.test('the writer acknowledges a group while the next one is on its way to the disk', async (t) => {
  const seen: string[] = [];
  const world = new World(1, {
    delayMs: (call) => {
      if (call === 'write' || call === 'sync') seen.push(call);
      return call === 'sync' ? 20 : 0;
    },
  });
  const { clock } = world;
  const process = await world.start();
  world.submit(process, 1);
  // The first segment is begun, the next one ready, and the log sealed.
  await clock.advance(10_000);
  seen.length = 0;
  process.log.journal.onGroup(({ records }) => seen.push(`told ${records}`));
  world.submit(process, 3);
  await clock.advance(10);
  world.submit(process, 2);
  await clock.advance(40);
  t.strictSame(seen, ['write', 'sync', 'write', 'told 3', 'sync', 'told 2']);
});

t.test('nothing is acknowledged before its sync has returned', async (t) => {
  const world = new World(1, { delayMs: (call) => (call === 'sync' ? 100 : 0) });
  const { clock } = world;
  const process = await world.start();
  world.submit(process, 3);
  await clock.advance(99);
  t.equal(process.told, 0);
  await clock.advance(1);
  t.equal(process.told, 3);
});

t.test(
  'with sync interval a record is acknowledged once it is written, and durable at the latest after the interval',
  async (t) => {
    const world = new World(1);
    const { clock, disk } = world;
    const process = await world.start({ sync: { type: 'interval', intervalMs: 500 } });
    await clock.advance(1);
    world.submit(process, 3);
    await clock.advance(10);
    t.equal(process.told, 3);
    t.equal(process.log.journal.durable.index, 0);
    await clock.advance(500);
    t.equal(process.log.journal.durable.index, 3);
    disk.crash('power');
    clock.clear();
    t.equal((await world.start()).log.engine.index, 3);
  },
);

t.test('with sync never a record is durable when somebody asks for it', async (t) => {
  const world = new World(1);
  const { clock } = world;
  const process = await world.start({ sync: { type: 'never' } });
  // Until the next segment is ready, too; from then on calls are counted.
  await clock.advance(10_000);
  world.disk.inject({ nth: Infinity, code: 'EIO', persistent: false, calls: ['sync'] });
  world.submit(process, 3);
  await clock.advance(60_000);
  t.equal(process.told, 3);
  t.equal(world.disk.calls, 1, 'of the second segment alone, which is made ready meanwhile');
  t.equal(process.log.journal.durable.index, 0);
  await clock.until(process.log.journal.flush());
  t.equal(process.log.journal.durable.index, 3);
});

/** For so many ms something waits whenever a group is written: with BUSY_DISK that takes longer than the next record. */
async function neverQuiet(world: World, process: LogProcess, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1) {
    world.submit(process, 1);
    await world.clock.advance(1);
  }
}

const BUSY_DISK = { delayMs: (call: string) => (call === 'write' ? 3 : 0) };
/** Nothing but the writer itself asks for a sync. */
const ONE_SEGMENT = { segmentBytes: 512 << 10, snapshotEveryRecords: Infinity, stateHashEveryRecords: Infinity };

t.test('with sync interval a log that is never quiet is durable after the interval all the same', async (t) => {
  const world = new World(1, BUSY_DISK);
  const process = await world.start({ ...ONE_SEGMENT, sync: { type: 'interval', intervalMs: 100 } });
  const { journal } = process.log;
  for (let round = 0; round < 5; round += 1) {
    const before = process.log.engine.index;
    await neverQuiet(world, process, 110);
    const durable = journal.durable.index;
    t.ok(durable >= before, `${before} records were there 110 ms ago, ${durable} are durable`);
    t.ok(process.told >= process.log.engine.index - 6, 'written records are acknowledged');
  }
});

t.test('with sync never who asks for a durable log is not kept waiting until it is quiet', async (t) => {
  const world = new World(1, BUSY_DISK);
  const process = await world.start({ ...ONE_SEGMENT, sync: { type: 'never' } });
  const { engine, journal } = process.log;
  await neverQuiet(world, process, 20);
  const asked = engine.index;
  let durable = 0;
  void journal.flush().then(() => (durable = journal.durable.index));
  await neverQuiet(world, process, 20);
  t.ok(durable >= asked, `${asked} records were to be durable, ${durable} are`);
});

t.test('a quiet log is sealed by one empty group', async (t) => {
  const world = new World(1);
  const { clock } = world;
  const process = await world.start();
  let told = 0;
  process.log.journal.onGroup(() => (told += 1));
  world.submit(process, 3);
  await clock.until(process.log.journal.flush());
  t.equal(process.log.journal.durable.group, 1);
  await clock.advance(50);
  t.match(process.log.journal.durable, { group: 2, index: 3 });
  await clock.advance(10_000);
  t.equal(process.log.journal.durable.group, 2);
  t.equal(told, 1, 'listeners get no group without records');
});

t.test('with sync interval what is sealed is durable: the empty group says so', async (t) => {
  const world = new World(1);
  const { clock, disk } = world;
  const process = await world.start({ sync: { type: 'interval', intervalMs: 500 } });
  world.submit(process, 3);
  await clock.advance(10_000);
  t.match(process.log.journal.durable, { index: 3 });
  disk.crash('kill');
  clock.clear();
  const { isSealed, segments, last } = await clock.until(scanLog(disk.boot(), Buffer.from(process.log.epoch, 'hex')));
  t.ok(isSealed);
  t.equal(last.group, 2);
  t.ok((segments[0]?.durableEnd ?? 0) > 0, 'the first group is durable by what the second says');
});

t.test('what a killed process left unsealed the next one seals, once', async (t) => {
  const world = new World(1);
  const { clock, disk } = world;
  const killed = await world.start();
  world.submit(killed, 3);
  await clock.until(killed.log.journal.flush());
  for (let start = 0; start < 2; start += 1) {
    disk.crash('kill');
    clock.clear();
    const { journal } = (await world.start()).log;
    await clock.advance(10_000);
    t.match(journal.durable, { group: 2, index: 3 });
  }
});

t.test('a full segment gives way to the prepared one, and a group may be larger than a segment', async (t) => {
  const world = new World(2);
  const { clock, disk } = world;
  const process = await world.start({ segmentBytes: 2 << 10 });
  const { engine, journal } = process.log;
  for (const records of [1, 40, 1, 1, 1]) {
    world.submit(process, records);
    await clock.until(journal.flush());
    await clock.advance(10);
  }
  const segments = disk.fileNames().filter((name) => name.startsWith('segment-'));
  t.ok(segments.length >= 3, segments.join());
  t.ok(
    segments.some((name) => disk.contentOf(name).length > 2 << 10),
    'one has grown',
  );
  const stateHash = engine.stateHash();
  disk.crash('kill');
  clock.clear();
  t.equal((await world.start({ segmentBytes: 2 << 10 })).log.engine.stateHash(), stateHash);
});

t.test('a disk that takes longer than a second is warned of', async (t) => {
  const delay = { ms: 0 };
  const world = new World(1, { delayMs: (call) => (call === 'sync' ? delay.ms : 0) });
  const process = await world.start();
  await world.clock.advance(1000);
  delay.ms = 1500;
  world.submit(process, 1);
  await world.clock.advance(999);
  t.notOk(process.lines.some(({ level }) => level === 'warn'));
  await world.clock.advance(2);
  t.match(process.lines.at(-1), { level: 'warn', message: 'slow commit' });
});

t.test('a disk that takes no longer is warned of neither then nor later', async (t) => {
  const world = new World(1);
  const process = await world.start();
  world.submit(process, 3);
  await world.clock.advance(10_000);
  t.notOk(process.lines.some(({ level }) => level === 'warn'));
});

t.test('over its bound the queue is BUSY, and takes again what a commit has made room for', async (t) => {
  const world = new World(1, { delayMs: (call) => (call === 'sync' ? 300 : 0) });
  const process = await world.start({ queueRecords: 10 });
  const { journal } = process.log;
  world.submit(process, 1);
  await world.clock.advance(1);
  world.submit(process, 10);
  t.equal(journal.refusal(), 'BUSY');
  t.equal(world.workload.submitNext(process), null);
  await world.clock.advance(300);
  t.equal(journal.refusal(), null);
  await world.clock.advance(300);
  t.equal(process.told, 11);
});

t.test('the queue is bounded in bytes too', async (t) => {
  const world = new World(1, { delayMs: (call) => (call === 'sync' ? 300 : 0) });
  const process = await world.start({ queueBytes: 1000 });
  while (process.log.journal.refusal() === null) world.submit(process, 1);
  t.ok(process.log.journal.waiting.bytes < 1000 + 800);
  t.equal(process.log.journal.refusal(), 'BUSY');
});

t.test('what waits is to fit twice into the room that is kept free', async (t) => {
  const world = new World(1, { delayMs: (call) => (call === 'sync' ? 300 : 0) });
  const process = await world.start({ lowWaterBytes: 4_000 });
  while (process.log.journal.refusal() === null) world.submit(process, 1);
  t.equal(process.log.journal.refusal(), 'BUSY');
  t.ok(process.log.journal.waiting.bytes < 2_000 + 800);
});

t.test('a record that cannot be written down leaves nothing of itself in the log', async (t) => {
  const world = new World(1);
  const { clock, disk } = world;
  const process = await world.start();
  const { journal } = process.log;
  world.submit(process, 1);
  t.throws(() => journal.append({ stamp: { index: 2, tsMs: 0 }, command: { type: 'TICK' }, events: [null as never] }));
  world.submit(process, 2);
  await clock.until(journal.flush());
  disk.crash('kill');
  clock.clear();
  t.equal((await world.start()).log.engine.index, 3);
});

for (const sync of [{ type: 'always' }, { type: 'interval', intervalMs: 500 }, { type: 'never' }] as const) {
  t.test(`with sync ${sync.type} a log that was quiet when it is closed is sealed all the same, durably`, async (t) => {
    // The seed decides which unsynced bytes a power cut takes.
    for (let seed = 1; seed <= 6; seed += 1) {
      const world = new World(seed);
      const { clock, disk } = world;
      const process = await world.start({ sync });
      world.submit(process, 3);
      await clock.advance(10_000);
      // Its hash is written at that moment, behind the seal that there may be.
      await clock.until(process.log.close());
      disk.crash('power');
      clock.clear();
      const scan = await clock.until(scanLog(disk.boot(), Buffer.from(process.log.epoch, 'hex')));
      t.match(scan, { isSealed: true, last: { index: 3 }, torn: null });
      t.match(scan.stateHashes, [{ type: 'STATE_HASH', index: 3 }]);
    }
  });
}

t.test('a log that is closed has nothing left to do', async (t) => {
  const world = new World(1);
  const { clock } = world;
  const process = await world.start();
  world.submit(process, 1);
  await clock.until(process.log.close());
  t.notOk(await clock.step());
});

for (const call of ['write', 'sync'] as const) {
  t.test(`a ${call} that fails ends the log: nothing of the group is acknowledged or retried`, async (t) => {
    const world = new World(1);
    const { clock, disk } = world;
    const process = await world.start();
    await clock.advance(1000);
    world.submit(process, 2);
    await clock.until(process.log.journal.flush());
    // The next segment is made ready by now: the calls that are counted are the log's own.
    await clock.advance(1000);
    disk.inject({ nth: 1, code: 'EIO', persistent: false, calls: [call] });
    world.submit(process, 3);
    await t.rejects(clock.until(process.log.journal.flush()), { code: 'FAILED', cause: { code: 'EIO' } });
    t.equal(process.fatal.length, 1);
    t.match(process.fatal[0], { code: 'FAILED', message: 'the log has stopped', cause: { code: 'EIO' } });
    await clock.advance(10_000);
    t.equal(disk.calls, 1, 'no more of these calls');
    t.equal(process.told, 2);
    t.throws(() => world.submit(process, 1), { code: 'FAILED' });
    await t.rejects(process.log.journal.flush(), { code: 'FAILED' });
  });
}
