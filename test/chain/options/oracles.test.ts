import t from 'tap';
import { decodeFunctionData, encodeFunctionResult, numberToHex } from 'viem';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { oracleAdapterAbi, volatilityOracleAbi } from '../../../src/chain/contracts/abi.js';
import { arbitrum } from '../../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../../src/chain/options/option-series.js';
import { Oracles } from '../../../src/chain/options/oracles.js';
import { revertWith } from '../factory-answers.js';

const ONE = 10n ** 18n;
const series = new OptionSeries(arbitrum);
const [WETH, ARB, USDC] = ['WETH', 'ARB', 'USDC'].map(
  (symbol) => series.poolKey({ base: symbol, quote: symbol, strike: 1n, type: 'C' }, 0).base,
);
if (WETH === undefined || ARB === undefined || USDC === undefined) throw new Error('The profile has the tokens');

function opened(answers: readonly CallResult[]) {
  const calls: ContractCall[] = [];
  const multicall = (batch: readonly ContractCall[]): Promise<CallResult[]> => {
    calls.push(...batch);
    return Promise.resolve(answers.slice(0, batch.length));
  };
  return { calls, oracles: new Oracles({ multicall }, arbitrum.contracts, series) };
}

const reverted = (data: CallResult['data']): CallResult => ({ reverted: true, data });

t.test('volatilities are asked for in years of 365 days, cut to 12 decimals', async (t) => {
  const data = encodeFunctionResult({
    abi: [volatilityOracleAbi[1]],
    functionName: 'getVolatility',
    result: [ONE / 2n, ONE / 4n],
  });
  const { calls, oracles } = opened([{ reverted: false, data }]);
  const year = 365 * 86_400;
  const strikes = [1_800n * ONE, 1_900n * ONE];
  for (const seconds of [year, 86_400, 1]) {
    t.strictSame(await oracles.volatilities(WETH, 2_000n * ONE, strikes, seconds), {
      type: 'GIVEN',
      volatilities: [ONE / 2n, ONE / 4n],
    });
  }
  t.strictSame(
    calls.map((call) => [call.to, decodeFunctionData({ abi: volatilityOracleAbi, data: call.data }).args]),
    [ONE, 2_739_726_027_000_000n, 31_709_000_000n].map((time) => [
      arbitrum.contracts.volatilityOracle?.address,
      [WETH, 2_000n * ONE, strikes, [time, time]],
    ]),
  );
});

t.test(
  'a pair that the adapter does not support has another answer than one that it has no price of now',
  async (t) => {
    const { calls, oracles } = opened([
      { reverted: false, data: numberToHex(2_000n * ONE, { size: 32 }) },
      reverted(revertWith('OracleAdapter__PairNotSupported')),
    ]);
    t.strictSame(await oracles.dollarPrices(['WETH', 'USDC', 'ARB', 'DOGE']), [
      { type: 'PRICED', price: 2_000n * ONE },
      { type: 'PRICED', price: ONE },
      { type: 'UNSUPPORTED' },
      { type: 'UNSUPPORTED' },
    ]);
    t.strictSame(
      calls.map((call) => decodeFunctionData({ abi: oracleAdapterAbi, data: call.data }).args),
      [
        [WETH, USDC],
        [ARB, USDC],
      ],
    );
    for (const failure of [
      reverted(revertWith('OracleAdapter__InvalidTarget')),
      reverted('0x'),
      reverted('0x08c379a0'),
    ]) {
      t.strictSame(await opened([failure]).oracles.dollarPrices(['ARB']), [{ type: 'FAILED' }]);
    }
  },
);
