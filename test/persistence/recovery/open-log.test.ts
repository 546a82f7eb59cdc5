import t from 'tap';
import type { Identity } from '../../../src/persistence/format/manifest.js';
import { type OpenLog, openLog } from '../../../src/persistence/recovery/open-log.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { SimClock } from '../../simulation/sim-clock.js';
import { LogProcess, optionsFor } from '../../simulation/simulated-log.js';
import { Workload } from '../../simulation/workload.js';
import { SimDisk } from '../sim-disk.js';

function simulation(seed: number) {
  const clock = new SimClock();
  const random = new SeededRandom(seed);
  const disk = new SimDisk({ clock, random });
  return { clock, random, disk, workload: new Workload(random) };
}

t.test('a log goes on where it was closed, with the same state', async (t) => {
  const { clock, random, disk, workload } = simulation(1);
  let before = '';
  for (let life = 0; life < 4; life += 1) {
    const process = await clock.until(LogProcess.start(disk, clock, random));
    t.equal(process.log.engine.index, life * 150);
    if (life > 0) t.equal(process.log.engine.stateHash(), before);
    for (let n = 0; n < 150; n += 1) t.ok(workload.submitNext(process));
    await clock.until(process.log.journal.flush());
    t.equal(process.told, (life + 1) * 150);
    before = process.log.engine.stateHash();
    await clock.until(process.log.close());
    t.strictSame(process.fatal, []);
  }
  t.ok(disk.fileNames().length > 4, disk.fileNames().join());
});

t.test('a start that fails leaves nothing behind that would keep its process alive', async (t) => {
  for (const isNew of [true, false]) {
    let failed = 0;
    for (let nth = 1, isOver = false; !isOver; nth += 1) {
      const { clock, random, disk } = simulation(2);
      if (!isNew) {
        const first = await clock.until(LogProcess.start(disk, clock, random));
        await clock.until(first.log.close());
      }
      disk.inject({ nth, code: 'EIO', persistent: false });
      const start = clock.until(LogProcess.start(disk, clock, random));
      const log = await start.then(
        (process) => process.log,
        () => null,
      );
      isOver = log !== null && disk.calls < nth;
      if (log !== null) continue;
      failed += 1;
      let steps = 0;
      while (steps < 1_000 && (await clock.step())) steps += 1;
      if (steps === 1_000)
        t.fail(`call ${nth} of ${isNew ? 'a new log' : 'a log'} failed, and something goes on for ever`);
    }
    t.ok(failed > 10, `${failed} starts`);
  }
});

t.test('a log that was not opened, or was closed, is free for another process', async (t) => {
  const { clock, random, disk } = simulation(1);
  const session = disk.boot();
  const open = (identity: Identity): Promise<OpenLog> => {
    const process = { fatal: [], lines: [] };
    return clock.until(openLog(session, optionsFor(session, clock, random, process, { identity })));
  };
  const log = await open({ chainId: 1 });
  await t.rejects(open({ chainId: 1 }), { code: 'LOCKED' });
  await clock.until(log.close());
  await t.rejects(open({ chainId: 2 }), { code: 'FOREIGN' });
  await clock.until((await open({ chainId: 1 })).close());
});
