import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { devClient } from '../../src/chain/dev/dev-client.js';
import { ONE, signQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { until } from '../until.js';

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const client = devClient(chain.rpcUrl, chain.chainId);
const [pool] = chain.pools;
const [, maker] = chain.accounts;
if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');

await t.test('POST /quotes answers when enough blocks follow the publication', async (t) => {
  const stream = { ...chain.profile.stream, confirmations: 3 };
  const running = await startTestService({ chain, profile: { ...chain.profile, stream } });
  t.teardown(() => running.stop());
  const rest = new RestClient(running.httpUrl, running.apiKey);
  const quote = await signQuote(maker.privateKey, pool, { size: ONE / 100n });
  const before = await client.getBlockNumber();
  const answered = { yet: false };
  const posted = rest.post('/quotes', [quote]).finally(() => (answered.yet = true));
  await until(async () => (await client.getBlockNumber()) !== before);
  for (let follows = 0; follows < 3; follows++) {
    const { body } = await rest.get(`/orders?chainId=${chain.chainId}&provider=${maker.address}`);
    t.strictSame(body.validQuotes, [], `${follows} blocks follow it`);
    t.equal(answered.yet, false);
    await client.mine({ blocks: 1 });
  }
  t.match(await posted, { status: 201, body: { created: [{ salt: quote.salt }] } });
});
