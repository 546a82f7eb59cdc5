import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openNodeDisk } from '../../src/persistence/node-disk.js';
import { PersistenceError } from '../../src/persistence/persistence-error.js';
import { recover } from '../../src/persistence/recovery.js';
import { surveyThread } from '../../src/persistence/survey-thread.js';
import { surveyLog } from '../../src/persistence/survey.js';
import { REORG_DEPTH } from '../engine/samples.js';
import { silent } from '../simulation/simulated-log.js';
import { FIRST_SEGMENT, madeLog, type MadeLog } from './made-log.js';

const log = await madeLog(16 << 10, true, { segmentBytes: 4096, snapshotEveryRecords: 25, retainLogBytes: Infinity });
const last = log.ends.at(-1);

async function directoryOf({ files }: MadeLog, directory: string): Promise<string> {
  for (const [name, bytes] of files) await writeFile(join(directory, name), bytes);
  return directory;
}

t.test('another thread finds in a log what this one does', async (t) => {
  const directory = await directoryOf(log, t.testdir());
  t.ok(log.files.size > 4);
  t.strictSame(
    await surveyThread(directory)(log.epoch).survey,
    await surveyLog(await openNodeDisk(directory), log.epoch),
  );
});

t.test('a start that has the log read aside ends with the same engine', async (t) => {
  const directory = await directoryOf(log, t.testdir());
  const disk = await openNodeDisk(directory);
  const { engine, snapshotIndex } = await recover(disk, log.epoch, REORG_DEPTH, silent, surveyThread(directory));
  t.strictSame(
    { index: engine.index, stateHash: engine.stateHash() },
    { index: last?.index, stateHash: last?.stateHash },
  );
  t.ok(snapshotIndex > 0);
});

t.test('damage that the other thread finds stops the start, naming the place', async (t) => {
  const directory = await directoryOf(log, t.testdir());
  const bytes = Buffer.from(log.files.get(FIRST_SEGMENT) ?? []);
  bytes[400] = (bytes[400] ?? 0) ^ 1;
  await writeFile(join(directory, FIRST_SEGMENT), bytes);
  const disk = await openNodeDisk(directory);
  const found = await surveyLog(disk, log.epoch).catch((error: unknown) => error);
  t.ok(found instanceof PersistenceError);
  const { message, code, place } = found as PersistenceError;
  await t.rejects(recover(disk, log.epoch, REORG_DEPTH, silent, surveyThread(directory)), { message, code, place });
});

t.test('a directory that cannot be read is an error of the system', async (t) => {
  const directory = t.testdir({ [FIRST_SEGMENT]: { notAFile: '' } });
  await t.rejects(surveyThread(directory)(log.epoch).survey, { code: 'EISDIR' });
  await rm(directory, { recursive: true });
});
