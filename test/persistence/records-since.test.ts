import t from 'tap';
import type { JournalRecord } from '../../src/engine/ports.js';
import { LogHistory } from '../../src/persistence/log-history.js';
import { madeLog } from './made-log.js';
import { MemoryDisk } from './memory-disk.js';

async function read(groups: AsyncIterable<readonly JournalRecord[]>): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const group of groups) records.push(...group);
  return records;
}

await t.test('records since a time are all of them, and few from before', async (t) => {
  const { files, epoch, ends } = await madeLog(40_000, true, { segmentBytes: 8_000 });
  const history = new LogHistory(new MemoryDisk(files), epoch);
  const through = ends.at(-1)?.index ?? 0;
  const all = await read(history.recordsAfter(-1, through));
  t.equal(all.length, through);
  t.ok([...files.keys()].filter((name) => name.startsWith('segment')).length > 3);
  const times = [...new Set(all.map(({ stamp }) => stamp.tsMs))];
  let skipped = 0;
  for (const sinceMs of [0, ...times.filter((_, n) => n % 20 === 0), Infinity]) {
    const records = await read(history.recordsSince(sinceMs, through));
    const indexes = records.map(({ stamp }) => stamp.index);
    t.strictSame(
      indexes,
      all.slice(all.length - records.length).map(({ stamp }) => stamp.index),
      'up to the end',
    );
    t.ok((all[all.length - records.length - 1]?.stamp.tsMs ?? -1) < sinceMs, 'nothing is missing');
    skipped = Math.max(skipped, all.length - records.length);
  }
  t.ok(skipped > through / 2, `${skipped} of ${through} records were not read for the newest`);
});
