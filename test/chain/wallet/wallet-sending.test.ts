import t from 'tap';
import { privateKeyToAccount } from 'viem/accounts';
import { RpcError } from '../../../src/chain/rpc/rpc-errors.js';
import { WouldRevert } from '../../../src/chain/wallet/errors.js';
import { IntentLog } from '../../../src/chain/wallet/intent-log.js';
import { WalletSpending } from '../../../src/chain/wallet/spending.js';
import { Wallet } from '../../../src/chain/wallet/wallet.js';
import { ManualClock } from '../../system/manual-clock.js';
import { MemoryKeyValueStore } from '../memory-key-value-store.js';
import { request } from '../wallet-fixture.js';

const FEES = { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n };
const RESENDS = 3;
const CAP_WEI = 1_000n;

/** A wallet whose node takes everything and mines nothing, but for what `answer` says otherwise. */
function newWallet(answer: (method: string) => unknown = () => undefined, intents = new MemoryKeyValueStore()) {
  const asked: string[] = [];
  const spending = new WalletSpending({
    capWei: CAP_WEI,
    nowMs: () => 0,
    remembered: 10,
    kept: { values: new MemoryKeyValueStore(), name: 'spent' },
  });
  const rpc = {
    request: async ({ method }: { readonly method: string }) => {
      asked.push(method);
      const own = answer(method);
      if (own instanceof Error) throw own;
      const nothing = method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash';
      return Promise.resolve(own ?? (nothing ? null : '0x0'));
    },
  };
  const wallet = new Wallet(
    spending,
    rpc,
    7,
    privateKeyToAccount(`0x${'17'.repeat(32)}`),
    new IntentLog(intents),
    new ManualClock(),
    {
      inFlight: 2,
      waiting: 10,
      receiptPollMs: 100,
      resendAfterMs: 10_000,
      resends: RESENDS,
      maxFeePerGas: 1_000n,
      reorgDepth: 64,
      remembered: 64,
    },
    () => undefined,
  );
  const timesAsked = (method: string): number => asked.filter((each) => each === method).length;
  return { wallet, spending, timesAsked };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

t.test('what waits for its gas while the cap is reached is not sent', async (t) => {
  const { wallet, spending, timesAsked } = newWallet();
  let estimated: (gas: bigint) => void = () => undefined;
  const gas = new Promise<bigint>((resolve) => (estimated = resolve));
  const waiting = wallet.send(request('0x01'), { gas, fees: Promise.resolve(FEES) });
  await turn();
  await spending.mined(0, CAP_WEI);
  estimated(21_000n);
  await t.rejects(waiting, { message: /has spent what it may in a day/ });
  t.equal(timesAsked('eth_sendRawTransaction'), 0);
});

t.test('a failed estimate rejects when its turn comes', async (t) => {
  const { wallet } = newWallet();
  t.teardown(() => wallet.stop());
  let looked: (fees: typeof FEES) => void = () => undefined;
  const fees = new Promise<typeof FEES>((resolve) => (looked = resolve));
  wallet.send(request('0x01'), { gas: Promise.resolve(21_000n), fees }).catch(() => undefined);
  const error = new WouldRevert('0x');
  let told: unknown = null;
  const failing = wallet.send(request('0x02'), { gas: Promise.reject(error), fees: Promise.resolve(FEES) });
  failing.catch((caught: unknown) => (told = caught));
  await turn();
  t.equal(told, null);
  looked(FEES);
  await t.rejects(failing, error);
});

t.test(
  'what is kept of a nonce that went to another signer goes with it: no later run sends it a second time',
  async (t) => {
    const intents = new MemoryKeyValueStore();
    let tries = 0;
    const { wallet } = newWallet((method) => {
      if (method === 'eth_sendRawTransaction' && ++tries === 1) return new RpcError(-32000, 'nonce too low', undefined);
      return undefined;
    }, intents);
    t.teardown(() => wallet.stop());
    wallet.send(request('0x01')).catch(() => undefined);
    while (tries < 2) await turn();
    t.strictSame([...intents.values.keys()], ['1']);
  },
);

t.test('a node that wants ever more is asked once, and so many times again', async (t) => {
  const underpriced = new RpcError(-32000, 'transaction underpriced', undefined);
  const { wallet, timesAsked } = newWallet((method) => (method === 'eth_sendRawTransaction' ? underpriced : undefined));
  await t.rejects(wallet.send(request('0x01')), { name: 'TxRefused', message: /in 4 tries/ });
  t.equal(timesAsked('eth_sendRawTransaction'), 1 + RESENDS);
});

t.test('a refusal reaches the caller even if the intent log fails', async (t) => {
  const intents = new MemoryKeyValueStore();
  intents.remove = () => Promise.reject(new Error('the disk is full'));
  const refusal = new RpcError(-32000, 'oversized data', undefined);
  const { wallet } = newWallet((method) => (method === 'eth_sendRawTransaction' ? refusal : undefined), intents);
  await t.rejects(wallet.send(request('0x01')), refusal);
});

t.test('what was prepared and fails is no news to anybody while it is not sent', async (t) => {
  const refusal = new RpcError(-32602, 'invalid argument', undefined);
  const { wallet } = newWallet(() => refusal);
  const { gas, fees } = wallet.prepare(request('0x01'));
  await turn();
  await t.rejects(gas, refusal);
  await t.rejects(fees, refusal);
});

t.test('with each new head it is looked for what was sent', async (t) => {
  const { wallet, timesAsked } = newWallet();
  t.teardown(() => wallet.stop());
  wallet.send(request('0x01')).catch(() => undefined);
  while (timesAsked('eth_sendRawTransaction') === 0) await turn();
  await turn();
  const before = timesAsked('eth_getTransactionReceipt');
  wallet.onHead();
  await turn();
  t.equal(timesAsked('eth_getTransactionReceipt'), before + 1);
});
