import t, { type Test } from 'tap';
import type { Wallet } from '../../../src/chain/wallet/wallet.js';
import { NOBODY, QuietChain, request, type WalletRun } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());

/** Its node tells of receipts as `rewrite` has it. */
async function lyingRun(t: Test, rewrite: (receipt: Record<string, unknown> | null) => unknown): Promise<WalletRun> {
  const run = await chain.newRun(t);
  run.proxy.trick = ({ method }) =>
    method === 'eth_getTransactionReceipt' ? { rewrite: (receipt) => rewrite(receipt as never) } : 'PASS';
  return run;
}

/** Sends, and lets the node speak falsely until a few receipts have been asked for. */
async function sentMeanwhile(
  run: WalletRun,
  isMining: boolean,
): Promise<{ sent: ReturnType<Wallet['send']>; isSettled: boolean }> {
  const sent = run.wallet.send(request('0x01'));
  sent.catch(() => undefined);
  let isSettled = false;
  void sent.finally(() => (isSettled = true)).catch(() => undefined);
  const asked = () => run.proxy.requests.filter(({ method }) => method === 'eth_getTransactionReceipt').length;
  await run.until(async () => {
    if (isMining) await chain.mine();
    return asked() >= 5 || isSettled;
  });
  return { sent, isSettled };
}

t.test("another transaction's receipt says nothing of ours", async (t) => {
  const other = await chain.sendAsStranger(chain.newKey(), 0);
  await chain.mine();
  const theirs = { ...(await chain.client.request({ method: 'eth_getTransactionReceipt', params: [other] })) };
  const run = await lyingRun(t, () => theirs);
  const { sent, isSettled } = await sentMeanwhile(run, false);
  t.equal(isSettled, false, 'ours waits in the pool');
  run.proxy.trick = () => 'PASS';
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x01' }]);
});

t.test('rejects a receipt without a status: the transaction would be sent and paid twice', async (t) => {
  for (const status of [undefined, null, '0x', '0x2', 'success']) {
    const run = await lyingRun(t, (receipt) => receipt && { ...receipt, status });
    const { sent } = await sentMeanwhile(run, true);
    run.proxy.trick = () => 'PASS';
    t.equal((await run.whileMining(chain, sent)).succeeded, true, `status ${status}`);
  }
});

t.test('no transaction costs more than it offered, whatever a node says', async (t) => {
  const far = `0x${'f'.repeat(60)}`;
  const run = await lyingRun(t, (receipt) => receipt && { ...receipt, gasUsed: '0xfffffffff', effectiveGasPrice: far });
  const { gasUsed, feeWei } = await run.whileMining(chain, run.wallet.send({ to: NOBODY, data: '0x01', gas: 50_000n }));
  const [tx] = await chain.minedOf(run.account);
  t.equal(gasUsed, 50_000n);
  t.equal(feeWei, 50_000n * (tx?.maxFeePerGas ?? 0n));
  t.equal(run.wallet.spending.spentWei, feeWei);
});
