import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { openLocalSetup } from '../src/local-setup.js';
import { lockFile } from '../src/persistence/disk/file-lock.js';

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
