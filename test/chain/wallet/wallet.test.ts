import t from 'tap';
import { RpcError } from '../../../src/chain/rpc/rpc-errors.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import {
  InsufficientFunds,
  SpendCapReached,
  TxRefused,
  WalletBusy,
  WalletStopped,
} from '../../../src/chain/wallet/errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { QuietChain, request, WalletRun } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());

/** Nitro's words, and its code. */
const UNDERPRICED = { code: -32000, message: 'max fee per gas less than block base fee' };

await t.test('a transaction that the node drops is sent again under its nonce for an eighth more', async (t) => {
  const run = await chain.newRun(t);
  const sent = run.wallet.send(request('0x01'));
  const [first] = await run.inPool(chain, 1);
  if (first === undefined) throw new Error('It waits in the pool');
  await chain.client.dropTransaction({ hash: first.hash });
  t.equal((await chain.poolOf(run.account)).length, 0);
  const [again] = await run.inPool(chain, 1);
  t.match(again, { nonce: first.nonce, data: '0x01' });
  t.ok((again?.maxFeePerGas ?? 0n) >= (first.maxFeePerGas * 9n) / 8n);
  const receipt = await run.whileMining(chain, sent);
  t.equal(receipt.txHash, again?.hash);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x01' }]);
});

await t.test('one that the wallet has no money to offer more for is sent again as it was', async (t) => {
  const run = await chain.newRun(t);
  const sent = run.wallet.send({ ...request('0x03'), gas: 50_000n });
  const [first] = await run.inPool(chain, 1);
  if (first === undefined) throw new Error('It waits in the pool');
  const { address } = run.account;
  await chain.client.setBalance({ address, value: first.maxFeePerGas * 50_000n });
  await chain.client.dropTransaction({ hash: first.hash });
  await run.until(() => run.troubles.some((what) => /refused: .*insufficient funds/i.test(what)));
  const [again] = await run.inPool(chain, 1);
  t.strictSame(again, first);
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x03' }]);
});

await t.test('one that the base fee outruns is sent again for what the chain asks', async (t) => {
  const run = await chain.newRun(t);
  const sent = run.wallet.send(request('0x02'));
  const [first] = await run.inPool(chain, 1);
  const baseFee = (first?.maxFeePerGas ?? 0n) * 3n;
  await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: baseFee });
  await chain.mine();
  t.strictSame(await chain.minedOf(run.account), [], 'it can pay for no block now');
  await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: baseFee });
  await run.until(async () => ((await chain.poolOf(run.account))[0]?.maxFeePerGas ?? 0n) > baseFee);
  t.equal((await run.whileMining(chain, sent)).succeeded, true);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x02' }]);
  await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 10n ** 9n });
  await chain.mine();
});

await t.test('one that the node finds underpriced is offered for more at once', async (t) => {
  const run = await chain.newRun(t);
  let refusals = 0;
  run.proxy.trick = ({ method }) =>
    method === 'eth_sendRawTransaction' && refusals++ < 2 ? { error: UNDERPRICED } : 'PASS';
  const sent = run.wallet.send(request('0x03'));
  const [taken] = await run.inPool(chain, 1);
  const [intent] = [...run.values.values.values()] as { fees: [string, string][] }[];
  t.equal(intent?.fees.length, 3);
  t.ok((taken?.maxFeePerGas ?? 0n) >= (BigInt(intent?.fees[0]?.[0] ?? 0) * 81n) / 64n, 'twice an eighth more');
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x03' }]);
});

await t.test('one that the node takes at no price is reported, and its nonce is free', async (t) => {
  const run = await chain.newRun(t);
  run.proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? { error: UNDERPRICED } : 'PASS');
  await t.rejects(run.wallet.send(request('0x04')), TxRefused);
  t.equal(run.values.values.size, 0, 'no restart will send it');
  run.proxy.trick = () => 'PASS';
  await run.whileMining(chain, run.wallet.send(request('0x05')));
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x05' }]);
});

await t.test("reports the node's refusal to the operator and to the caller", async (t) => {
  const run = await chain.newRun(t);
  const error = { code: -32_099, message: 'project 0a1b2c is over its limit' };
  for (const refused of ['eth_estimateGas', 'eth_sendRawTransaction']) {
    run.proxy.trick = ({ method }) => (method === refused ? { error } : 'PASS');
    await t.rejects(run.wallet.send(request('0x06')), new RpcError(error.code, error.message, undefined));
  }
  const trouble = `null: not sent: ${error.message}`;
  t.strictSame(run.troubles, [trouble, trouble]);
});

await t.test(
  'a node that answers a question of numbers with nothing is refused in words, and no nonce is taken',
  async (t) => {
    const run = await chain.newRun(t);
    for (const empty of ['eth_estimateGas', 'eth_gasPrice', 'eth_getTransactionCount']) {
      run.proxy.trick = ({ method }) => (method === empty ? { rewrite: () => null } : 'PASS');
      await t.rejects(run.wallet.send(request('0x07')), ChainAnswerError, empty);
    }
    t.equal(run.values.values.size, 0);
  },
);

