import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openNodeDisk } from '../../src/persistence/node-disk.js';
import { recover } from '../../src/persistence/recovery.js';
import { bareScan } from '../baselines/bare-scan.js';
import { contest, rowOf, median } from '../contest.js';
import { atLeast, atMost, type Scenario } from '../scenario.js';
import { EngineLife } from '../workload/engine-life.js';
import { openBenchLog, silent } from '../workload/log.js';
import { START_SECONDS } from '../workload/quotes.js';
import { limits } from '../../src/config/limits.js';

const RESTING = 10_000;
const PER_COMMIT = 500;

/** A log without snapshots, so that every record has to be applied again. */
async function writeLog(directory: string, records: number): Promise<string> {
  const { engine, journal, epoch } = await openBenchLog(directory, false);
  const life = new EngineLife();
  while (engine.index < records) {
    const commands = engine.index < Math.min(RESTING, records / 2) ? [life.arrival()] : life.replacement();
    for (const command of commands) {
      const stamp = { index: engine.index + 1, tsMs: START_SECONDS * 1000 };
      journal.append({ stamp, command, events: engine.apply(command, stamp) });
    }
    if (engine.index % PER_COMMIT < commands.length) await journal.flush();
  }
  await journal.close();
  return epoch;
}

export const recovery: Scenario = {
  name: 'recovery',
  title: 'Recovery',
  workload: `A log of 1,000,000 records without a snapshot: 10,000 quotes that enter, and from then on one that enters and one that is cancelled in turn. Recovery checks
every byte, decodes each record, applies its command again and compares the events. The baseline reads the same files and sums up the CRC of each frame.`,
  async run(scale) {
    const isFull = scale === 'full';
    const records = isFull ? 1_000_000 : 2000;
    const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-bench-'));
    try {
      const epoch = Buffer.from(await writeLog(directory, records), 'hex');
      const disk = await openNodeDisk(directory);
      const ours = {
        name: 'ours',
        prepare: () => async () => (await recover(disk, epoch, limits.reorgDepth, silent)).engine.index,
      };
      const bare = { name: 'scan', prepare: () => () => bareScan(directory) };
      const [mine = [], theirs = []] = await contest([ours, bare], {
        rounds: isFull ? 2 : 1,
        warmUps: 0,
        clock: 'wall',
      });
      const label = `${records.toLocaleString('en-US')} records`;
      const rates = { ours: mine, again: null, theirs };
      const seconds = records / median(mine);
      return {
        rows: [
          rowOf(label, rates, 'scan + CRC', atLeast(0.05), 'records/s'),
          {
            label: `${label}, the whole`,
            ours: { value: seconds, unit: 's' },
            baseline: null,
            ratio: null,
            goal: atMost(10, 'ours'),
            noise: null,
          },
        ],
      };
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};
