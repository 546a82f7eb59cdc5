import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { lockFile } from '../../../src/persistence/disk/file-lock.js';

const HOLDER = fileURLToPath(new URL('../lock-holder.js', import.meta.url));

t.test('one at a time has the lock, and it can be given back', async (t) => {
  const file = path.join(t.testdir(), 'lock');
  const first = await lockFile(file);
  t.ok(first);
  t.equal(await lockFile(file), null);
  await first?.release();
  const second = await lockFile(file);
  t.ok(second);
  await second?.release();
});

t.test('the holder sees that the file, or a directory above it, is in its place no more', async (t) => {
  const root = t.testdir();
  const directory = path.join(root, 'a', 'b');
  await mkdir(directory, { recursive: true });
  const lock = await lockFile(path.join(directory, 'lock'));
  if (lock === null) throw new Error('The lock is held by another');
  t.equal(await lock.isInPlace(), true);
  await rename(path.join(root, 'a'), path.join(root, 'c'));
  t.equal(await lock.isInPlace(), false, 'moved away');
  await mkdir(directory, { recursive: true });
  await writeFile(path.join(directory, 'lock'), '');
  t.equal(await lock.isInPlace(), false, 'another is there');
  await rename(path.join(root, 'a'), path.join(root, 'd'));
  await writeFile(path.join(root, 'a'), '');
  t.equal(await lock.isInPlace(), false, 'a file is there');
  await rename(path.join(root, 'a'), path.join(root, 'e'));
  await rename(path.join(root, 'c'), path.join(root, 'a'));
  t.equal(await lock.isInPlace(), true, 'put back');
  await lock.release();
});

t.test('another process holds it until it dies, in whatever way', async (t) => {
  const file = path.join(t.testdir(), 'lock');
  const holder = spawn(process.execPath, [HOLDER, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(holder.stdout, 'data')) as [Buffer];
  t.equal(String(said), 'held\n');
  t.equal(await lockFile(file), null);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = await lockFile(file);
  t.ok(lock, 'nothing stale is left');
  await lock?.release();
});

t.test('who waited for a file that was renamed meanwhile has no lock', async (t) => {
  const directory = t.testdir();
  const file = path.join(directory, 'lock');
  // Each of them opens the file and then runs a program; a late one finds another file or none under that name.
  for (let round = 0; round < 5; round += 1) {
    let holders = 0;
    let most = 0;
    const tries = Array.from({ length: 6 }, async () => {
      const lock = await lockFile(file);
      if (lock === null) return 0;
      holders += 1;
      most = Math.max(most, holders);
      await rename(file, path.join(directory, `${round}`));
      holders -= 1;
      await lock.release();
      return 1;
    });
    const taken = (await Promise.all(tries)).reduce<number>((sum, count) => sum + count, 0);
    t.ok(taken >= 1 && most === 1, `${taken} one after another, ${most} at once`);
  }
});
