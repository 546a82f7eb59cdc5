import t from 'tap';
import type { BlockId } from '../../../src/chain/contracts/blocks-and-logs.js';
import { limits as defaultLimits } from '../../../src/config/limits.js';
import type { Hex } from '../../../src/engine/quote.js';
import { QuietChain, request, type WalletRun } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());

/**
 * A branch without the transaction of this data, and without those after it, which no node has any more. Resolves to the
 * last block that both branches have.
 */
async function takeBack(run: WalletRun, data: Hex): Promise<number> {
  const { number } = await chain.client.getBlock();
  const depth = Number(number) - Number(await blockOf(run, data)) + 1;
  await chain.client.request<{ Method: 'anvil_reorg'; Parameters: unknown[]; ReturnType: unknown }>({
    method: 'anvil_reorg',
    params: [depth, []],
  });
  for (const { hash } of await chain.poolOf(run.account)) await chain.client.dropTransaction({ hash });
  return Number(number) - depth;
}

await t.test('what a reorg takes back comes again as soon as the reorg is read, and is paid for once', async (t) => {
  const run = await chain.newRun(t);
  await run.whileMining(chain, run.wallet.send(request('0x1a')));
  await run.whileMining(chain, run.wallet.send(request('0x1b')));
  const ancestor = await takeBack(run, '0x1a');
  t.equal(await chain.client.getTransactionCount({ address: run.account.address }), 0, 'it is gone');
  run.wallet.onReorg(ancestor);
  await run.inPool(chain, 2);
  await chain.mine();
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x1a' },
    { nonce: 1, data: '0x1b' },
  ]);
  await run.until(async () => run.wallet.spending.spentWei === (await chain.paidBy(run.account)));
  run.wallet.onReorg(ancestor);
  await run.whileMining(chain, run.wallet.send(request('0x1c')));
  t.equal((await chain.minedOf(run.account)).length, 3, 'what is still there is not sent again');
});

await t.test('what a reorg takes back comes again under its own nonce when the next is sent', async (t) => {
  const run = await chain.newRun(t);
  await run.whileMining(chain, run.wallet.send(request('0x0a')));
  const mined = await chain.client.getTransactionCount({ address: run.account.address });
  t.equal(mined, 1);
  await takeBack(run, '0x0a');
  t.equal(await chain.client.getTransactionCount({ address: run.account.address }), 0, 'it is gone');
  await run.whileMining(chain, run.wallet.send(request('0x0b')));
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x0a' },
    { nonce: 1, data: '0x0b' },
  ]);
  // Nobody waits for what was taken back: its receipt may come later.
  await run.until(async () => run.wallet.spending.spentWei === (await chain.paidBy(run.account)));
});

await t.test(
  'what a reorg took back, and another signer then the place of, is sent anew; its first fee was not spent',
  async (t) => {
    const run = await chain.newRun(t);
    await run.whileMining(chain, run.wallet.send(request('0x1d')));
    run.wallet.onReorg(await takeBack(run, '0x1d'));
    const [ours] = await run.inPool(chain, 1);
    if (ours === undefined) throw new Error('It waits in the pool');
    await chain.client.dropTransaction({ hash: ours.hash });
    await chain.sendAsStranger(run.account, 0);
    await chain.mine();
    const strangerWei = await chain.paidBy(run.account);
    await run.inPool(chain, 1);
    await chain.mine();
    t.match(await chain.minedOf(run.account), [
      { nonce: 0, data: '0x57' },
      { nonce: 1, data: '0x1d' },
    ]);
    await run.until(async () => run.wallet.spending.spentWei === (await chain.paidBy(run.account)) - strangerWei);
  },
);

await t.test('so it is where the other has the place before anybody looks', async (t) => {
  const run = await chain.newRun(t);
  await run.whileMining(chain, run.wallet.send(request('0x1e')));
  const ancestor = await takeBack(run, '0x1e');
  await chain.sendAsStranger(run.account, 0);
  await chain.mine();
  const strangerWei = await chain.paidBy(run.account);
  run.wallet.onReorg(ancestor);
  run.wallet.onReorg(ancestor); // repeated, as while the book cannot take it
  await run.inPool(chain, 1);
  await chain.mine();
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x57' },
    { nonce: 1, data: '0x1e' },
  ]);
  await run.until(async () => run.wallet.spending.spentWei === (await chain.paidBy(run.account)) - strangerWei);
  t.equal((await chain.minedOf(run.account)).length, 2);
  t.strictSame(await chain.poolOf(run.account), [], 'it is sent anew once');
});

