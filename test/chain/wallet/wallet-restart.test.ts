import t, { type Test } from 'tap';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Hex } from '../../../src/engine/quote.js';
import { MemoryKeyValueStore } from '../memory-key-value-store.js';
import { QuietChain, request, WalletRun } from '../wallet-fixture.js';

const chain = await QuietChain.start();
t.teardown(() => chain.anvil.stop());

/** The next process, which takes up what the last one left. */
async function goOn(t: Test, account: PrivateKeyAccount, last: WalletRun): Promise<WalletRun> {
  const next = await WalletRun.start(chain, account, last.values.reopened());
  t.teardown(() => next.die());
  next.wallet.resume();
  return next;
}

/** Remembers everything that a nonce was ever said to be for. */
class WatchedValues extends MemoryKeyValueStore {
  readonly purposes = new Map<string, Set<unknown>>();

  override put(key: string, value: unknown): Promise<void> {
    const { data } = value as { data: Hex };
    this.purposes.set(key, (this.purposes.get(key) ?? new Set()).add(data));
    return super.put(key, value);
  }
}

interface Crash {
  /** Plays the crash: nothing that happens after it is to reach anybody. Resolves when the process is at that point. */
  readonly reached: (run: WalletRun) => Promise<unknown>;
  readonly prepare: (run: WalletRun) => void;
  readonly account?: (account: PrivateKeyAccount, atSigning: () => void) => PrivateKeyAccount;
}

const asked = (run: WalletRun, method: string) => () => run.proxy.requests.some((request) => request.method === method);

const crashes: Record<string, Crash> = {
  'before it is written down': {
    prepare: (run) => (run.values.put = () => new Promise(() => undefined)),
    reached: (run) =>
      run.until(() => run.proxy.requests.filter(({ method }) => method === 'eth_getTransactionCount').length > 0),
  },
  'after it is written down, before it is signed': {
    prepare: (run) => (run.proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? 'HANG' : 'PASS')),
    account: (account) => ({ ...account, sign: () => new Promise(() => undefined) }),
    reached: (run) => run.until(() => run.values.values.size === 1),
  },
  'after it is signed, before the node has it': {
    prepare: (run) => (run.proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? 'HANG' : 'PASS')),
    reached: (run) => run.until(asked(run, 'eth_sendRawTransaction')),
  },
  'after the node has it, before its answer': {
    prepare: (run) => (run.proxy.trick = ({ method }) => (method === 'eth_sendRawTransaction' ? 'CUT_AFTER' : 'PASS')),
    reached: (run) => run.until(async () => (await chain.poolOf(run.account)).length === 1),
  },
  'after it was sent, before its receipt': {
    prepare: () => undefined,
    reached: (run) => run.until(asked(run, 'eth_getTransactionReceipt')),
  },
  'after it was sent again for more': {
    prepare: () => undefined,
    reached: (run) => run.until(() => run.troubles.includes('0: not mined: sent again for more')),
  },
  'after it was mined, before that was seen': {
    prepare: (run) =>
      (run.proxy.trick = ({ method }) => (method === 'eth_getTransactionReceipt' ? { rewrite: () => null } : 'PASS')),
    async reached(run) {
      await run.until(asked(run, 'eth_getTransactionReceipt'));
      await chain.mine();
    },
  },
  'after a node has dropped it': {
    prepare: () => undefined,
    async reached(run) {
      await run.until(asked(run, 'eth_getTransactionReceipt'));
      for (const { hash } of await chain.poolOf(run.account)) await chain.client.dropTransaction({ hash });
    },
  },
};

for (const [when, { prepare, reached, account: tamper }] of Object.entries(crashes)) {
  await t.test(
    `a process that dies ${when} leaves no nonce with two purposes, and nothing is mined twice`,
    async (t) => {
      const account = chain.newKey();
      const values = new WatchedValues();
      const first = await WalletRun.start(chain, tamper?.(account, () => undefined) ?? account, values);
      prepare(first);
      first.wallet.send(request('0x01')).catch(() => undefined); // the run ends before the outcome
      await reached(first);
      const wasWritten = values.values.size > 0;
      first.die();

      const next = new WatchedValues(values.values);
      const second = await WalletRun.start(chain, account, next, {}, first.spent.reopened());
      t.teardown(() => second.die());
      second.wallet.resume();
      const receipt = await second.whileMining(chain, second.wallet.send(request('0x02')));
      t.ok(receipt.succeeded);
      const mined = await chain.minedOf(account);
      t.match(
        mined,
        wasWritten
          ? [
              { nonce: 0, data: '0x01' },
              { nonce: 1, data: '0x02' },
            ]
          : [{ nonce: 0, data: '0x02' }],
      );
      t.equal(mined.length, wasWritten ? 2 : 1);
      const paid = await chain.paidBy(account);
      await second.until(() => second.wallet.spending.spentWei === paid);
      for (const nonce of [...values.purposes.keys(), ...next.purposes.keys()]) {
        const purposes = new Set([...(values.purposes.get(nonce) ?? []), ...(next.purposes.get(nonce) ?? [])]);
        t.equal(purposes.size, 1, `nonce ${nonce}`);
      }
    },
  );
}

