import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

t.setTimeout(120_000);

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const [, maker] = chain.accounts;
const [pool] = chain.pools;
if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
const newQuote = () => signQuote(maker.privateKey, pool);

const budgets = {
  'quotes of a key': { QUOTEBOOK_PAID_QUOTES_PER_DAY: '2' },
  'gas of a key': { QUOTEBOOK_PAID_GAS_PER_DAY: '50000' },
  'spending of a wallet': { QUOTEBOOK_WALLET_SPEND_PER_DAY_GWEI: '1' },
};
for (const [name, settings] of Object.entries(budgets)) {
  await t.test(`${name}: what a killed process has used of the day, the next one does not have`, async (t) => {
    const service = await ServiceProcess.prepare(chain, t.testdir(), settings);
    t.teardown(() => service.end('SIGKILL'));
    await service.start();
    const before = new RestClient(service.httpUrl, service.apiKey);
    t.equal((await before.post('/quotes', await Promise.all([newQuote(), newQuote()]))).status, 201);
    await service.end('SIGKILL');

    await service.start();
    const after = new RestClient(service.httpUrl, service.apiKey);
    const refused = await after.post('/quotes', [await newQuote()]);
    t.equal(refused.status, 429);
    t.match(
      refused.headers.get('retry-after'),
      /^8(6400|[56]\d\d\d)$/,
      'until the day ends that began before the kill',
    );
    // Before the directory is removed, which comes before what is registered for the end.
    await service.end('SIGKILL');
  });
}
