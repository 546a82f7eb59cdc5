import t from 'tap';
import { ChainAnswerError } from '../../src/chain/chain-answer-error.js';
import { findReceipt } from '../../src/chain/receipts.js';
import type { Rpc } from '../../src/engine/ports.js';
import type { Hex } from '../../src/engine/quote.js';

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

t.test('an answer of another kind does not say that there is none', async (t) => {
  for (const answer of ['0x', false, 0, undefined]) await t.rejects(find(answer), ChainAnswerError, String(answer));
});

t.test('gas that nobody can count is no receipt: keys are charged with it', async (t) => {
  await t.rejects(find({ ...told, gasUsed: `0x${'f'.repeat(600)}` }), ChainAnswerError);
});

t.test('a receipt of another transaction is none, nor one that does not say what came of it', async (t) => {
  for (const transactionHash of [second, '0x', undefined, null])
    await t.rejects(find({ ...told, transactionHash }), ChainAnswerError);
  for (const status of [undefined, null, '0x', '0x2', 'success', true])
    await t.rejects(find({ ...told, status }), ChainAnswerError);
});
