import t, { type Test } from 'tap';
import type { PrivateKeyAccount } from 'viem/accounts';
import { encodeAdd, quoteDigits } from '../../../src/chain/contracts/abi-encoding.js';
import { type OrphanOutcome, OrphanIndex } from '../../../src/chain/wallet/orphaned-txs.js';
import type { TxReceipt } from '../../../src/chain/wallet/transaction.js';
import type { Hex, SignedQuote } from '../../../src/engine/quote.js';
import { sampleQuote } from '../../engine/samples.js';
import { QuietChain, request, WalletRun } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());

const [first, second, third] = [sampleQuote({ n: 1 }), sampleQuote({ n: 2 }), sampleQuote({ n: 3 })];
const published = encodeAdd([first, second]);

/** A process that sent this and died before it was mined: its client had no answer. */
async function leave(account: PrivateKeyAccount, data: Hex): Promise<WalletRun> {
  const first = await WalletRun.start(chain, account);
  first.wallet.send(request(data)).catch(() => undefined);
  await first.until(async () => (await chain.poolOf(account)).length === 1);
  first.die();
  return first;
}

/** The next process, which has not taken up yet what the last one left. */
async function nextRun(t: Test, last: WalletRun): Promise<WalletRun> {
  const next = await WalletRun.start(chain, last.account, last.values.reopened());
  t.teardown(() => next.die());
  return next;
}

await t.test("a repeated request joins an earlier run's pending transaction, and the wallet pays once", async (t) => {
  const account = chain.newKey();
  const second = await nextRun(t, await leave(account, '0x01'));
  second.wallet.resume();
  await second.until(() => second.troubles.length > 0);
  const answers = [second.wallet.send(request('0x01')), second.wallet.send(request('0x01'))];
  const other = second.wallet.send(request('0x02'));
  const receipts = await second.whileMining(chain, Promise.all([...answers, other]));
  t.strictSame(receipts[0], receipts[1]);
  t.match(await chain.minedOf(account), [
    { nonce: 0, data: '0x01' },
    { nonce: 1, data: '0x02' },
  ]);
  await second.whileMining(chain, second.wallet.send(request('0x01')));
  const mined = await chain.minedOf(account);
  t.match(mined[2], { nonce: 2, data: '0x01' }, 'what was mined is no longer on its way');
  t.equal(mined.length, 3);
});

await t.test('it is found by each quote that it publishes until its block has been read', async (t) => {
  const run = await nextRun(t, await leave(chain.newKey(), published));
  let readTo = 0;
  const find = (quote: SignedQuote) =>
    run.wallet.orphanWith(
      () => quoteDigits(quote),
      (blockNumber) => blockNumber <= readTo,
    );
  t.equal(find(second), undefined, 'nothing is known of it yet');
  run.wallet.resume();
  t.equal(find(third), undefined);
  const receipt = await run.whileMining(chain, Promise.resolve(find(second)));
  t.match(receipt, { succeeded: true });
  const { blockNumber, blockHash } = receipt ?? { blockNumber: 0, blockHash: '0x' as const };
  run.wallet.onRead({ blockNumber, blockHash });
  t.strictSame(await find(first), receipt, 'one of two readers of the same chain may be behind');
  readTo = blockNumber;
  t.equal(find(second), undefined);
  readTo = 0;
  run.wallet.onRead({ blockNumber: blockNumber + 64, blockHash: '0x' });
  t.equal(find(second), undefined, 'too deep to be kept');
});

await t.test('so it is where it was mined before this run', async (t) => {
  const earlier = await leave(chain.newKey(), published);
  await chain.mine();
  const run = await nextRun(t, earlier);
  run.wallet.resume();
  const find = () =>
    run.wallet.orphanWith(
      () => quoteDigits(second),
      () => false,
    );
  const receipt = await run.whileMining(chain, Promise.resolve(find()));
  t.match(receipt, { succeeded: true });
  t.strictSame(await find(), receipt);
});

/** What is left of one that publishes two quotes, after each of these ends; all its blocks are still to be read. */
async function leftAfter(...receipts: (Partial<TxReceipt> | null)[]) {
  const left = new OrphanIndex(64);
  for (const receipt of receipts) {
    const end = Promise.resolve({ receipt, wasThere: false } as OrphanOutcome);
    left.add(request(published), end);
    await end;
  }
  return left.findWith(
    () => quoteDigits(first),
    () => false,
  );
}

