import t from 'tap';
import { arbitrum } from '../../src/chain/deployments.js';
import { OptionSeries } from '../../src/chain/option-series.js';
import { PoolListing } from '../../src/chain/pool-listing.js';
import type { DeployedPool } from '../../src/engine/pool-registry.js';

const series = new OptionSeries(arbitrum);
const MAX_AGE = 90 * 86_400;
const NOW = Date.UTC(2030, 8, 1) / 1000;
const MATURITY = Date.UTC(2030, 10, 29, 8) / 1000;

function deployed(base: string, maturity: number, deployedAt: number, strike = 1n): DeployedPool {
  const poolKey = series.poolKey({ base, quote: 'USDC', strike, type: 'C' }, maturity);
  const origin = { blockNumber: 1, txHash: '0x', logIndex: 0 } as const;
  return { pool: { poolAddress: `0x${strike}`, poolKey }, deployedAt, origin };
}

function listed(pools: readonly DeployedPool[], filter = {}, now = NOW): bigint[] {
  return new PoolListing(
    () => pools,
    series,
    () => now,
    MAX_AGE,
  )
    .list(filter)
    .map(({ strike }) => strike);
}

t.test('pools are listed for ninety days from their deployment, to the second', async (t) => {
  const pools = [deployed('WETH', MATURITY, NOW - MAX_AGE - 1, 1n), deployed('WETH', MATURITY, NOW - MAX_AGE, 2n)];
  t.strictSame(listed(pools), [2n]);
});

t.test('pools are listed until they mature, to the second', async (t) => {
  const pools = [deployed('WETH', MATURITY, MATURITY - 1000)];
  t.strictSame(listed(pools, {}, MATURITY - 1), [1n]);
  t.strictSame(listed(pools, {}, MATURITY), []);
});

t.test('every filter that is given must hold', async (t) => {
  const pools = [
    deployed('WETH', MATURITY, NOW, 1n),
    deployed('WBTC', MATURITY, NOW, 2n),
    deployed('WETH', MATURITY + 7 * 86_400, NOW, 3n),
  ];
  t.strictSame(listed(pools), [1n, 2n, 3n]);
  t.strictSame(listed(pools, { base: 'WETH' }), [1n, 3n]);
  t.strictSame(listed(pools, { base: 'WETH', quote: 'USDC', maturity: MATURITY }), [1n]);
  t.strictSame(listed(pools, { quote: 'DAI' }), []);
  t.strictSame(listed(pools, { maturity: NOW }), []);
});
