import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { LoadedService } from './loaded-service.js';
import { ServiceProcess } from './service-process.js';

const END_MS = 10_000;
const failingEngine = new URL('./failing-engine.js', import.meta.url).href;

t.test('an exception in the engine ends the process, and what it did is not in the log', async (t) => {
  t.setTimeout(120_000);
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const service = await ServiceProcess.prepare(chain, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  const loaded = new LoadedService(chain, service);
  await loaded.start(['--import', failingEngine]);
  const ended = await Promise.race([service.ended(), pause(END_MS, 'not ended', { ref: false })]);
  t.equal(ended, 1, 'it ends');
  await service.end('SIGKILL');
  await loaded.over();

  await loaded.start();
  await loaded.acknowledges();
  await loaded.over();
  await loaded.checkAll();
  t.equal(await service.end('SIGTERM'), 0, 'the next process goes on from the log');
});
