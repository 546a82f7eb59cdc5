import t from 'tap';
import type { JournalRecord } from '../../../src/engine/ports.js';
import { segmentName } from '../../../src/persistence/format/file-names.js';
import { LogHistory } from '../../../src/persistence/log/log-history.js';
import { segmentStart } from '../../../src/persistence/log/segment-reader.js';
import { DroppingDisk } from '../dropping-disk.js';
import { madeLog } from '../made-log.js';
import { MemoryDisk } from '../memory-disk.js';

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
  for (const sinceMs of [0, ...times, Infinity]) {
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

await t.test('what is dropped meanwhile is left out, and the rest is there', async (t) => {
  const { files, epoch, ends } = await madeLog(40_000, true, { segmentBytes: 8_000 });
  const through = ends.at(-1)?.index ?? 0;
  const whole = new MemoryDisk(files);
  const all = await read(new LogHistory(whole, epoch).recordsAfter(-1, through));
  const keptAfter = (await segmentStart(whole, 4))?.first.index ?? 0;
  const calls = 30;
  let leftOut = 0;
  for (let beforeOpens = 1; beforeOpens <= calls; beforeOpens += 1) {
    const disk = new DroppingDisk(files);
    disk.drops = [1, 2, 3].map(segmentName);
    disk.beforeOpens = beforeOpens;
    const records = await read(new LogHistory(disk, epoch).recordsSince(0, through));
    const isKept = ({ stamp }: JournalRecord): boolean => stamp.index > keptAfter;
    t.strictSame(records.filter(isKept), all.filter(isKept), `before open ${beforeOpens}`);
    if (records.length < all.length) leftOut += 1;
  }
  t.ok(leftOut > 1 && leftOut < calls, `${leftOut} times`);
});
