import t from 'tap';
import { verifyLog } from '../../src/persistence/inspect.js';
import { silent } from '../simulation/simulated-log.js';
import { MemoryDisk } from './memory-disk.js';
import { World } from './world.js';

/** Names are listed by a reader so many times and fewer. */
const LISTS = 8;

t.test('a log that a server writes to meanwhile is not called damaged', async (t) => {
  const world = new World(3);
  const process = await world.start({ segmentBytes: 4 << 10, snapshotEveryRecords: 50 });
  const files = async (groups: number): Promise<(readonly [string, Buffer])[]> => {
    for (let group = 0; group < groups; group += 1) {
      world.submit(process, 5);
      await world.clock.until(process.log.journal.flush());
      await world.clock.advance(500);
    }
    return world.disk.fileNames().map((name) => [name, world.disk.contentOf(name)]);
  };
  const before = await files(15);
  // One snapshot more, and the first of them stays.
  const after = await files(10);
  const found: number[] = [];
  for (let atList = 1; atList <= LISTS; atList += 1) {
    let lists = 0;
    class ServedDisk extends MemoryDisk {
      override list(): Promise<string[]> {
        lists += 1;
        if (lists === atList) for (const [name, bytes] of after) this.files.set(name, bytes);
        return super.list();
      }
    }
    const { lastIndex } = await verifyLog(new ServedDisk(before), silent);
    found.push(lastIndex);
  }
  t.strictSame(new Set(found), new Set([125, 75]), 'as it was or as it became');
});
