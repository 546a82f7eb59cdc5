import t from 'tap';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import { NOBODY, QuietChain, WalletRun } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());
const request = { to: NOBODY, data: '0x01' } as const;
const FAR = `0x${(2 ** 40).toString(16)}`;

t.test('where a node counts transactions that nobody has mined, nothing is sent until it counts right', async (t) => {
  const account = chain.newKey();
  const run = await WalletRun.start(chain, account);
  t.teardown(() => run.die());
  run.proxy.trick = ({ method, params }) =>
    method === 'eth_getTransactionCount' && params[1] === 'pending' ? { rewrite: () => FAR } : 'PASS';
  await t.rejects(run.wallet.send(request), ChainAnswerError);
  t.equal(run.values.values.size, 0);
  run.proxy.trick = () => 'PASS';
  await run.whileMining(chain, run.wallet.send(request));
  t.match(await chain.minedOf(account), [{ nonce: 0, data: '0x01' }]);
});

t.test('where it says the same of those that were mined, no gap is closed, and people hear of it', async (t) => {
  const account = chain.newKey();
  const run = await WalletRun.start(chain, account);
  t.teardown(() => run.die());
  run.proxy.trick = ({ method }) => (method === 'eth_getTransactionCount' ? { rewrite: () => FAR } : 'PASS');
  run.wallet.send(request).catch(() => undefined); // it is never mined
  await run.until(() => run.values.values.size === 1);
  run.proxy.trick = () => 'PASS';
  await run.until(() => run.troubles.some((what) => what.includes('a node must have counted wrong')));
  t.equal(run.values.values.size, 1, 'nothing else is meant to be sent');
  t.strictSame(await chain.minedOf(account), []);
});
