import type { Clock } from '../../engine/ports.js';
import type { Hex, PoolKey } from '../../engine/quote.js';
import type { GasRefusal } from '../../quota/gas-budget.js';
import { settleBoth, mapLimit } from '../../system/timers.js';
import { expirationRefusal, parseExpiration } from '../../wire/expiration.js';
import type { OptionTerms } from '../../wire/options.js';
import type { DeployedItem } from '../../wire/answers.js';
import { TRANSACTION_UNCONFIRMED } from '../../wire/unconfirmed.js';
import { encodeDeployPool } from '../contracts/abi-encoding.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { unlessChainFails } from '../contracts/contract-errors.js';
import { type FoundPool, findPools } from '../follow/pool-addresses.js';
import type { GasAccount, Operator, TxOutcome } from '../wallet/operator.js';
import type { ChainSeconds, OptionSeries } from './option-series.js';

export type DeployResult =
  | { readonly type: 'ANSWERED'; readonly items: readonly DeployedItem[] }
  | { readonly type: 'CHAIN_UNREACHABLE' }
  /** Nothing was deployed. */
  | GasRefusal;

/** `dateRefusal`: why no new pool may have this date. One that exists may: the rules are for new ones. */
interface PoolSearch {
  readonly type: 'FIND';
  readonly key: PoolKey;
  readonly dateRefusal: string | null;
}

type Plan = DeployedItem | PoolSearch;

/** A pool that is not there. */
interface Missing {
  readonly key: PoolKey;
  readonly poolAddress: Hex;
}

const NOT_LISTED = 'Deployment not confirmed yet';

/**
 * Deploys pools with the operator's wallet. A second request for a pool joins the pending deployment, and gets the
 * answer that the pool exists.
 */
export class PoolDeployer {
  /** By pool: its deployment until it has ended, which may be long after its requests were answered. */
  readonly #underWay = new Map<Hex, Promise<DeployedItem>>();

  constructor(
    private readonly operator: Pick<Operator, 'send' | 'deadline'>,
    private readonly reader: Pick<ChainReader, 'multicall'>,
    private readonly poolFactory: Hex,
    private readonly series: OptionSeries,
    private readonly arrivals: Pick<PoolIndexWait, 'whenKnown'>,
    private readonly nowSeconds: ChainSeconds,
    /** Deployments of one request under way at once. */
    private readonly inFlight: number,
  ) {}

  /** In the order of `options`, whose symbols all have tokens; each fails alone, but for want of gas to pay with. */
  async deploy(options: readonly OptionTerms[], gasAccount: GasAccount): Promise<DeployResult> {
    const now = this.nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const plans = options.map((option) => this.#plan(option, now));
    return unlessChainFails(
      async () => {
        const searches = plans.filter((plan) => plan.type === 'FIND');
        const keys = searches.map(({ key }) => key);
        const found = await findPools(this.reader, this.poolFactory, keys);
        const missing = missingPools(searches, found);
        const joined = missing.filter(({ poolAddress }) => this.#underWay.has(poolAddress));
        const own = missing.filter((pool) => !joined.includes(pool));
        const refusal = gasAccount.take(own.length);
        if (refusal !== null) return refusal;
        const ensure = async (pool: Missing) => [pool.poolAddress, await this.#ensure(pool, gasAccount)] as const;
        // Pending deployments are joined at once: one that failed before its turn would be sent anew, without gas taken.
        const [joinedItems, ownItems] = await settleBoth(
          mapLimit(joined, joined.length, ensure),
          mapLimit(own, this.inFlight, ensure),
        );
        return { type: 'ANSWERED', items: answers(plans, found, new Map([...joinedItems, ...ownItems])) };
      },
      { type: 'CHAIN_UNREACHABLE' },
    );
  }

  #plan(option: OptionTerms, now: number): Plan {
    const { expiration } = option;
    const maturity = parseExpiration(expiration);
    if (maturity === null) return failed(`Invalid expiration date: ${expiration}`);
    const key = this.series.poolKey(option, maturity);
    return { type: 'FIND', key, dateRefusal: expirationRefusal(expiration, now) };
  }

  #ensure(pool: Missing, gasAccount: GasAccount): Promise<DeployedItem> {
    const underWay = this.#underWay.get(pool.poolAddress);
    return underWay === undefined ? this.#create(pool, gasAccount) : this.#join(underWay);
  }

  async #join(underWay: Promise<DeployedItem>): Promise<DeployedItem> {
    const item = await this.operator.deadline().wait(underWay);
    return item === 'TOO_LONG' ? failed(TRANSACTION_UNCONFIRMED) : forTheNext(item);
  }

