import { encodeFunctionData } from 'viem';
import type { Hex, PoolKey } from '../engine/quote.js';
import { readNewExpiration } from '../schema/expiration.js';
import type { OptionTerms } from '../schema/option-json.js';
import type { GasRefusal } from '../quota/gas-refusal.js';
import { poolFactoryAbi } from './abi/pool-factory.js';
import type { ChainSeconds } from './chain-seconds.js';
import type { ChainReader } from './chain-reader.js';
import { isChainFailure } from './contract-errors.js';
import type { GasPayer } from './gas-payer.js';
import { mapInFlight } from './in-flight.js';
import type { Operator } from './operator.js';
import type { OptionSeries } from './option-series.js';
import type { PoolArrivals } from './pool-arrivals.js';
import { lookUpPools, type FoundPool } from './pool-lookup.js';

/** What became of one option. */
export type DeployItem =
  | { readonly type: 'CREATED'; readonly poolAddress: Hex }
  | { readonly type: 'EXISTED'; readonly poolAddress: Hex }
  | { readonly type: 'FAILED'; readonly reason: string };

export type DeployResult =
  | { readonly type: 'ANSWERED'; readonly items: readonly DeployItem[] }
  | { readonly type: 'CHAIN_UNREACHABLE' }
  /** Nothing was deployed. */
  | GasRefusal;

type Plan = DeployItem | { readonly type: 'DEPLOY'; readonly key: PoolKey };

const NOT_CONFIRMED = 'Deployment not confirmed yet';

/**
 * Deploys pools with the operator's wallet. Whoever asks for one that is being deployed joins, and finds that it
 * existed.
 */
export class PoolDeployer {
  readonly #underWay = new Map<Hex, Promise<DeployItem>>();

  constructor(
    private readonly operator: Pick<Operator, 'send'>,
    private readonly reader: Pick<ChainReader, 'multicall'>,
    private readonly poolFactory: Hex,
    private readonly series: OptionSeries,
    private readonly arrivals: Pick<PoolArrivals, 'whenKnown'>,
    private readonly nowSeconds: ChainSeconds,
    /** Deployments of one request under way at once. */
    private readonly inFlight: number,
  ) {}

  /** In the order of `options`, whose symbols all have tokens; each fails alone, but for want of gas to pay with. */
  async deploy(options: readonly OptionTerms[], payer: GasPayer): Promise<DeployResult> {
    const now = this.nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const plans = options.map((option) => this.#plan(option, now));
    try {
      const keys = plans.flatMap((plan) => (plan.type === 'DEPLOY' ? [plan.key] : []));
      const found = await lookUpPools(this.reader, this.poolFactory, keys);
      const refusal = payer.take(this.#missing([...found.values()]));
      if (refusal !== null) return refusal;
      const items = await mapInFlight(plans, this.inFlight, async (plan) =>
        plan.type === 'DEPLOY' ? this.#ensure(plan.key, found.get(plan.key), payer) : plan,
      );
      return { type: 'ANSWERED', items };
    } catch (error) {
      if (isChainFailure(error)) return { type: 'CHAIN_UNREACHABLE' };
      throw error;
    }
  }

  #plan(option: OptionTerms, now: number): Plan {
    const expiration = readNewExpiration(option.expiration, now);
    if (!expiration.ok) return { type: 'FAILED', reason: expiration.refusal };
    return { type: 'DEPLOY', key: this.series.poolKey(option, expiration.maturity) };
  }

  /** How many pools are neither there nor on their way: each takes a transaction. */
  #missing(pools: readonly FoundPool[]): number {
    const missing = pools.flatMap((pool) => (pool.type === 'FOUND' && !pool.isDeployed ? [pool.poolAddress] : []));
    return [...new Set(missing)].filter((poolAddress) => !this.#underWay.has(poolAddress)).length;
  }

  async #ensure(key: PoolKey, pool: FoundPool | undefined, payer: GasPayer): Promise<DeployItem> {
    if (pool === undefined) throw new Error('A key was not looked up');
    if (pool.type === 'IMPOSSIBLE') return { type: 'FAILED', reason: pool.reason };
    const { poolAddress, isDeployed } = pool;
    if (isDeployed) return { type: 'EXISTED', poolAddress };
    const underWay = this.#underWay.get(poolAddress);
    if (underWay !== undefined) {
      const item = await underWay;
      return item.type === 'CREATED' ? { type: 'EXISTED', poolAddress } : item;
    }
    const deployment = this.#create(key, poolAddress, payer).finally(() => this.#underWay.delete(poolAddress));
    this.#underWay.set(poolAddress, deployment);
    return deployment;
  }

  /** Somebody else's deployment may come first, on the way to the chain or in the same block: then the pool existed. */
  async #create(key: PoolKey, poolAddress: Hex, payer: GasPayer): Promise<DeployItem> {
    const outcome = await this.operator.send({ to: this.poolFactory, data: encodeDeployPool(key) }, payer);
    const lostRace = outcome.type === 'REVERTED' && outcome.name === 'PoolFactory__PoolAlreadyDeployed';
    if (outcome.type !== 'DONE' && !lostRace) return { type: 'FAILED', reason: outcome.reason };
    if (!(await this.arrivals.whenKnown(poolAddress))) return { type: 'FAILED', reason: NOT_CONFIRMED };
    return { type: lostRace ? 'EXISTED' : 'CREATED', poolAddress };
  }
}

function encodeDeployPool(key: PoolKey): Hex {
  const args = [{ ...key, maturity: BigInt(key.maturity) }] as const;
  return encodeFunctionData({ abi: poolFactoryAbi, functionName: 'deployPool', args });
}
