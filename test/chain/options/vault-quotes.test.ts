import t from 'tap';
import { decodeFunctionData, numberToHex } from 'viem';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { poolAbi, vaultAbi } from '../../../src/chain/contracts/abi.js';
import { arbitrum } from '../../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../../src/chain/options/option-series.js';
import { VaultQuotes } from '../../../src/chain/options/vault-quotes.js';
import type { VaultTrade } from '../../../src/wire/answers.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Pool } from '../../../src/engine/quote.js';
import { revertWith } from '../factory-answers.js';

const NOW = Date.UTC(2030, 10, 20) / 1000;
const series = new OptionSeries(arbitrum);
const buy: VaultTrade = {
  base: 'WBTC',
  quote: 'USDC',
  expiration: '29NOV30',
  strike: 1n,
  type: 'P',
  size: 1n,
  isBuy: true,
};

const OPERATOR = '0x0000000000000000000000000000000000000001';

const word = (value: bigint): CallResult => ({ reverted: false, data: numberToHex(value, { size: 32 }) });
const NO_CODE: CallResult = { reverted: false, data: '0x' };
const OVERFLOW: CallResult = { reverted: true, data: '0x4e487b71' };

/** `answers` to the quote, the pool's fee and the diamond's fee. */
function opened(
  answers: readonly CallResult[] | Error,
  { now, isPossible = true }: { now: number | null; isPossible?: boolean } = { now: NOW },
) {
  const asked: number[] = [];
  const calls: ContractCall[] = [];
  const pool: Pool = { poolAddress: '0x0b', poolKey: series.poolKey(buy, NOW) };
  const vaults = new VaultQuotes(
    {
      multicall(batch) {
        asked.push(batch.length);
        calls.push(...batch);
        return answers instanceof Error ? Promise.reject(answers) : Promise.resolve(answers.slice(0, batch.length));
      },
    },
    arbitrum,
    series,
    { resolve: () => Promise.resolve([isPossible ? pool : null]) },
    OPERATOR,
    () => now,
  );
  return { asked, calls, vaults };
}

t.test('quote and fee of a pool that exists are in the decimals of its collateral', async (t) => {
  const put = await opened([word(70n), word(7n), word(8n)]).vaults.quote(buy);
  t.strictSame(put, {
    type: 'QUOTED',
    vault: 'pSV-WBTC/USDCe-P',
    quote: { units: 70n, decimals: 6 },
    fee: { units: 7n, decimals: 6 },
  });
  const call = await opened([word(70n), word(7n), word(8n)]).vaults.quote({ ...buy, type: 'C' });
  t.match(call, { vault: 'pSV-WBTC/USDCe-C', quote: { decimals: 8 }, fee: { decimals: 8 } });
});

t.test(
  'the operator is the taker, and the fee is that of a trade without premium, outside the orderbook',
  async (t) => {
    const { calls, vaults } = opened([word(70n), word(7n), word(8n)]);
    await vaults.quote({ ...buy, strike: 5n, size: 3n });
    const [quote, ...fees] = calls;
    t.match(decodeFunctionData({ abi: vaultAbi, data: quote?.data ?? '0x' }), {
      functionName: 'getQuote',
      args: [{ strike: 5n, isCallPool: false }, 3n, true, OPERATOR],
    });
    const terms = [OPERATOR, 3n, 0n, true, false];
    t.match(
      fees.map(({ data }) => decodeFunctionData({ abi: poolAbi, data })),
      [
        { functionName: 'takerFee', args: terms },
        { functionName: '_takerFeeLowLevel', args: terms },
      ],
    );
  },
);

t.test('a date that no new pool may have, and a pair without a vault, are refused without asking', async (t) => {
  const { asked, vaults } = opened([]);
  t.match(await vaults.quote({ ...buy, expiration: '01JAN23' }), {
    type: 'REFUSED',
    code: 'invalid_expiration',
    message: 'Invalid expiration date: 01JAN23 is in the past',
  });
  for (const pair of [{ base: 'testWETH' }, { quote: 'DAI' }, { quote: 'testWETH' }]) {
    t.strictSame(await vaults.quote({ ...buy, ...pair }), {
      type: 'REFUSED',
      code: 'unknown_vault',
      message: 'Vault does not exist',
    });
  }
  t.strictSame(asked, []);
});

t.test('without a pool the diamond tells the fee, in 18 decimals', async (t) => {
  const quote = await opened([word(70n), NO_CODE, word(8n)]).vaults.quote(buy);
  t.match(quote, { type: 'QUOTED', quote: { units: 70n, decimals: 6 }, fee: { units: 8n, decimals: 18 } });
});

t.test('a sale mints nothing and has no fee; none is asked for', async (t) => {
  const { asked, vaults } = opened([word(70n)]);
  t.match(await vaults.quote({ ...buy, isBuy: false }), { type: 'QUOTED', fee: { units: 0n } });
  t.strictSame(asked, [1]);
});

t.test("refusals of the trade carry the contract's error name, also for an impossible key", async (t) => {
  for (const name of ['Vault__SellDisabled', 'PoolFactory__IdenticalAddresses', 'OptionMath__Underflow'] as const) {
    const { vaults } = opened([{ reverted: true, data: revertWith(name) }], { now: NOW, isPossible: false });
    t.strictSame(await vaults.quote(buy), { type: 'REFUSED', code: 'contract_refused', message: name });
  }
});

t.test('anything else that reverts or makes no sense is a failure', async (t) => {
  const other = { reverted: true, data: revertWith('Pool__ZeroSize') };
  for (const answers of [
    [other],
    [OVERFLOW],
    [NO_CODE],
    [word(1n), OVERFLOW, word(1n)],
    [word(1n), NO_CODE, OVERFLOW],
    [word(1n), NO_CODE, NO_CODE],
  ]) {
    t.strictSame(await opened(answers).vaults.quote(buy), { type: 'FAILED' });
  }
});

t.test('a chain that does not answer, or has not been read yet, is no refusal', async (t) => {
  for (const error of [new RpcUnreachable('x'), new RpcError(-32000, 'header not found', null)]) {
    t.strictSame(await opened(error).vaults.quote(buy), { type: 'CHAIN_UNREACHABLE' });
  }
  const bug = new Error('a bug');
  await t.rejects(opened(bug).vaults.quote(buy), bug);
  const early = opened([], { now: null });
  t.strictSame(await early.vaults.quote({ ...buy, expiration: '01JAN23' }), { type: 'CHAIN_UNREACHABLE' });
});