  async #create({ key, poolAddress }: Missing, gasAccount: GasAccount): Promise<DeployedItem> {
    const { outcome, end } = this.operator.send({ to: this.poolFactory, data: encodeDeployPool(key) }, gasAccount);
    const deployment = end
      .then((ended) => this.#outcomeOf(ended, poolAddress))
      .finally(() => this.#underWay.delete(poolAddress));
    deployment.catch(() => undefined); // it may be that nobody waits for it any more
    this.#underWay.set(poolAddress, deployment);
    return (await outcome) === 'TOO_LONG' ? failed(TRANSACTION_UNCONFIRMED) : deployment;
  }

  /** Somebody else's deployment may come first, on the way to the chain or in the same block: then the pool existed. */
  async #outcomeOf(outcome: TxOutcome, poolAddress: Hex): Promise<DeployedItem> {
    const lostRace = outcome.type === 'REVERTED' && outcome.name === 'PoolFactory__PoolAlreadyDeployed';
    if (outcome.type !== 'DONE' && !lostRace) return failed(outcome.reason);
    if (!(await this.arrivals.whenKnown(poolAddress))) return failed(NOT_LISTED);
    return { type: lostRace ? 'EXISTED' : 'CREATED', poolAddress };
  }
}

/** Those that may be deployed, each once, in the order of the request: they take a transaction each. */
function missingPools(searches: readonly PoolSearch[], found: ReadonlyMap<PoolKey, FoundPool>): Missing[] {
  const missing = new Map<Hex, Missing>();
  for (const { key, dateRefusal } of searches) {
    const pool = found.get(key);
    if (dateRefusal !== null || pool?.type !== 'FOUND' || pool.isDeployed) continue;
    const { poolAddress } = pool;
    if (!missing.has(poolAddress)) missing.set(poolAddress, { key, poolAddress });
  }
  return [...missing.values()];
}

/** `items`: what became of the pools that were missing. */
function answers(
  plans: readonly Plan[],
  found: ReadonlyMap<PoolKey, FoundPool>,
  items: ReadonlyMap<Hex, DeployedItem>,
): DeployedItem[] {
  const answered = new Set<Hex>();
  return plans.map((plan) => {
    if (plan.type !== 'FIND') return plan;
    const { key, dateRefusal } = plan;
    const pool = found.get(key);
    if (pool === undefined) throw new Error('A key was not searched');
    const isThere = pool.type === 'FOUND' && pool.isDeployed;
    if (dateRefusal !== null && !isThere) return failed(dateRefusal);
    if (pool.type === 'IMPOSSIBLE') return failed(pool.reason);
    const { poolAddress } = pool;
    const item = items.get(poolAddress) ?? { type: 'EXISTED', poolAddress };
    if (answered.has(poolAddress)) return forTheNext(item);
    answered.add(poolAddress);
    return item;
  });
}

/** The answer of requests that joined: for them the pool exists. */
function forTheNext(item: DeployedItem): DeployedItem {
  return item.type === 'CREATED' ? { ...item, type: 'EXISTED' } : item;
}

function failed(reason: string): DeployedItem {
  return { type: 'FAILED', reason };
}

/** The pools that the index knows, as one who waits for a pool sees them. */
export interface KnownPools {
  knows(poolAddress: Hex): boolean;
  /** Null: all that is known is durable. */
  whenDurable(): Promise<void> | null;
}

/** Delays the answer to a deployment until the index has the pool, so that the client's next request lists it. */
export class PoolIndexWait {
  readonly #waiting = new Map<Hex, Set<() => void>>();

  constructor(
    private readonly pools: KnownPools,
    private readonly clock: Clock,
    private readonly patienceMs: number,
  ) {}

  /** The deployment's event is in the log. */
  arrived(poolAddress: Hex): void {
    const waiters = this.#waiting.get(poolAddress);
    this.#waiting.delete(poolAddress);
    for (const resolve of waiters ?? []) resolve();
  }

  /** True once the index has the pool; false after `patienceMs`. */
  async whenKnown(poolAddress: Hex): Promise<boolean> {
    if (!this.pools.knows(poolAddress)) await this.#wait(poolAddress);
    if (!this.pools.knows(poolAddress)) return false;
    await this.pools.whenDurable();
    return true;
  }

  async #wait(poolAddress: Hex): Promise<void> {
    const waiters = this.#waiting.get(poolAddress) ?? new Set();
    this.#waiting.set(poolAddress, waiters);
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(this.patienceMs, () => done());
      const done = (): void => {
        cancel();
        waiters.delete(done);
        if (waiters.size === 0 && this.#waiting.get(poolAddress) === waiters) this.#waiting.delete(poolAddress);
        resolve();
      };
      waiters.add(done);
    });
  }
}
