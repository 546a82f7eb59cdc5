import t from 'tap';
import { writeWhole } from '../../../src/persistence/disk/disk.js';
import { type OpenLog, openLog } from '../../../src/persistence/recovery/open-log.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { SimClock } from '../../simulation/sim-clock.js';
import { LogProcess, optionsFor } from '../../simulation/simulated-log.js';
import { Workload } from '../../simulation/workload.js';
import { SimDisk } from '../sim-disk.js';

const NOTE = 'deep-reorg.json';

/** A log with records in it that was closed after its chains had reorganised too deeply. */
async function haltedLog() {
  const clock = new SimClock();
  const random = new SeededRandom(7);
  const disk = new SimDisk({ clock, random });
  const workload = new Workload(random);
  const process = await clock.until(LogProcess.start(disk, clock, random));
  for (let n = 0; n < 50; n += 1) workload.submitNext(process);
  await clock.until(process.log.noteDeepReorg('none of the blocks 1..9'));
  await clock.until(process.log.close());
  const { epoch } = process.log;
  const start = (acceptDeepReorg: string | null = null): Promise<OpenLog> => {
    const session = disk.boot();
    const told = { fatal: [], lines: [] };
    return clock.until(openLog(session, optionsFor(session, clock, random, told, { acceptDeepReorg })));
  };
  return { clock, disk, epoch, start };
}

t.test('a log whose chains reorganised too deeply is refused until that is accepted for this log', async (t) => {
  const { clock, disk, epoch, start } = await haltedLog();
  const before = disk.fileNames().sort();
  for (const accepted of [null, '0123456789abcdef']) {
    const message = new RegExp(`none of the blocks 1..9.*--accept-deep-reorg ${epoch}`);
    await t.rejects(start(accepted), { code: 'DEEP_REORG', message });
    t.strictSame(disk.fileNames().sort(), before, 'nothing has changed');
  }
  const log = await start(epoch);
  t.equal(log.engine.index, 0);
  t.not(log.epoch, epoch);
  t.ok(disk.fileNames().includes('stamp.json.broken') && !disk.fileNames().includes(NOTE));
  await clock.until(log.close());
  const next = await start();
  t.equal(next.epoch, log.epoch, 'the new log is continued');
  await clock.until(next.close());
});

t.test('a crash while the log is put aside leaves a log that is refused, or a new one', async (t) => {
  let refused = 0;
  for (let nth = 1; ; nth += 1) {
    const { clock, disk, epoch, start } = await haltedLog();
    disk.inject({ nth, code: 'EIO', persistent: false });
    const isOver = await start(epoch).then(
      () => true,
      () => false,
    );
    if (isOver) break;
    const hasNote = disk.fileNames().includes(NOTE);
    if (hasNote) {
      refused += 1;
      await t.rejects(start(), { code: 'DEEP_REORG' });
    }
    const log = await start(epoch);
    t.equal(log.engine.index, 0, `after call ${nth}`);
    t.not(log.epoch, epoch);
    await clock.until(log.close());
  }
  t.ok(refused > 3, `${refused} starts were cut short and refused afterwards`);
});

t.test('a note that says nothing is refused as damage, and one of an earlier log does not count', async (t) => {
  const { clock, disk, start, epoch } = await haltedLog();
  const write = (text: string): Promise<void> => clock.until(writeWhole(disk.boot(), NOTE, [Buffer.from(text)]));
  await write('{}');
  await t.rejects(start(epoch), { code: 'DAMAGED', message: /deep-reorg.json/ });
  await write(JSON.stringify({ epoch: '0123456789abcdef', why: 'long ago' }));
  const log = await start();
  t.equal(log.epoch, epoch);
  await clock.until(log.close());
});