await t.test('what reverted is not joined once that is known', async (t) => {
  t.match(await leftAfter({ blockNumber: 7, succeeded: true }), { blockNumber: 7 });
  t.equal(await leftAfter({ blockNumber: 7, succeeded: false }), undefined);
});

await t.test('nor what was mined, taken back and then given up', async (t) => {
  t.equal(await leftAfter({ blockNumber: 7, succeeded: true }, null), undefined);
});

await t.test('a thousand quotes are looked for in full transactions in no time', (t) => {
  const left = new OrphanIndex(64);
  for (let tx = 0; tx < 16; tx++) {
    const quotes = Array.from({ length: 175 }, (_, i) => sampleQuote({ n: 175 * tx + i }));
    left.add(request(encodeAdd(quotes)), new Promise(() => undefined));
  }
  const wanted = Array.from({ length: 1_000 }, (_, i) => quoteDigits(sampleQuote({ n: 10_000 + i })));
  const begun = process.cpuUsage();
  for (const digits of wanted) {
    left.findWith(
      () => digits,
      () => false,
    );
  }
  // Of 1,600 that a search through their calldata takes.
  t.ok(process.cpuUsage(begun).user < 300_000);
  t.end();
});

await t.test('nor is it paid for twice before the node has said what became of it', async (t) => {
  const account = chain.newKey();
  const second = await nextRun(t, await leave(account, '0x01'));
  second.wallet.resume();
  const again = second.wallet.send(request('0x01'));
  await second.until(() => second.troubles.length > 0);
  await second.whileMining(chain, again);
  t.equal((await chain.minedOf(account)).length, 1);
});

await t.test('nor where the node does not say so when it is asked first', async (t) => {
  const account = chain.newKey();
  const second = await nextRun(t, await leave(account, '0x01'));
  const error = { code: -32000, message: 'header not found' };
  let asked = 0;
  second.proxy.trick = ({ method }) => (method === 'eth_getTransactionCount' && asked++ === 0 ? { error } : 'PASS');
  second.wallet.resume();
  await second.until(() => asked > 0);
  await second.whileMining(chain, second.wallet.send(request('0x01')));
  t.equal((await chain.minedOf(account)).length, 1);
});

await t.test('nor where another signer overtook it', async (t) => {
  const account = chain.newKey();
  const first = await leave(account, '0x01');
  for (const { hash } of await chain.poolOf(account)) await chain.client.dropTransaction({ hash });
  await chain.sendAsStranger(account, 0);
  await chain.mine();
  const second = await nextRun(t, first);
  second.wallet.resume();
  await second.whileMining(chain, second.wallet.send(request('0x01')));
  // Time enough to take its nonce for the other signer's, and to send it anew.
  await second.until(async () => {
    await chain.mine();
    return second.clock.monotonicMs() > 60_000;
  });
  t.match(await chain.minedOf(account), [
    { nonce: 0, data: '0x57' },
    { nonce: 1, data: '0x01' },
  ]);
  t.equal((await chain.minedOf(account)).length, 2);
});

await t.test('what was mined before this run is not joined: who asks for the same means another one', async (t) => {
  const account = chain.newKey();
  const first = await leave(account, '0x01');
  await chain.mine();
  const second = await nextRun(t, first);
  second.wallet.resume();
  await second.whileMining(chain, second.wallet.send(request('0x01')));
  t.match(await chain.minedOf(account), [
    { nonce: 0, data: '0x01' },
    { nonce: 1, data: '0x01' },
  ]);
});

t.test('one that is given up takes no later one of the same purpose with it, however that is written', async (t) => {
  const left = new OrphanIndex(64);
  const [to, data] = [`0x${'ab'.repeat(20)}`, published] as const;
  left.add({ to, data }, Promise.resolve({ receipt: null, wasThere: false }));
  const receipt = { succeeded: true, blockNumber: 1 } as TxReceipt;
  left.add({ to, data }, Promise.resolve({ receipt, wasThere: false }));
  const found = left.find({ to: `0x${'AB'.repeat(20)}`, data });
  t.equal(await found, receipt);
  t.ok(
    left.findWith(
      () => quoteDigits(first),
      () => false,
    ),
    'its block is still to be read',
  );
});
