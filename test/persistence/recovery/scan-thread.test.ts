import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { PersistenceError } from '../../../src/persistence/disk/disk.js';
import { openNodeDisk } from '../../../src/persistence/disk/node-disk.js';
import { scanLog } from '../../../src/persistence/log/log-scanner.js';
import { logBytes, meteredDisk } from '../../../src/persistence/recovery/log-backup.js';
import { recover } from '../../../src/persistence/recovery/recovery.js';
import { AsyncQueue, scanInThread } from '../../../src/persistence/recovery/scan-thread.js';
import { REORG_DEPTH } from '../../engine/samples.js';
import { silent } from '../../simulation/simulated-log.js';
import { FIRST_SEGMENT, type MadeLog, madeLog } from '../made-log.js';

const log = await madeLog(16 << 10, true, { segmentBytes: 4096, snapshotEveryRecords: 25, retainLogBytes: Infinity });
const last = log.ends.at(-1);

async function directoryOf({ files }: MadeLog, directory: string): Promise<string> {
  for (const [name, bytes] of files) await writeFile(join(directory, name), bytes);
  return directory;
}

t.test('another thread finds in a log what this one does', async (t) => {
  const directory = await directoryOf(log, t.testdir());
  t.ok(log.files.size > 4);
  t.strictSame(await scanInThread(directory)(log.epoch).scan, await scanLog(await openNodeDisk(directory), log.epoch));
});

t.test('a start that has the log read aside ends with the same engine', async (t) => {
  const directory = await directoryOf(log, t.testdir());
  const disk = await openNodeDisk(directory);
  const { engine, snapshotIndex } = await recover(disk, log.epoch, REORG_DEPTH, silent, scanInThread(directory));
  t.strictSame(
    { index: engine.index, stateHash: engine.stateHash() },
    { index: last?.index, stateHash: last?.stateHash },
  );
  t.ok(snapshotIndex > 0);
});

t.test('a start reads about what is estimated, in both threads together', async (t) => {
  const directory = await directoryOf(log, t.testdir());
  const disk = await openNodeDisk(directory);
  for (const isAside of [true, false]) {
    let bytes = 0;
    const onRead = (count: number): void => void (bytes += count);
    const aside = isAside ? scanInThread(directory, onRead) : undefined;
    await recover(meteredDisk(disk, onRead), log.epoch, REORG_DEPTH, silent, aside);
    const { recover: estimate } = await logBytes(disk);
    t.ok(bytes > 0.75 * estimate && bytes <= 1.1 * estimate, `${bytes} of ${estimate} bytes`);
  }
});

t.test('damage that the other thread finds stops the start, naming the place', async (t) => {
  const directory = await directoryOf(log, t.testdir());
  const bytes = Buffer.from(log.files.get(FIRST_SEGMENT) ?? []);
  bytes[400] = (bytes[400] ?? 0) ^ 1;
  await writeFile(join(directory, FIRST_SEGMENT), bytes);
  const disk = await openNodeDisk(directory);
  const found = await scanLog(disk, log.epoch).catch((error: unknown) => error);
  t.ok(found instanceof PersistenceError);
  const { message, code, place } = found as PersistenceError;
  await t.rejects(recover(disk, log.epoch, REORG_DEPTH, silent, scanInThread(directory)), { message, code, place });
});

t.test('a directory that cannot be read is an error of the system', async (t) => {
  const directory = t.testdir({ [FIRST_SEGMENT]: { notAFile: '' } });
  await t.rejects(scanInThread(directory)(log.epoch).scan, { code: 'EISDIR' });
  await rm(directory, { recursive: true });
});

async function read(arrivals: AsyncQueue<number>): Promise<number[]> {
  const items: number[] = [];
  for await (const item of arrivals) items.push(item);
  return items;
}

t.test('what has come before anybody reads, and what comes then, is read in order', async (t) => {
  const arrivals = new AsyncQueue<number>();
  arrivals.push(1);
  arrivals.push(2);
  const reading = read(arrivals);
  await new Promise((resolve) => setImmediate(resolve));
  arrivals.push(3);
  arrivals.push(4);
  await new Promise((resolve) => setImmediate(resolve));
  arrivals.push(5);
  arrivals.end();
  t.strictSame(await reading, [1, 2, 3, 4, 5]);
});

t.test('nothing at all ends, too', async (t) => {
  const [over, later] = [new AsyncQueue<number>(), new AsyncQueue<number>()];
  over.end();
  t.strictSame(await read(over), []);
  const reading = read(later);
  await new Promise((resolve) => setImmediate(resolve));
  later.end();
  t.strictSame(await reading, []);
});
