import t from 'tap';
import { QuietChain, request } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());

await t.test('a nonce that the node refuses, since another waits under it, leaves no gap', async (t) => {
  const run = await chain.newRun(t);
  await chain.sendAsStranger(run.account, 0, 10n ** 12n);
  run.proxy.trick = ({ method, params }) =>
    method === 'eth_getTransactionCount' && params[1] === 'pending' ? { rewrite: () => '0x0' } : 'PASS';
  const sent = run.wallet.send(request('0x01'));
  const [, ours] = await run.inPool(chain, 2);
  t.match(ours, { nonce: 1, data: '0x01' });
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x57' },
    { nonce: 1, data: '0x01' },
  ]);
});

await t.test('after a nonce that was used meanwhile the chain is asked for the next, however far it is', async (t) => {
  const run = await chain.newRun(t);
  const prepared = run.wallet.prepare(request('0x02'));
  await Promise.all([prepared.gas, prepared.fees]);
  for (let nonce = 0; nonce < 6; nonce++) await chain.sendAsStranger(run.account, nonce);
  await chain.mine();
  await run.whileMining(chain, run.wallet.send(request('0x02'), prepared));
  t.match((await chain.minedOf(run.account)).at(-1), { nonce: 6, data: '0x02' });
});