await t.test('while the node estimates the gas, it is asked for fees and nonce', async (t) => {
  const run = await chain.newRun(t);
  const asked = new Set<string>();
  run.proxy.trick = ({ method }) => {
    asked.add(method);
    return method === 'eth_estimateGas' ? 'HANG' : 'PASS';
  };
  run.wallet.send(request('0x05')).catch(() => undefined);
  await run.until(() => ['eth_estimateGas', 'eth_gasPrice', 'eth_getTransactionCount'].every((one) => asked.has(one)));
  t.notOk(asked.has('eth_sendRawTransaction'));
  t.strictSame(await chain.poolOf(run.account), []);
});

await t.test('what was prepared is sent without another question to the node', async (t) => {
  const run = await chain.newRun(t);
  const means = run.wallet.prepare(request('0x11'));
  await Promise.all([means.gas, means.fees]);
  const asked = countedMethods(run);
  const sent = run.wallet.send(request('0x11'), means);
  await run.inPool(chain, 1);
  for (const method of ['eth_estimateGas', 'eth_gasPrice', 'eth_maxPriorityFeePerGas', 'eth_getTransactionCount']) {
    t.equal(asked.get(method), undefined, method);
  }
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x11' }]);
});

await t.test('what is mined after another was prepared is not taken for taken back by a reorg', async (t) => {
  const run = await chain.newRun(t);
  const means = run.wallet.prepare(request('0x12'));
  await Promise.all([means.gas, means.fees]);
  await run.whileMining(chain, run.wallet.send(request('0x13')));
  const asked = countedMethods(run);
  await run.whileMining(chain, run.wallet.send(request('0x12'), means));
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x13' },
    { nonce: 1, data: '0x12' },
  ]);
  t.equal(asked.get('eth_getTransactionCount'), undefined, 'nobody asks whether the first nonce is used');
});

await t.test('one that no block takes is neither given up nor raised without end', async (t) => {
  const run = await chain.newRun(t);
  const sent = run.wallet.send(request('0x06'));
  await run.inPool(chain, 1);
  await run.until(() => run.troubles.length >= 12);
  const [stuck] = await chain.poolOf(run.account);
  t.equal(run.troubles.filter((trouble) => trouble === '0: not mined: sent again for more').length, 3);
  const [intent] = [...run.values.values.values()] as { fees: [string, string][] }[];
  t.equal(stuck?.maxFeePerGas, BigInt(intent?.fees.at(-1)?.[0] ?? 0), 'the last version waits there');
  t.equal(intent?.fees.length, 4);
  await run.whileMining(chain, sent);
  t.equal((await chain.minedOf(run.account)).length, 1);
});

await t.test('where another signer of the key took the nonce, it is sent anew under the next', async (t) => {
  const run = await chain.newRun(t);
  const sent = run.wallet.send(request('0x07'));
  const [ours] = await run.inPool(chain, 1);
  if (ours === undefined) throw new Error('It waits in the pool');
  await chain.client.dropTransaction({ hash: ours.hash });
  await chain.sendAsStranger(run.account, 0);
  await chain.mine();
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x57' },
    { nonce: 1, data: '0x07' },
  ]);
  t.ok(run.troubles.includes('0: another transaction of the same key was mined under its nonce'));
});

await t.test("another signer's transaction that still waits keeps its nonce", async (t) => {
  const run = await chain.newRun(t);
  await chain.sendAsStranger(run.account, 0, 10n ** 10n);
  const sent = run.wallet.send(request('0x08'));
  await run.inPool(chain, 2);
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [
    { nonce: 0, data: '0x57' },
    { nonce: 1, data: '0x08' },
  ]);
});

await t.test('an endpoint that asks for a fortune does not get it', async (t) => {
  const run = await chain.newRun(t, { maxFeePerGas: 20n * 10n ** 9n });
  run.proxy.trick = ({ method }) =>
    method === 'eth_gasPrice' || method === 'eth_maxPriorityFeePerGas'
      ? { rewrite: () => '0xde0b6b3a7640000' }
      : 'PASS';
  const sent = run.wallet.send(request('0x0e'));
  await run.until(() => run.troubles.length >= 3);
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x0e', maxFeePerGas: 20n * 10n ** 9n }]);
});

await t.test('when the answer to a sending is lost, it is sent once all the same', async (t) => {
  const run = await chain.newRun(t);
  run.proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? 'CUT_AFTER' : 'PASS');
  const sent = run.wallet.send(request('0x0c'));
  await run.whileMining(chain, sent);
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x0c' }]);
});

await t.test('a node that tells of receipts late does not make it sent twice', async (t) => {
  const run = await chain.newRun(t);
  const isLate = (): boolean => run.clock.monotonicMs() < 15_000;
  run.proxy.trick = ({ method }) =>
    method === 'eth_getTransactionReceipt' && isLate() ? { rewrite: () => null } : 'PASS';
  const sent = run.wallet.send(request('0x0d'));
  await run.inPool(chain, 1);
  await chain.mine();
  await run.whileMining(chain, sent);
  t.notOk(isLate(), 'it was long past the time to send again');
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x0d' }]);
});