await t.test('where no node answers when it is to be sent anew, that is done once one does', async (t) => {
  const run = await chain.newRun(t);
  await run.whileMining(chain, run.wallet.send(request('0x25')));
  const ancestor = await takeBack(run, '0x25');
  await chain.sendAsStranger(run.account, 0);
  await chain.mine();
  let cuts = 4 * defaultLimits.rpcAttempts;
  run.proxy.trick = () => ((run.troubles.at(-1) ?? '').includes('another transaction') && cuts-- > 0 ? 'CUT' : 'PASS');
  run.wallet.onReorg(ancestor);
  await run.inPool(chain, 1);
  await chain.mine();
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x57' },
    { nonce: 1, data: '0x25' },
  ]);
});

await t.test('a repeated request joins the pending transaction', async (t) => {
  const run = await chain.newRun(t);
  await run.whileMining(chain, run.wallet.send(request('0x22')));
  run.wallet.onReorg(await takeBack(run, '0x22'));
  const receipt = await run.whileMining(chain, run.wallet.send(request('0x22')));
  t.ok(receipt.succeeded);
  t.equal((await chain.minedOf(run.account)).length, 1);
});

await t.test('so does who asks before the reorg is read', async (t) => {
  const run = await chain.newRun(t);
  await run.whileMining(chain, run.wallet.send(request('0x23')));
  await takeBack(run, '0x23');
  const receipt = await run.whileMining(chain, run.wallet.send(request('0x23')));
  t.ok(receipt.succeeded);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x23' }]);
  t.equal((await chain.minedOf(run.account)).length, 1);
});

await t.test('and who asks for what is in the new branch before anybody looks', async (t) => {
  const run = await chain.newRun(t);
  const first = await run.whileMining(chain, run.wallet.send(request('0x24')));
  run.wallet.onReorg(first.blockNumber - 1);
  const receipt = await run.whileMining(chain, run.wallet.send(request('0x24')));
  t.equal(receipt.txHash, first.txHash);
  t.equal((await chain.minedOf(run.account)).length, 1);
});

await t.test('where no node answers just then, it comes again once one does', async (t) => {
  const run = await chain.newRun(t);
  await run.whileMining(chain, run.wallet.send(request('0x1f')));
  const ancestor = await takeBack(run, '0x1f');
  const asked = (): number => run.proxy.requests.filter(({ method }) => method === 'eth_getTransactionCount').length;
  const before = asked();
  run.proxy.trick = () => 'CUT';
  run.wallet.onReorg(ancestor);
  await run.until(() => asked() >= before + defaultLimits.rpcAttempts);
  const again = run.wallet.send(request('0x1f'));
  run.proxy.trick = () => 'PASS';
  await run.inPool(chain, 1);
  await run.whileMining(chain, again);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x1f' }]);
  t.equal((await chain.minedOf(run.account)).length, 1, 'a request meanwhile joins it');
});

await t.test('what was taken back before its block was read comes again when reading has come there', async (t) => {
  const run = await chain.newRun(t);
  run.wallet.onRead(await newestBlock());
  await run.whileMining(chain, run.wallet.send(request('0x23')));
  await takeBack(run, '0x23');
  await chain.mine();
  run.wallet.onRead(await newestBlock());
  await run.inPool(chain, 1);
  await chain.mine();
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x23' }]);
  await run.until(async () => run.wallet.spending.spentWei === (await chain.paidBy(run.account)));
  run.wallet.onRead(await newestBlock());
  await run.whileMining(chain, run.wallet.send(request('0x24')));
  t.equal((await chain.minedOf(run.account)).length, 2, 'what is still there is not sent again');
});

await t.test('what stands in an older block is left alone', async (t) => {
  const run = await chain.newRun(t);
  const { blockNumber } = await run.whileMining(chain, run.wallet.send(request('0x20')));
  const before = run.proxy.requests.length;
  run.wallet.onReorg(blockNumber);
  await run.whileMining(chain, run.wallet.send(request('0x21')));
  const counted = run.proxy.requests
    .slice(before)
    .flatMap(({ method, params }) => (method === 'eth_getTransactionCount' ? [params[1]] : []));
  t.strictSame(counted, ['pending'], 'nobody asks whether its nonce is used');
});

async function newestBlock(): Promise<BlockId> {
  const { number, hash } = await chain.client.getBlock();
  return { blockNumber: Number(number), blockHash: hash };
}

async function blockOf({ account }: WalletRun, data: Hex): Promise<bigint> {
  for (let number = await chain.client.getBlockNumber(); number > 0n; number--) {
    const { transactions } = await chain.client.getBlock({ blockNumber: number, includeTransactions: true });
    const isIt = transactions.some((tx) => tx.from === account.address.toLowerCase() && tx.input === data);
    if (isIt) return number;
  }
  throw new Error('It is in no block');
}
