import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { constants, getPriority } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openNodeDisk } from '../../../src/persistence/disk/node-disk.js';
import { segmentName } from '../../../src/persistence/format/file-names.js';
import { HEADER_BYTES } from '../../../src/persistence/format/header.js';
import { scanLog } from '../../../src/persistence/log/log-scanner.js';
import {
  makeSnapshot,
  SnapshotProcess,
  type SnapshotRequest,
} from '../../../src/persistence/snapshot/snapshot-process.js';
import { REORG_DEPTH } from '../../engine/samples.js';
import { silent } from '../../simulation/simulated-log.js';
import { madeLog } from '../made-log.js';

const PATIENCE_MS = 60_000;
/** Has records after its newest snapshot. */
const log = await madeLog(17 << 10, true, { segmentBytes: 4096, snapshotEveryRecords: 25, retainLogBytes: Infinity });

/** The log in a directory, and a process that makes snapshots of it and ends with the test. */
async function opened(t: Test, timeoutMs = PATIENCE_MS) {
  const directory = t.testdir();
  for (const [name, bytes] of log.files) await writeFile(path.join(directory, name), bytes);
  const disk = await openNodeDisk(directory);
  const { last } = await scanLog(disk, log.epoch);
  const requestFor = (draft: string): SnapshotRequest => {
    return { epoch: log.epoch, reorgDepth: REORG_DEPTH, point: last, draft, keepFreeBytes: 0 };
  };
  const snapshots = new SnapshotProcess(directory, timeoutMs, silent);
  t.teardown(() => snapshots.end());
  return { directory, disk, requestFor, snapshots };
}

const pidOf = ({ pid }: SnapshotProcess): number => {
  if (pid === undefined) throw new Error('no process runs');
  return pid;
};

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await pause(5);
  }
}

t.test('another process makes of a log what this one does, and leaves it in the draft', async (t) => {
  const { directory, disk, requestFor, snapshots } = await opened(t);
  const before = readdirSync(directory);
  t.strictSame(
    await snapshots.make(requestFor('theirs.tmp')),
    await makeSnapshot(disk, requestFor('ours.tmp'), silent),
  );
  const read = (name: string): Buffer => readFileSync(path.join(directory, name));
  t.ok(read('theirs.tmp').equals(read('ours.tmp')));
  t.strictSame(readdirSync(directory).sort(), [...before, 'ours.tmp', 'theirs.tmp'].sort(), 'nothing else is there');
});

/** None of a thread that has ended since it was listed. */
function priorityOf(thread: number): number[] {
  try {
    return [getPriority(thread)];
  } catch (error) {
    if ((error as { info?: { code?: string } }).info?.code === 'ESRCH') return [];
    throw error;
  }
}

t.test('one process makes them all, and all that it does gives way to the engine', async (t) => {
  const { requestFor, snapshots } = await opened(t);
  snapshots.start();
  const pid = pidOf(snapshots);
  await snapshots.make(requestFor('first.tmp'));
  await snapshots.make(requestFor('second.tmp'));
  t.equal(snapshots.pid, pid);
  const threads = process.platform === 'linux' ? readdirSync(`/proc/${pid}/task`).map(Number) : [pid];
  t.strictSame([...new Set(threads.flatMap(priorityOf))], [constants.priority.PRIORITY_LOW]);
});

t.test('a failed system call is reported with its error code', async (t) => {
  const { requestFor, snapshots } = await opened(t);
  await snapshots.make(requestFor('same.tmp'));
  const pid = pidOf(snapshots);
  await t.rejects(snapshots.make(requestFor('same.tmp')), { code: 'EEXIST' });
  t.equal(snapshots.pid, pid, 'the process lives on');
});

t.test('damage is reported with the code of its kind, and without an errno', async (t) => {
  const { directory, disk, requestFor, snapshots } = await opened(t);
  const { segments } = await scanLog(disk, log.epoch);
  const withRecords = segments.findLast(({ first, last }) => last.index > first.index);
  const file = path.join(directory, segmentName(withRecords?.number ?? 0));
  const bytes = readFileSync(file);
  bytes.fill(0xff, HEADER_BYTES, HEADER_BYTES + 40);
  await writeFile(file, bytes);
  await t.rejects(snapshots.make(requestFor('never.tmp')), { code: 'DAMAGED', errno: undefined });
});

t.test('killed on the way, it fails that snapshot without a code, and the next has another process', async (t) => {
  const { requestFor, snapshots } = await opened(t);
  snapshots.start();
  const pid = pidOf(snapshots);
  process.kill(pid, 'SIGSTOP');
  const making = snapshots.make(requestFor('first.tmp'));
  process.kill(pid, 'SIGKILL');
  await t.rejects(making, { message: /ended with SIGKILL/, code: undefined });
  await snapshots.make(requestFor('second.tmp'));
  t.not(snapshots.pid, pid);
});

t.test('one that takes too long is given up, and its process ended', async (t) => {
  const { requestFor, snapshots } = await opened(t, 50);
  snapshots.start();
  const pid = pidOf(snapshots);
  process.kill(pid, 'SIGSTOP');
  await t.rejects(snapshots.make(requestFor('never.tmp')), { message: /took more than 50 ms/, code: undefined });
  await gone(pid);
  t.equal(snapshots.pid, undefined);
});

t.test('signals to all processes of a service do not end it, its parent does', async (t) => {
  const { requestFor, snapshots } = await opened(t);
  await snapshots.make(requestFor('first.tmp'));
  const pid = pidOf(snapshots);
  process.kill(pid, 'SIGINT');
  process.kill(pid, 'SIGTERM');
  await snapshots.make(requestFor('second.tmp'));
  t.equal(snapshots.pid, pid);
  snapshots.end();
  await gone(pid);
});

t.test('what this process was started with is not handed on', async (t) => {
  const { requestFor, snapshots } = await opened(t);
  Object.assign(process.env, { NODE_OPTIONS: '--no-such-option', QUOTEBOOK_WALLET_KEY: 'secret' });
  t.teardown(() => {
    delete process.env.NODE_OPTIONS;
    delete process.env.QUOTEBOOK_WALLET_KEY;
  });
  await snapshots.make(requestFor('made.tmp'));
  if (process.platform !== 'linux') return;
  t.notMatch(readFileSync(`/proc/${pidOf(snapshots)}/environ`, 'utf8'), /QUOTEBOOK_/);
});
