import { ZERO_ADDRESS, type Hex, type Pool, type PoolKey } from '../../engine/quote.js';
import { poolFactoryAbi } from '../abi/pool-factory.js';
import { encodeDeployPool } from '../pool-deployer.js';
import { devMaturities } from './calendar.js';
import { becomeDeployer, fromDeployer, type Deployment } from './deploy.js';
import { sendTogether, type DevClient } from './dev-client.js';
import { devSeries } from './market.js';

/**
 * Calls and puts that can be quoted for days from now on: those of `existing` that have not matured, and the series of
 * this day, deployed where they are not. Nothing is deployed while none of the existing ones has matured.
 */
export async function deployPools(
  client: DevClient,
  deployment: Deployment,
  existing: readonly Pool[],
): Promise<readonly Pool[]> {
  // The newest block of a chain that comes back may be weeks old; the next one will not be.
  const now = Number((await client.getBlock({ blockTag: 'pending' })).timestamp);
  const live = existing.filter(({ poolKey }) => poolKey.maturity > now);
  if (existing.length > 0 && live.length === existing.length) return existing;

  const { poolFactory } = deployment.contracts;
  const pools = await Promise.all(seriesKeys(now, deployment).map((key) => foreseen(client, poolFactory, key)));
  await becomeDeployer(client);
  await sendTogether(
    client,
    pools
      .filter(({ isDeployed }) => !isDeployed)
      .map(({ pool }) => fromDeployer(poolFactory, encodeDeployPool(pool.poolKey))),
  );
  const known = new Set(live.map(({ poolAddress }) => poolAddress));
  return [...live, ...pools.map(({ pool }) => pool).filter(({ poolAddress }) => !known.has(poolAddress))];
}

function seriesKeys(now: number, { tokens, contracts }: Deployment): PoolKey[] {
  const addressOf = (symbol: string): Hex => tokens.find((token) => token.symbol === symbol)?.address ?? ZERO_ADDRESS;
  const maturities = devMaturities(now);
  return devSeries.flatMap((series) =>
    maturities.slice(0, series.maturities).flatMap((maturity) =>
      series.strikes.flatMap((strike) =>
        [true, false].map((isCallPool) => ({
          base: addressOf(series.base),
          quote: addressOf('USDC'),
          oracleAdapter: contracts.oracleAdapter,
          strike,
          maturity,
          isCallPool,
        })),
      ),
    ),
  );
}

async function foreseen(
  client: DevClient,
  factory: Hex,
  poolKey: PoolKey,
): Promise<{ pool: Pool; isDeployed: boolean }> {
  const [address, isDeployed] = await client.readContract({
    address: factory,
    abi: poolFactoryAbi,
    functionName: 'getPoolAddress',
    args: [{ ...poolKey, maturity: BigInt(poolKey.maturity) }],
  });
  return { pool: { poolAddress: address.toLowerCase() as Hex, poolKey }, isDeployed };
}
