import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

const UNDER_LOAD_MS = 2_000;
const steppingDate = new URL('./stepping-date.js', import.meta.url).href;

t.test('a wall clock that steps by a day expires no quote, and changes nothing in the log', async (t) => {
  t.setTimeout(120_000);
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const dataDir = t.testdir();
  const service = await ServiceProcess.prepare(chain, dataDir, { QUOTEBOOK_STATE_HASH_EVERY_RECORDS: '5' });
  t.teardown(() => service.end('SIGKILL'));
  const loaded = new LoadedService(chain, service);
  await loaded.start(['--import', steppingDate]);
  await pause(UNDER_LOAD_MS);
  await loaded.acknowledges();
  await loaded.over();
  t.ok(loaded.acked > 0, `${loaded.acked} quotes for an hour were taken meanwhile`);
  await loaded.checkAll();
  t.equal(loaded.events, loaded.acked, 'each was posted, and nothing else happened');
  await service.end('SIGKILL');

  const { code, stderr } = await service.run(['log', 'verify', path.join(dataDir, chain.profile.name)]);
  t.equal(code, 0, `a replay under a clock that is right gives the same state: ${stderr}`);
  await service.start();
  await loaded.checkAll();
  t.equal(await service.end('SIGTERM'), 0);
});
