import t from 'tap';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { FillPlans } from '../../../src/chain/options/fill-plans.js';
import { RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address, sampleQuote, START } from '../../engine/samples.js';

const ONE = 10n ** 18n;
const contracts = {
  poolDiamond: { address: address(0xd1), startBlock: 0 },
  erc20Router: { address: address(0xe2), startBlock: 0 },
};

function word(value: bigint): CallResult {
  return { reverted: false, data: `0x${value.toString(16).padStart(64, '0')}` };
}

function planner(answer: (calls: readonly ContractCall[]) => readonly CallResult[]) {
  return new FillPlans({ multicall: async (calls) => [...answer(calls)] }, contracts);
}

function part(n: number, { take, isBuy = false }: { take: bigint; isBuy?: boolean }) {
  const quote = sampleQuote({ n, price: ONE / 10n, isBuy, size: 3n * ONE, deadline: START + 100 });
  return { quote: { ...quote, origin: { blockNumber: 1, txHash: quote.quoteId, logIndex: n }, ts: START }, take };
}

t.test('what the taker pays is rounded up to a unit of a token with few decimals', async (t) => {
  const plan = await planner(() => [word(6n), word(1n)]).plan([part(1, { take: 7n })], null);
  if (typeof plan === 'string') throw new Error(plan);
  const [leg] = plan.legs;
  t.match(leg, { premium: 0n, fee: 1n, collateral: 0n, pays: 1n });
  t.equal(plan.approval?.amount, 1n);
});

t.test('a taker who sells locks the collateral less the premium, and pays the fee', async (t) => {
  const plan = await planner(() => [word(18n), word(5n)]).plan([part(1, { take: ONE, isBuy: true })], null);
  if (typeof plan === 'string') throw new Error(plan);
  const [leg] = plan.legs;
  t.match(leg, { premium: ONE / 10n, fee: 5n, collateral: ONE, pays: ONE - ONE / 10n + 5n });
});

t.test('without quotes nothing is read, and there is nothing to approve', async (t) => {
  const unread = planner(() => {
    throw new Error('the chain is asked');
  });
  const plan = await unread.plan([], null);
  t.strictSame(plan, { legs: [], approval: null, bundle: null });
});

t.test('a token or pool that gives no number is a failure, and a silent chain another', async (t) => {
  const parts = [part(1, { take: ONE })];
  const reverted: CallResult = { reverted: true, data: '0x' };
  for (const answers of [
    [reverted, word(1n)],
    [word(18n), reverted],
    [word(1000n), word(1n)],
    [{ reverted: false, data: '0x' as Hex }, word(1n)],
    [],
  ]) {
    t.equal(await planner(() => answers).plan(parts, null), 'FAILED');
  }
  const silent = new FillPlans(
    {
      multicall: async () => {
        throw new RpcUnreachable('no endpoint answers');
      },
    },
    contracts,
  );
  t.equal(await silent.plan(parts, null), 'CHAIN_UNREACHABLE');
});
