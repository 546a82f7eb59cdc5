import t from 'tap';
import { orderbookStreamAbi } from '../../src/chain/contracts/abi.js';
import { devClient } from '../../src/chain/dev/dev-client.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { RpcProxy, type Trick } from '../chain/rpc-proxy.js';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const client = devClient(chain.rpcUrl, chain.chainId);
const [pool] = chain.pools;
const [operator, maker] = chain.accounts;
if (!pool || !operator || !maker) throw new Error('The local chain lacks pools or accounts');

/** Times that a quote of this salt is on the stream. */
async function published(salt: number): Promise<number> {
  const events = await client.getContractEvents({
    address: chain.contracts.orderbookStream,
    abi: orderbookStreamAbi,
    eventName: 'PublishQuote',
    fromBlock: 0n,
  });
  return events.filter(({ args }) => args.salt === BigInt(salt)).length;
}

const deaths: Record<string, Trick> = {
  'signed, and no node has it': 'HANG',
  'with the node, whose answer never came': 'CUT_AFTER',
};

for (const [when, trick] of Object.entries(deaths)) {
  await t.test(`killed while a publication is ${when}, the service publishes it once after its restart`, async (t) => {
    t.setTimeout(120_000);
    const proxy = await RpcProxy.open(chain.rpcUrl);
    t.teardown(() => proxy.close());
    const endpoint = { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null };
    const profile = { ...chain.profile, settlement: endpoint, stream: endpoint };
    const service = await ServiceProcess.prepare({ ...chain, profile }, t.testdir());
    t.teardown(() => service.end('SIGKILL'));
    await service.start();

    const quote = await signQuote(maker.privateKey, pool);
    const sent = new Promise<void>((resolve) => {
      proxy.trick = ({ method }) => {
        if (method !== 'eth_sendRawTransaction') return 'PASS';
        resolve();
        return trick;
      };
    });
    const posted = new RestClient(service.httpUrl, service.apiKey).post('/quotes', [quote]).catch(() => 'broken');
    await sent;
    if (trick === 'CUT_AFTER') while ((await published(quote.salt)) === 0) await client.getBlockNumber();
    await service.end('SIGKILL');
    t.equal(await posted, 'broken');

    proxy.trick = () => 'PASS';
    await service.start();
    const rest = new RestClient(service.httpUrl, service.apiKey);
    const about = `/orders?chainId=${chain.chainId}&poolAddress=${pool.poolAddress}&provider=${maker.address}`;
    const shown = async () => ((await rest.get(about)).body.validQuotes as { salt: number }[]).map(({ salt }) => salt);
    while (!(await shown()).includes(quote.salt)) await client.getBlockNumber();
    const again = await rest.post('/quotes', [quote]);
    t.match(again.body, { created: [], failed: [], exists: [{ salt: quote.salt }] });
    t.equal(await published(quote.salt), 1);
    t.equal(await service.end('SIGTERM'), 0);
  });
}

await t.test('killed where a publication waits for confirmations, it publishes none of its quotes again', async (t) => {
  t.setTimeout(120_000);
  const stream = { ...chain.profile.stream, confirmations: 3 };
  const service = await ServiceProcess.prepare({ ...chain, profile: { ...chain.profile, stream } }, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  await service.start();
  const sign = () => signQuote(maker.privateKey, pool, { size: 10n ** 16n });
  const [first, second, third] = [await sign(), await sign(), await sign()];
  const post = (quotes: readonly unknown[]) => new RestClient(service.httpUrl, service.apiKey).post('/quotes', quotes);
  const posted = post([first, second]).catch(() => 'broken');
  while ((await published(second.salt)) === 0) await client.getBlockNumber();
  await service.end('SIGKILL');
  t.equal(await posted, 'broken');

  await service.start();
  const again = post([second, third]);
  while ((await published(third.salt)) === 0) await client.getBlockNumber();
  await client.mine({ blocks: 3 });
  t.match((await again).body, { created: [{ salt: second.salt }, { salt: third.salt }], failed: [] });
  t.strictSame(await Promise.all([first, second, third].map(({ salt }) => published(salt))), [1, 1, 1]);
  t.equal(await service.end('SIGTERM'), 0);
});
