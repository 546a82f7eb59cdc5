import t from 'tap';
import { DEV_ACCOUNTS } from '../../../src/chain/dev/dev-client.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import { WalletStopped } from '../../../src/chain/wallet/errors.js';
import { IntentLog } from '../../../src/chain/wallet/intent-log.js';
import { NonceManager } from '../../../src/chain/wallet/nonce-manager.js';
import { txAccount } from '../../../src/chain/wallet/transaction.js';
import { TxSender } from '../../../src/chain/wallet/tx-sender.js';
import { findReceipt, ReceiptWatch, TxTracker } from '../../../src/chain/wallet/tx-tracker.js';
import type { Rpc } from '../../../src/chain/rpc/rpc-client.js';
import type { Hex } from '../../../src/engine/quote.js';
import { ManualClock } from '../../system/manual-clock.js';
import { MemoryKeyValueStore } from '../memory-key-value-store.js';
import { NOBODY } from '../wallet-fixture.js';

const CHAIN_ID = 421_613;
const BLOCK = { blockNumber: '0x7', blockHash: `0x${'7'.repeat(64)}` };
const TX_HASH = `0x${'01'.repeat(32)}` as const;
const RECEIPT = { ...BLOCK, transactionHash: TX_HASH, status: '0x1', gasUsed: '0x5208', effectiveGasPrice: '0x1' };
const [account] = DEV_ACCOUNTS;
if (account === undefined) throw new Error('There is an account');
const { privateKey } = account;

/**
 * Two nodes behind one RPC, which take turns in answering. One has the block in which the
 * transaction was mined, the other is behind. `receiptsOf`: which of them is asked for this receipt, the nth.
 */
function twoNodes(receiptsOf: (nth: number) => 'AHEAD' | 'BEHIND'): Rpc {
  let [answering, switches, receipts] = ['AHEAD', 0, 0];
  const ask = (node: 'AHEAD' | 'BEHIND'): boolean => {
    if (node !== answering) switches++;
    answering = node;
    return node === 'AHEAD';
  };
  return {
    get switches() {
      return switches;
    },
    request({ method }) {
      if (method === 'eth_getTransactionCount') return Promise.resolve(ask('AHEAD') ? '0x1' : '0x0');
      return Promise.resolve(ask(receiptsOf(++receipts)) ? RECEIPT : null);
    },
  };
}

/** The outcome of a transaction with nonce 0 while the clock stands still. */
async function sendOn(rpc: Rpc) {
  const intents = new IntentLog(new MemoryKeyValueStore());
  const limits = { resendAfterMs: 0, resends: 0 };
  const line = new NonceManager(rpc, NOBODY, intents, { reorgDepth: 8, remembered: 8 });
  const sender = new TxSender(rpc, CHAIN_ID, txAccount(privateKey), intents, 1n);
  const lost: number[] = [];
  const listener = {
    mined: () => undefined,
    lost(nonce: number) {
      lost.push(nonce);
      return undefined;
    },
    unblock: () => Promise.reject(new Error('Its nonce is used, so it is not sent again')),
  };
  const sent = new TxTracker(
    sender,
    line,
    new ReceiptWatch(rpc, new ManualClock(), 1),
    limits,
    () => undefined,
    listener,
  );
  const tx = line.begin({ to: NOBODY, data: '0x01', gas: 21_000n });
  tx.hashes.push(TX_HASH);
  return { receipt: await sent.untilUsed(tx), lost };
}

t.test('a node that is behind does not make a mined one lost, though another tells of the nonce again', async (t) => {
  const { receipt, lost } = await sendOn(twoNodes((nth) => (nth <= 3 ? 'BEHIND' : 'AHEAD')));
  t.equal(receipt?.blockNumber, 7);
  t.strictSame(lost, []);
});

t.test('one that a node has no receipt of, and tells that its nonce is used, is lost', async (t) => {
  const rpc: Rpc = { request: ({ method }) => Promise.resolve(method === 'eth_getTransactionCount' ? '0x1' : null) };
  t.strictSame(await sendOn(rpc), { receipt: null, lost: [0] });
});

const POLL_MS = 100;
const WITHIN_MS = 1_000;
const HASHES = [`0x${'1'.repeat(64)}`] as const;
const RECEIPT_WATCH_BLOCK = { blockNumber: '0x7', blockHash: `0x${'7'.repeat(64)}` };
const RECEIPT_WATCH_RECEIPT = {
  ...RECEIPT_WATCH_BLOCK,
  transactionHash: HASHES[0],
  status: '0x1',
  gasUsed: '0x5208',
  effectiveGasPrice: '0x1',
};

