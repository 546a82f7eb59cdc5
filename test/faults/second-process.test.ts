import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

t.test('a second process on the same directory ends at once, and harms nothing', async (t) => {
  const chain = await startLocalChain();
  t.teardown(() => chain.stop());
  const service = await ServiceProcess.prepare(chain, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  await service.start();
  const { code, stderr } = await service.run(['serve']);
  t.equal(code, 1);
  t.match(stderr, /another process is using .*local/);
  const rest = new RestClient(service.httpUrl, service.apiKey);
  t.equal((await rest.get(`/orders?chainId=${chain.chainId}`)).status, 200, 'the first one serves on');
  t.equal(await service.end('SIGTERM'), 0);
});
