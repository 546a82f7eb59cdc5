import { writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { RestClient } from '../e2e/rest-client.js';
import { until } from '../until.js';
import { ServiceProcess } from './service-process.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const dataDir = t.testdir();
const config = path.join(dataDir, 'quotebook.json');
writeFileSync(config, JSON.stringify({ paidRequestsPerSecond: 300 }));
const service = await ServiceProcess.prepare(chain, dataDir, { QUOTEBOOK_CONFIG: config });
t.teardown(() => service.end('SIGKILL'));

/** The quota of requests that answers tell. */
async function requestsPerSecond(): Promise<number> {
  const { headers } = await new RestClient(service.httpUrl, service.apiKey).get('/orders?chainId=421613');
  return Number(/"requests";q=(\d+)/.exec(headers.get('ratelimit-policy') ?? '')?.[1]);
}

async function becomes(quota: number): Promise<void> {
  await until(async () => (await requestsPerSecond()) === quota);
}

await t.test('quotas are taken over from the settings file while the service runs', async (t) => {
  t.setTimeout(60_000);
  await service.start();
  t.equal(await requestsPerSecond(), 300);
  writeFileSync(config, JSON.stringify({ paidRequestsPerSecond: 400 }));
  await becomes(400);
  writeFileSync(config, '{"paidRequestsPerSecond": 0}');
  await until(() => service.said.includes('settings rejected'));
  t.equal(await requestsPerSecond(), 400, 'a file with something wrong in it changes nothing');
  writeFileSync(config, '{}');
  await becomes(20_000);
  t.equal(await service.end('SIGTERM'), 0);
});
