import t from 'tap';
import { ChainAnswerError } from '../../src/chain/chain-answer-error.js';
import { findReceipt } from '../../src/chain/receipts.js';

const told = { blockNumber: '0x7', status: '0x1', gasUsed: '0x5208', effectiveGasPrice: '0x2' };

const find = (receipt: object | null) => findReceipt({ request: () => Promise.resolve(receipt) }, ['0x01']);

t.test('a receipt says where the transaction was mined, and what it cost', async (t) => {
  const receipt = { txHash: '0x01', blockNumber: 7, gasUsed: 21_000n, feeWei: 42_000n, succeeded: true };
  t.strictSame(await find(told), receipt);
  t.equal(await find(null), null);
});

t.test('gas that nobody can count is no receipt: keys are charged with it', async (t) => {
  await t.rejects(find({ ...told, gasUsed: `0x${'f'.repeat(600)}` }), ChainAnswerError);
});