await t.test('a node that tells of no receipt for a fault of its own does not make it sent twice', async (t) => {
  const run = await chain.newRun(t);
  // Geth's words while it looks through its blocks after a start.
  const error = { code: -32000, message: 'transaction indexing is in progress' };
  const isWell = (): boolean => run.clock.monotonicMs() > 45_000;
  run.proxy.trick = ({ method }) => (method === 'eth_getTransactionReceipt' && !isWell() ? { error } : 'PASS');
  const sent = run.wallet.send(request('0x0f'));
  await run.inPool(chain, 1);
  await chain.mine();
  await run.whileMining(chain, sent);
  t.ok(isWell());
  t.equal((await chain.minedOf(run.account)).length, 1);
  t.strictSame(run.troubles, []);
});

await t.test('nor does a node that is behind, and takes over from the one that told of the nonce', async (t) => {
  const run = await chain.newRun(t);
  let looks = 0;
  const isWell = (): boolean => run.clock.monotonicMs() > 45_000;
  run.proxy.trick = ({ method, params }) => {
    if (isWell()) return 'PASS';
    if (method === 'eth_getTransactionReceipt') return { rewrite: () => null };
    const isLook = method === 'eth_getTransactionCount' && params[1] === 'latest';
    return isLook && looks++ > 0 ? { rewrite: () => '0x0' } : 'PASS';
  };
  const sent = run.wallet.send(request('0x0f'));
  await run.inPool(chain, 1);
  await chain.mine();
  await run.whileMining(chain, sent);
  t.ok(looks > 1);
  t.equal((await chain.minedOf(run.account)).length, 1);
  t.notOk(run.troubles.includes('0: another transaction of the same key was mined under its nonce'));
});

await t.test('many at once take nonces without a gap, each mined once, no more than allowed under way', async (t) => {
  const run = await chain.newRun(t, { inFlight: 4, waiting: 6 });
  const sent = Array.from({ length: 10 }, (_, n) => run.wallet.send(request(`0x1${n}`)));
  await run.inPool(chain, 4);
  await t.rejects(run.wallet.send(request('0xff')), WalletBusy);
  await run.whileMining(chain, Promise.all(sent));
  const mined = await chain.minedOf(run.account);
  t.strictSame(
    mined.map(({ nonce }) => nonce),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  t.equal(new Set(mined.map(({ data }) => data)).size, 10);
});

await t.test('a wallet without money says so, and takes no nonce', async (t) => {
  const run = await chain.newRun(t);
  const balance = await chain.client.getBalance({ address: run.account.address });
  await chain.client.setBalance({ address: run.account.address, value: 1n });
  await t.rejects(run.wallet.send({ ...request('0x20'), gas: 50_000n }), InsufficientFunds);
  t.equal(run.values.values.size, 0);
  await chain.client.setBalance({ address: run.account.address, value: balance });
  await run.whileMining(chain, run.wallet.send(request('0x21')));
  t.match(await chain.minedOf(run.account), [{ nonce: 0, data: '0x21' }]);
});

await t.test('a wallet that is stopped lets go of everybody who waits', async (t) => {
  const run = await WalletRun.start(chain, chain.newKey(), undefined, { inFlight: 1 });
  t.teardown(() => run.proxy.close());
  const sent = [run.wallet.send(request('0x30')), run.wallet.send(request('0x31'))];
  await run.inPool(chain, 1);
  run.wallet.stop();
  // Time goes on: a request to the node that is between two tries ends with its pause.
  let settled = false;
  void Promise.allSettled(sent).then(() => (settled = true));
  await run.until(() => settled);
  for (const one of sent) await t.rejects(one, WalletStopped);
  t.equal(run.values.values.size, 1, 'and the next run goes on with what was sent');
});

await t.test('nothing of what waits for a place is sent once the cap is reached', async (t) => {
  const run = await WalletRun.start(chain, chain.newKey(), undefined, { inFlight: 1 }, undefined, 1n);
  t.teardown(() => run.die());
  const sent = ['0x01', '0x02', '0x03', '0x04'].map((data) => run.wallet.send(request(data as Hex)));
  const outcomes = await run.whileMining(chain, Promise.allSettled(sent));
  t.strictSame(
    outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason instanceof SpendCapReached),
    [false, true, true, true],
  );
  t.equal((await chain.minedOf(run.account)).length, 1, 'what was under way is paid for');
  t.strictSame(await chain.poolOf(run.account), []);
});

/** How often the node is asked for what, from now on. */
function countedMethods(run: WalletRun): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  run.proxy.trick = ({ method }) => {
    counts.set(method, (counts.get(method) ?? 0) + 1);
    return 'PASS';
  };
  return counts;
}
