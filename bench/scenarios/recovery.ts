import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { limits } from '../../src/config/limits.js';
import type { Command } from '../../src/engine/command.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { recover } from '../../src/persistence/recovery/recovery.js';
import { scanInThread } from '../../src/persistence/recovery/scan-thread.js';
import { bareScan } from '../baselines/bare-scan.js';
import { contest, median, rowOf } from '../contest.js';
import { atLeast, atMost, type Scenario } from '../scenario.js';
import { EngineLife } from '../workload/engine-life.js';
import { openBenchLog, silent } from '../workload/log.js';
import { START_SECONDS } from '../workload/quotes.js';

const PER_COMMIT = 500;

/** A book of `resting` quotes, a snapshot of it, and `records` after that, each of which a start has to apply again. */
async function writeLog(directory: string, resting: number, records: number): Promise<string> {
  const { engine, journal, snapshotter, epoch } = await openBenchLog(directory, false);
  const life = new EngineLife();
  const write = async (next: () => readonly Command[], lastIndex: number): Promise<void> => {
    while (engine.index < lastIndex) {
      const commands = next();
      for (const command of commands) {
        const stamp = { index: engine.index + 1, tsMs: START_SECONDS * 1000 };
        journal.append({ stamp, command, events: engine.apply(command, stamp) });
      }
      if (engine.index % PER_COMMIT < commands.length) await journal.flush();
    }
  };
  await write(() => [life.arrival()], resting);
  await snapshotter.take();
  await write(() => life.replacement(), resting + records);
  await journal.close();
  return epoch;
}

export const recovery: Scenario = {
  name: 'recovery',
  title: 'Recovery',
  workload: `A log with a snapshot of 100,000 quotes and 1,000,000 records after it: recovery checks every byte, reads the
snapshot, applies each record's command again and compares the events. The baseline reads the same segments and
computes the CRC of each frame.`,
  async run(scale) {
    const isFull = scale === 'full';
    const [resting, after] = isFull ? [100_000, 1_000_000] : [200, 2000];
    const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-bench-'));
    try {
      const epoch = Buffer.from(await writeLog(directory, resting, after), 'hex');
      const disk = await openNodeDisk(directory);
      const ours = {
        name: 'ours',
        prepare: () => async () => {
          const { engine } = await recover(disk, epoch, limits.reorgDepth, silent, scanInThread(directory));
          return engine.index;
        },
      };
      const bare = { name: 'scan', prepare: () => () => bareScan(directory) };
      const [mine = [], theirs = []] = await contest([ours, bare], {
        rounds: isFull ? 2 : 1,
        warmUps: 0,
        clock: 'wall',
      });
      const label = `${resting.toLocaleString('en-US')} quotes in a snapshot, ${after.toLocaleString('en-US')} records`;
      const rates = { ours: mine, again: null, theirs };
      const seconds = (resting + after) / median(mine);
      return {
        rows: [
          rowOf(label, rates, 'scan + CRC', atLeast(0.05), 'records/s'),
          {
            label: `${label}, the whole`,
            ours: { value: seconds, unit: 's' },
            baseline: null,
            ratio: null,
            goal: atMost(4, 'ours'),
            noise: null,
          },
        ],
      };
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};