await t.test(
  'what an earlier run has counted as spent is not counted again, though its nonce is looked at again',
  async (t) => {
    const account = chain.newKey();
    const first = await WalletRun.start(chain, account);
    await first.whileMining(chain, first.wallet.send(request('0x01')));
    t.equal(first.values.values.size, 1, 'a reorg may still take it back');
    first.die();
    const second = await WalletRun.start(chain, account, first.values.reopened(), {}, first.spent.reopened());
    t.teardown(() => second.die());
    const paid = await chain.paidBy(account);
    t.equal(second.wallet.spending.spentWei, paid);
    second.wallet.resume();
    await second.until(() => second.proxy.requests.some(({ method }) => method === 'eth_getTransactionReceipt'));
    await second.whileMining(chain, second.wallet.send(request('0x02')));
    t.equal(second.wallet.spending.spentWei, await chain.paidBy(account));
  },
);

await t.test('what was left is forgotten when no reorg can take it back', async (t) => {
  const account = chain.newKey();
  const first = await WalletRun.start(chain, account);
  first.wallet.send(request('0x01')).catch(() => undefined);
  await crashes['after it was sent, before its receipt']?.reached(first);
  first.die();
  const second = await WalletRun.start(chain, account, first.values.reopened(), { reorgDepth: 8 });
  t.teardown(() => second.die());
  second.wallet.resume();
  await second.until(async () => {
    await chain.mine();
    const { number, hash } = await chain.client.getBlock();
    second.wallet.onRead({ blockNumber: Number(number), blockHash: hash });
    second.wallet.onHead();
    return second.values.values.size === 0;
  });
  const [mined] = await chain.minedOf(account);
  t.match(mined, { nonce: 0, data: '0x01' });
});

await t.test('what an earlier run left and another signer overtook is sent anew', async (t) => {
  const account = chain.newKey();
  const first = await WalletRun.start(chain, account);
  crashes['after it is signed, before the node has it']?.prepare(first);
  first.wallet.send(request('0x01')).catch(() => undefined);
  await crashes['after it is signed, before the node has it']?.reached(first);
  first.die();
  await chain.sendAsStranger(account, 0);
  await chain.mine();
  const second = await goOn(t, account, first);
  await second.until(async () => {
    await chain.mine();
    return (await chain.client.getTransactionCount({ address: account.address })) === 2;
  });
  t.match(await chain.minedOf(account), [
    { nonce: 0, data: '0x57' },
    { nonce: 1, data: '0x01' },
  ]);
});

/** What is put while the disk is full is not there for the next process. */
class FullValues extends MemoryKeyValueStore {
  isFull = false;

  override put(key: string, value: unknown): Promise<void> {
    if (this.isFull) return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
    return super.put(key, value);
  }
}

await t.test('a transaction whose intent cannot be written is not sent, and its caller gets the error', async (t) => {
  const values = new FullValues();
  const account = chain.newKey();
  const run = await WalletRun.start(chain, account, values);
  t.teardown(() => run.die());
  values.isFull = true;
  await t.rejects(run.wallet.send(request('0x01')), { name: 'IntentNotPersisted', cause: { code: 'ENOSPC' } });
  t.strictSame(await chain.poolOf(account), []);
  values.isFull = false;
  await run.whileMining(chain, run.wallet.send(request('0x02')));
  t.match(await chain.minedOf(account), [{ nonce: 0, data: '0x02' }], 'its nonce is free');
});

await t.test('a version that could not be written down is not sent: after a crash nobody would know it', async (t) => {
  const account = chain.newKey();
  const values = new FullValues();
  const first = await WalletRun.start(chain, account, values, { resends: 1 });
  first.wallet.send(request('0x01')).catch(() => undefined); // the run ends before the outcome
  await crashes['after it was sent, before its receipt']?.reached(first);
  values.isFull = true;
  const raisings = (): number => first.proxy.requests.filter(({ method }) => method === 'eth_gasPrice').length;
  const before = raisings();
  await first.until(() => raisings() >= before + 4);
  first.die();
  await chain.mine();

  const second = await goOn(t, account, first);
  // Time enough to take its nonce for another signer's, and to send it anew.
  await second.until(async () => {
    await chain.mine();
    return second.clock.monotonicMs() > 60_000;
  });
  t.strictSame(second.troubles, []);
  const mined = await chain.minedOf(account);
  t.match(mined, [{ nonce: 0, data: '0x01' }]);
  t.equal(mined.length, 1);
});
