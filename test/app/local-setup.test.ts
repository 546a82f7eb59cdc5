import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { openLocalSetup, writeReadyFile } from '../../src/app/local-setup.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';

t.test('where another process runs the local chain no second one is begun on its state', async (t) => {
  const dataDir = t.testdir();
  const other = await lockFile(path.join(dataDir, 'local-chain.lock'));
  await t.rejects(openLocalSetup(dataDir), {
    code: 'LOCKED',
    message: `another process is using the local chain in ${dataDir}`,
  });
  t.strictSame(readdirSync(dataDir), ['local-chain.lock'], 'nothing was deployed');
  await other?.release();
});

t.test('once it has stopped the next one has the chain as it was left', async (t) => {
  const dataDir = t.testdir();
  const first = await openLocalSetup(dataDir);
  await t.rejects(openLocalSetup(dataDir), { code: 'LOCKED' });
  await first.stop();
  const saved = readFileSync(path.join(dataDir, 'local-chain.json.deployment'), 'utf8');
  const second = await openLocalSetup(dataDir);
  t.strictSame(second.chain.pools, first.chain.pools);
  await second.stop();
  t.equal(readFileSync(path.join(dataDir, 'local-chain.json.deployment'), 'utf8'), saved);
});

t.test('a ready file says where the service is, in one piece, to nobody but its owner', async (t) => {
  const directory = t.testdir({ 'ready.json': 'of an earlier run' });
  const file = path.join(directory, 'ready.json');
  for (const [host, authority] of [
    ['127.0.0.1', '127.0.0.1:8080'],
    ['::1', '[::1]:8080'],
  ] as const) {
    const ready = await writeReadyFile(file, host, 8080, null);
    t.strictSame(ready, { httpUrl: `http://${authority}`, wsUrl: `ws://${authority}` });
    t.strictSame(JSON.parse(await readFile(file, 'utf8')), ready);
  }
  // On the local chain it holds keys.
  t.equal((await stat(file)).mode & 0o777, 0o600);
  t.strictSame(await readdir(directory), ['ready.json']);
});
