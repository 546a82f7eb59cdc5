import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { lockFile } from '../../src/persistence/node-lock.js';

const HOLDER = fileURLToPath(new URL('./lock-holder.js', import.meta.url));

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
