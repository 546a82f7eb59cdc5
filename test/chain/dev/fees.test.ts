import t, { type Test } from 'tap';
import { poolAbi } from '../../../src/chain/contracts/abi.js';
import type { Hex, Pool } from '../../../src/engine/quote.js';
import { Market, ONE } from './market.js';

const market = await Market.open(t);
const taker = market.taker.address;
const call = market.pool('WBTC', 30_000n, true);
const put = market.pool('testWETH', 1800n, false);

/** In the pool token's decimals; `premium` too, unless normalised. */
function takerFee(pool: Pool, size: bigint, premium: bigint, normalized: boolean, orderbook: boolean): Promise<bigint> {
  const args = [taker, size, premium, normalized, orderbook] as const;
  return market.client.readContract({ address: pool.poolAddress, abi: poolAbi, functionName: 'takerFee', args });
}

/** 18 decimals, asked of the diamond. */
function lowLevel(size: bigint, premium: bigint, orderbook: boolean, strike: bigint, isCall: boolean): Promise<bigint> {
  const args = [taker, size, premium, true, orderbook, strike, isCall] as const;
  const address: Hex = market.chain.contracts.poolDiamond;
  return market.client.readContract({ address, abi: poolAbi, functionName: '_takerFeeLowLevel', args });
}

t.test('orderbook: 0.08 % of the size, at most 12.5 % of the premium', async (t) => {
  t.equal(await takerFee(call, 10n * ONE, 5n * ONE, true, true), 800_000n);
  t.equal(await takerFee(call, 10n * ONE, ONE / 100n, true, true), 125_000n);
  t.equal(await takerFee(put, 10n * ONE, 5n * ONE, true, true), 14_400_000n, 'times the strike for puts');
  t.equal(await takerFee(put, 10n * ONE, 0n, true, true), 0n);
});

t.test('vault: 0.3 % of the size when there is no premium', async (t) => {
  t.equal(await takerFee(call, 10n * ONE, 0n, true, false), 3_000_000n);
  t.equal(await takerFee(put, 10n * ONE, 0n, true, false), 54_000_000n);
});

t.test('a premium that is not normalised is in the decimals of the token', async (t) => {
  t.equal(await takerFee(call, 10n * ONE, 1_000_000n, false, true), 125_000n);
  t.equal(await takerFee(put, 10n * ONE, 18_000_000n, false, true), 2_250_000n);
});

t.test('the diamond answers for pools that do not exist, in 18 decimals', async (t) => {
  t.equal(await lowLevel(10n * ONE, 0n, false, 0n, true), (3n * ONE) / 100n);
  t.equal(await lowLevel(10n * ONE, 0n, false, 1234n * ONE, false), ((3n * ONE) / 100n) * 1234n);
  t.equal(await lowLevel(10n * ONE, ONE, true, 2n * ONE, false), (16n * ONE) / 1000n);
});

t.test('a discount lowers every fee of its taker', (t: Test) =>
  market.isolated(async () => {
    await market.setDiscount(taker, ONE / 4n);
    t.equal(await takerFee(call, 10n * ONE, 0n, true, false), 2_250_000n);
    t.equal(await takerFee(call, 10n * ONE, 5n * ONE, true, true), 600_000n);
    t.equal(await lowLevel(10n * ONE, 0n, false, 0n, true), (225n * ONE) / 10_000n);
  }),
);
