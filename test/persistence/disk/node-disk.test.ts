import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pid, platform } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { readWhole } from '../../../src/persistence/disk/disk.js';
import { openNodeDisk } from '../../../src/persistence/disk/node-disk.js';

const DESCRIPTORS = '/proc/self/fd';
/** Several times as long as it takes for a call to fail. */
const WAITED_MS = 200;

/** The flags that Linux holds for the descriptor of an open file (proc(5): octal, without those of its creation). */
async function flagsOf(path: string): Promise<number> {
  for (const descriptor of await readdir(DESCRIPTORS)) {
    const target = await readlink(join(DESCRIPTORS, descriptor)).catch(() => null);
    if (target !== path) continue;
    const info = await readFile(join('/proc/self/fdinfo', descriptor), 'utf8');
    return Number.parseInt(/^flags:\s+([0-7]+)$/m.exec(info)?.[1] ?? '', 8);
  }
  throw new Error(`${path} is not open`);
}

for (const [mode, isDurable] of [
  ['durable', true],
  ['write', false],
] as const) {
  t.test(`opened for '${mode}', a write is ${isDurable ? '' : 'not '}forced to the disk by the system`, async (t) => {
    const directory = t.testdir({ 'a.log': 'zeros' });
    const disk = await openNodeDisk(directory);
    const file = await disk.open('a.log', mode);
    t.teardown(() => file.close());
    await file.write(Buffer.from('ones'), 1);
    await file.sync();
    t.equal((await readWhole(disk, 'a.log')).toString(), 'zones');
    const path = join(directory, 'a.log');
    if (platform === 'linux') t.equal((await flagsOf(path)) & constants.O_DSYNC, isDurable ? constants.O_DSYNC : 0);
  });
}

/** Takes descriptors until the process may have no more. Returns what gives them back. */
function takeDescriptors(): () => void {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync(DESCRIPTORS, 'r'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  }
  return () => taken.forEach(closeSync);
}

t.test(
  'where the process may open no more files, one waits until it may',
  { skip: spawnSync('prlimit', ['--version']).status !== 0 && 'there is no prlimit here' },
  async (t) => {
    const disk = await openNodeDisk(t.testdir({ 'a.log': 'zones' }));
    execFileSync('prlimit', ['--pid', String(pid), '--nofile=64:']);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => readWhole(disk, 'a.log'),
      () => disk.list(),
      () => disk.syncDirectory(),
    ];
    for (const call of calls) {
      const giveBack = takeDescriptors();
      const outcome = { isThere: false };
      const asked = call().finally(() => (outcome.isThere = true));
      asked.catch(() => undefined);
      await pause(WAITED_MS);
      t.notOk(outcome.isThere, 'neither done nor failed');
      giveBack();
      await asked;
    }
  },
);

t.test('what it makes only its owner can read', async (t) => {
  const directory = join(t.testdir(), 'log');
  const disk = await openNodeDisk(directory);
  await (await disk.open('a.log', 'create')).close();
  const modes = [directory, join(directory, 'a.log')].map(async (path) => (await stat(path)).mode & 0o777);
  t.strictSame(await Promise.all(modes), [0o700, 0o600]);
});

t.test('where a file that is open fails, one hears which', async (t) => {
  const disk = await openNodeDisk(t.testdir({ 'a.log': {} }));
  await t.rejects(readWhole(disk, 'a.log'), { code: 'EISDIR', message: /^a\.log: EISDIR/ });
});
