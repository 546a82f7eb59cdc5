import { type Hex, type Pool, type PoolKey, ZERO_ADDRESS } from '../../engine/quote.js';
import { poolFactoryAbi } from '../contracts/abi.js';
import { encodeDeployPool } from '../contracts/abi-encoding.js';
import { asDeployer, type Deployment, devSeries, fromDeployer } from './contracts.js';
import { type DevClient, sendTogether } from './dev-client.js';

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
  const pools = await Promise.all(seriesKeys(now, deployment).map((key) => predictPool(client, poolFactory, key)));
  const deployments = pools
    .filter(({ isDeployed }) => !isDeployed)
    .map(({ pool }) => fromDeployer(poolFactory, encodeDeployPool(pool.poolKey)));
  await asDeployer(client, () => sendTogether(client, deployments));
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

async function predictPool(
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

const DAY = 86_400;
const EIGHT_UTC = 8 * 3_600;

/**
 * Maturities that the factory accepts at `now` and for long after: the first Friday at least two days ahead, the one
 * two weeks later, and the first last-Friday-of-a-month beyond 35 days. Unix seconds, 08:00 UTC.
 */
export function devMaturities(now: number): [near: number, middle: number, far: number] {
  const near = fridayFrom(now + 2 * DAY);
  let far = fridayFrom(now + 35 * DAY + 1);
  while (!isLastFriday(far)) far += 7 * DAY;
  return [near, near + 14 * DAY, far];
}

/** First Friday, 08:00 UTC, not before `time`. */
export function fridayFrom(time: number): number {
  const day = Math.ceil((time - EIGHT_UTC) / DAY);
  // Day 0, 1 January 1970, was a Thursday.
  return (day + ((((1 - day) % 7) + 7) % 7)) * DAY + EIGHT_UTC;
}

function isLastFriday(friday: number): boolean {
  return monthOf(friday) !== monthOf(friday + 7 * DAY);
}

function monthOf(time: number): number {
  return new Date(time * 1000).getUTCMonth();
}
