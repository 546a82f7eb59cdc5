import t from 'tap';
import { snapshotIndexes, snapshotName } from '../../src/persistence/segment.js';
import { World } from './world.js';

t.test('a snapshot that is of no use is put aside as it is, and its name is free for another', async (t) => {
  const world = new World(5);
  const first = await world.start();
  world.submit(first, 10);
  await world.clock.until(first.log.close());
  const [index = 0] = snapshotIndexes(world.disk.fileNames());
  const name = snapshotName(index);
  const rotten = world.disk.contentOf(name);
  rotten[500] = (rotten[500] ?? 0) ^ 1;
  world.disk.place(name, rotten);

  const second = await world.start();
  t.equal(second.log.engine.index, 10);
  world.disk.crash('power');
  world.clock.clear();
  t.notOk(world.disk.fileNames().includes(name), 'durably');
  t.ok(world.disk.contentOf(`${name}.broken`).equals(rotten));

  const third = await world.start();
  await world.clock.until(third.log.close());
  t.strictSame(snapshotIndexes(world.disk.fileNames()), [index], 'one of the same record is made again');
});
