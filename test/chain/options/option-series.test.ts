import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { arbitrum } from '../../../src/chain/contracts/deployments.js';
import { OptionSeries, PoolListing } from '../../../src/chain/options/option-series.js';
import type { DeployedPool } from '../../../src/engine/pool-registry.js';
import { type Pool, ZERO_ADDRESS } from '../../../src/engine/quote.js';
import { formatExpiration } from '../../../src/wire/expiration.js';

const series = new OptionSeries(arbitrum);
const ADDRESS = `0x${'ab'.repeat(20)}` as const;
const maturity = Date.UTC(2030, 10, 29, 8) / 1000;
const terms = { base: 'WETH', quote: 'USDC', strike: 1800n * 10n ** 18n, type: 'C' as const };
const pool: Pool = { poolAddress: ADDRESS, poolKey: series.poolKey(terms, maturity) };

t.test('a key is made of the addresses of its symbols, and tells them again', async (t) => {
  const symbol = fc.constantFrom(...series.symbols);
  const strike = fc.bigInt({ min: 1n, max: 2n ** 256n - 1n });
  const day = fc.integer({ min: 0, max: 36_500 });
  fc.assert(
    fc.property(
      symbol,
      symbol,
      strike,
      fc.constantFrom('C' as const, 'P' as const),
      day,
      (base, quote, strike, type, day) => {
        const maturity = Date.UTC(2000, 0, 1, 8) / 1000 + (day % 36_500) * 86_400;
        const poolKey = series.poolKey({ base, quote, strike, type }, maturity);
        const expiration = formatExpiration(maturity);
        assert.deepEqual(series.describe({ poolAddress: ADDRESS, poolKey }), {
          base,
          quote,
          expiration,
          strike,
          type,
          poolAddress: ADDRESS,
        });
      },
    ),
  );
  t.pass('every time');
});

t.test('a pool of an unknown token has no name', async (t) => {
  t.equal(series.describe({ ...pool, poolKey: { ...pool.poolKey, base: ADDRESS } }), null);
  t.equal(series.describe({ ...pool, poolKey: { ...pool.poolKey, quote: ZERO_ADDRESS } }), null);
});

t.test('a pool with an oracle of its own is not the option that its tokens suggest', async (t) => {
  t.equal(series.describe({ ...pool, poolKey: { ...pool.poolKey, oracleAdapter: ADDRESS } }), null);
});

t.test('a symbol without a token makes no key', async (t) => {
  t.equal(series.token('testWETH'), undefined);
  t.throws(() => series.poolKey({ ...terms, base: 'testWETH' }, maturity), { message: /no token testWETH/ });
});

const listedSeries = new OptionSeries(arbitrum);
const MAX_AGE = 90 * 86_400;
const NOW = Date.UTC(2030, 8, 1) / 1000;
const MATURITY = Date.UTC(2030, 10, 29, 8) / 1000;

function deployed(base: string, maturity: number, deployedAt: number, strike = 1n): DeployedPool {
  const poolKey = listedSeries.poolKey({ base, quote: 'USDC', strike, type: 'C' }, maturity);
  const origin = { blockNumber: 1, txHash: '0x', logIndex: 0 } as const;
  return { pool: { poolAddress: `0x${strike}`, poolKey }, deployedAt, origin };
}

function listed(pools: readonly DeployedPool[], filter = {}, now = NOW): bigint[] {
  return new PoolListing(
    () => pools,
    listedSeries,
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

t.test('an instrument is named by its symbols, or by the address of a token without one', async (t) => {
  t.equal(series.instrument(pool), 'WETH-USDC-29NOV30-1800-C');
  const put = { ...pool.poolKey, isCallPool: false, strike: 42n * 10n ** 16n };
  t.equal(series.instrument({ ...pool, poolKey: put }), 'WETH-USDC-29NOV30-0.42-P');
  t.equal(
    series.instrument({ ...pool, poolKey: { ...pool.poolKey, base: ADDRESS } }),
    `${ADDRESS}-USDC-29NOV30-1800-C`,
  );
});

t.test('a pool with another oracle adapter has no name', async (t) => {
  t.equal(series.instrument({ ...pool, poolKey: { ...pool.poolKey, oracleAdapter: ADDRESS } }), null);
});

t.test('instruments are those of the pools that have not expired, however old', async (t) => {
  const origin = { blockNumber: 1, txHash: ADDRESS, logIndex: 0 };
  const others: Pool = { ...pool, poolKey: { ...pool.poolKey, oracleAdapter: ADDRESS } };
  const expired: Pool = { ...pool, poolKey: { ...pool.poolKey, maturity: maturity - 7 * 86_400 } };
  const deployed = [pool, others, expired].map((each): DeployedPool => ({ pool: each, deployedAt: 0, origin }));
  const listing = new PoolListing(
    () => deployed,
    series,
    () => maturity - 86_400,
    1,
  );
  t.strictSame(listing.instruments(), [{ instrument: 'WETH-USDC-29NOV30-1800-C', pool }]);
});
