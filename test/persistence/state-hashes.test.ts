import t from 'tap';
import { verifyLog } from '../../src/persistence/inspect.js';
import { silent, type LogProcess } from '../simulation/simulated-log.js';
import { World } from './world.js';

const RECORDS = 100;

/** Submits a record at a time, each its own group. */
async function write(world: World, process: LogProcess): Promise<void> {
  for (let record = 0; record < RECORDS; record += 1) {
    world.submit(process, 1);
    await world.clock.until(process.log.journal.flush());
  }
  // A hash comes with the group after its record.
  await world.clock.advance(100);
}

/** The process dies, and somebody looks at what it left. */
async function comparedAfterKill(world: World): Promise<number> {
  world.disk.crash('kill');
  world.clock.clear();
  return (await world.clock.until(verifyLog(world.disk.boot(), silent))).comparedHashes;
}

t.test('the running engine tells its hash every so many records, and a replay has the same', async (t) => {
  const world = new World(5);
  await write(world, await world.start({ stateHashEveryRecords: 10, snapshotEveryRecords: Infinity }));
  t.equal(await comparedAfterKill(world), RECORDS / 10);
});

t.test('with more orders than a hash may take time for, none is told', async (t) => {
  const world = new World(5);
  const options = { stateHashEveryRecords: 10, stateHashOrders: 2, snapshotEveryRecords: Infinity };
  const process = await world.start(options);
  await write(world, process);
  t.ok(process.log.engine.orderCount > 2);
  t.ok((await comparedAfterKill(world)) < RECORDS / 10);
});

t.test('a start whose replay comes to another hash is refused, naming the record', async (t) => {
  const world = new World(5);
  const process = await world.start({ stateHashEveryRecords: 10, snapshotEveryRecords: Infinity });
  const { engine } = process.log;
  const stateHash = engine.stateHash.bind(engine);
  engine.stateHash = () => (engine.index === 50 ? '00'.repeat(32) : stateHash());
  await write(world, process);
  world.disk.crash('kill');
  world.clock.clear();
  await t.rejects(world.start(), {
    code: 'DIFFERS',
    message: /after record 50 .* the state's hash is [0-9a-f]{64}, by the log it was 0{64}/,
  });
});
