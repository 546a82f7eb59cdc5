import { BucketIndex } from './bucket-index.js';
import { ChangingSum, UNCHANGED, type Summed } from './changing-sum.js';
import type { Hex, Origin, Pool } from './quote.js';
import { mixDeployedPool } from './state-terms.js';

export interface DeployedPool {
  readonly pool: Pool;
  /** Unix seconds, timestamp of the block that deployed it. */
  readonly deployedAt: number;
  readonly origin: Origin;
}

/** With its place among the pools of its maturity. */
interface ListedPool extends DeployedPool, Summed {
  place: number;
}

/** The pools that are deployed and have not matured. */
export class PoolRegistry {
  readonly sum = new ChangingSum<ListedPool>(mixDeployedPool);
  readonly #pools = new Map<Hex, ListedPool>();
  readonly #byMaturity = new BucketIndex<ListedPool>((pool, place) => (pool.place = place));

  get(poolAddress: Hex): DeployedPool | undefined {
    return this.#pools.get(poolAddress);
  }

  /** In the order in which they were added. */
  all(): Iterable<DeployedPool> {
    return this.#pools.values();
  }

  /** Unix second of the next maturity. */
  get nextMaturity(): number | undefined {
    return this.#byMaturity.lowest;
  }

  /** False when the pool is known already. */
  add(deployed: DeployedPool): boolean {
    const { poolAddress, poolKey } = deployed.pool;
    if (this.#pools.has(poolAddress)) return false;
    const listed: ListedPool = { ...deployed, place: 0, lanes: null, placeAmongChanged: UNCHANGED };
    this.#pools.set(poolAddress, listed);
    this.sum.note(listed);
    listed.place = this.#byMaturity.add(poolKey.maturity, listed);
    return true;
  }

  /** Forgets pools that have matured: options of them can be neither bought nor written any more. */
  expire(nowSeconds: number): void {
    for (const listed of this.#byMaturity.takeThrough(nowSeconds)) this.#forget(listed);
  }

  /** Forgets the pools that a block after `blockNumber` deployed; returns them, first deployed first. */
  rewind(blockNumber: number): Pool[] {
    const undone = [...this.#pools.values()].filter((deployed) => deployed.origin.blockNumber > blockNumber);
    undone.sort(byDeployment);
    for (const deployed of undone) {
      this.#forget(deployed);
      this.#byMaturity.remove(deployed.pool.poolKey.maturity, deployed.place);
    }
    return undone.map(({ pool }) => pool);
  }

  #forget(listed: ListedPool): void {
    this.#pools.delete(listed.pool.poolAddress);
    this.sum.drop(listed);
  }
}

/** For sorting: the first deployed first. */
export function byDeployment({ origin: a }: DeployedPool, { origin: b }: DeployedPool): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
}