/** Looks for one receipt, on a chain that has it once the test says so. */
async function looking() {
  const clock = new ManualClock();
  const chain = { receipt: null as unknown, looks: 0 };
  const request = (): Promise<unknown> => {
    chain.looks += 1;
    return chain.receipt instanceof Error ? Promise.reject(chain.receipt) : Promise.resolve(chain.receipt);
  };
  const watch = new ReceiptWatch({ request }, clock, POLL_MS);
  const end = { found: undefined as unknown };
  const found = watch.find(HASHES, WITHIN_MS);
  found.then(
    (receipt) => (end.found = receipt),
    () => undefined,
  );
  await answers();
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await answers();
  };
  return { clock, chain, watch, found, end, pass };
}

/** Resolves when what the chain has answered is heard of. */
function answers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

t.test('a receipt is looked for at once, and again with every poll', async (t) => {
  const { chain, end, pass } = await looking();
  t.equal(chain.looks, 1);
  await pass(POLL_MS - 1);
  t.equal(chain.looks, 1);
  await pass(1);
  t.equal(chain.looks, 2);
  chain.receipt = RECEIPT_WATCH_RECEIPT;
  await pass(POLL_MS);
  t.match(end.found, { blockNumber: 7 });
});

t.test('a new block is looked at at once, and the poll that it comes before does not come besides', async (t) => {
  const { clock, chain, watch, end } = await looking();
  chain.receipt = RECEIPT_WATCH_RECEIPT;
  watch.onHead();
  await answers();
  t.match(end.found, { blockNumber: 7 });
  t.equal(clock.pending, 0);
});

t.test('finds no receipt if none arrived in time', async (t) => {
  const { end, pass } = await looking();
  for (let ms = POLL_MS; ms < WITHIN_MS; ms += POLL_MS) await pass(POLL_MS);
  t.equal(end.found, undefined);
  await pass(POLL_MS);
  t.equal(end.found, null);
});

t.test('a node that does not answer is asked again', async (t) => {
  const { chain, end, pass } = await looking();
  chain.receipt = new Error('It does not answer');
  await pass(POLL_MS);
  t.equal(end.found, undefined);
  chain.receipt = RECEIPT_WATCH_RECEIPT;
  await pass(POLL_MS);
  t.match(end.found, { blockNumber: 7 });
});

t.test('who looks when it is stopped is let go, and nobody looks after that', async (t) => {
  const { chain, clock, watch, found } = await looking();
  watch.stop();
  await t.rejects(found, WalletStopped);
  t.equal(clock.pending, 0);
  await t.rejects(watch.find(HASHES, WITHIN_MS), WalletStopped);
  t.throws(() => watch.checkRunning(), WalletStopped);
  t.equal(chain.looks, 1);
});

t.test('a poll that gets no receipt after the stop rejects too', async (t) => {
  const { chain, clock, watch, found, pass } = await looking();
  let answer: (receipt: null) => void = () => undefined;
  chain.receipt = new Promise((resolve) => (answer = resolve));
  await pass(POLL_MS);
  watch.stop();
  answer(null);
  await answers();
  t.equal(clock.pending, 0);
  await t.rejects(found, WalletStopped);
});

const blockHash = `0x${'7'.repeat(64)}`;
const [first, second, third] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(64)}` as const) as [Hex, Hex, Hex];
const told = {
  transactionHash: first,
  blockNumber: '0x7',
  blockHash,
  status: '0x1',
  gasUsed: '0x5208',
  effectiveGasPrice: '0x2',
};

const find = (receipt: unknown) => findReceipt({ request: () => Promise.resolve(receipt) }, [first]);

t.test('a receipt says where the transaction was mined, and what it cost', async (t) => {
  const receipt = { txHash: first, blockNumber: 7, blockHash, gasUsed: 21_000n, feeWei: 42_000n, succeeded: true };
  t.strictSame(await find(told), receipt);
  t.equal(await find(null), null);
});

t.test('of several versions the one that was mined is found', async (t) => {
  const asked: unknown[] = [];
  const rpc: Rpc = {
    request(request) {
      asked.push(request);
      return Promise.resolve(asked.length === 2 ? { ...told, transactionHash: second, status: '0x0' } : null);
    },
  };
  t.match(await findReceipt(rpc, [first, second, third]), { txHash: second, succeeded: false });
  const method = 'eth_getTransactionReceipt';
  t.strictSame(asked, [
    { method, params: [first] },
    { method, params: [second] },
  ]);
});

t.test('an answer of another type does not mean that the receipt is missing', async (t) => {
  for (const answer of ['0x', false, 0, undefined]) await t.rejects(find(answer), ChainAnswerError, String(answer));
});

t.test('gas that nobody can count is no receipt: keys are charged with it', async (t) => {
  await t.rejects(find({ ...told, gasUsed: `0x${'f'.repeat(600)}` }), ChainAnswerError);
});

t.test('rejects a receipt of another transaction, or without a status', async (t) => {
  for (const transactionHash of [second, '0x', undefined, null])
    await t.rejects(find({ ...told, transactionHash }), ChainAnswerError);
  for (const status of [undefined, null, '0x', '0x2', 'success', true])
    await t.rejects(find({ ...told, status }), ChainAnswerError);
});
