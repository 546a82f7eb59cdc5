import t from 'tap';
import { snapshotIndexes, snapshotName } from '../../src/persistence/segment.js';
import { World } from './world.js';

/** With a snapshot. */
async function stopped(): Promise<{ world: World; index: number; name: string }> {
  const world = new World(5);
  const first = await world.start();
  world.submit(first, 10);
  await world.clock.until(first.log.close());
  const [index = 0] = snapshotIndexes(world.disk.fileNames());
  return { world, index, name: snapshotName(index) };
}

function rot(world: World, name: string, at: number): Buffer {
  const rotten = world.disk.contentOf(name);
  rotten[at] = (rotten[at] ?? 0) ^ 1;
  world.disk.place(name, rotten);
  return rotten;
}

t.test('a snapshot that is of no use is put aside as it is, and its name is free for another', async (t) => {
  const { world, index, name } = await stopped();
  const rotten = rot(world, name, 500);

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

t.test('of two that went bad under one name, both are kept', async (t) => {
  const { world, name } = await stopped();
  const first = rot(world, name, 500);
  await world.clock.until((await world.start()).log.close());
  const second = rot(world, name, 501);
  await world.clock.until((await world.start()).log.close());

  t.ok(world.disk.contentOf(`${name}.broken`).equals(first));
  t.ok(world.disk.contentOf(`${name}.2.broken`).equals(second));
});
