import type { Hex, Origin, Pool } from './quote.js';
import { MultisetHash, type HashedMember, UNCHANGED, type WordHasher } from './state-hash.js';
import { TimeIndex } from './time-index.js';

export interface DeployedPool {
  readonly pool: Pool;
  /** Unix seconds, timestamp of the block that deployed it. */
  readonly deployedAt: number;
  readonly origin: Origin;
}

/** With its place among the pools of its maturity. */
interface ListedPool extends DeployedPool, HashedMember {
  place: number;
}

/** The pools that are deployed and have not matured. */
export class PoolRegistry {
  readonly sum = new MultisetHash<ListedPool>(hashDeployedPool);
  readonly #pools = new Map<Hex, ListedPool>();
  readonly #byMaturity = new TimeIndex<ListedPool>((pool, place) => (pool.place = place));

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

  has(poolAddress: Hex): boolean {
    return this.#pools.has(poolAddress);
  }

  /** False when the pool is known already. */
  add(deployed: DeployedPool): boolean {
    const { poolAddress, poolKey } = deployed.pool;
    if (this.#pools.has(poolAddress)) return false;
    const unhashed: HashedMember = { laneA: 0, laneB: 0, laneC: 0, laneD: 0, placeAmongChanged: UNCHANGED };
    const listed: ListedPool = { ...deployed, ...unhashed, place: 0 };
    this.#pools.set(poolAddress, listed);
    this.sum.markChanged(listed);
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
    this.sum.remove(listed);
  }
}

/**
 * For sorting: the first deployed first. Until a reorg is recognised, a pool of each branch may have the same place, and
 * an engine from a snapshot did not see which was added first: then the address decides.
 */
export function byDeployment({ origin: a, pool: { poolAddress } }: DeployedPool, other: DeployedPool): number {
  const { origin: b } = other;
  const byPlace = a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
  return byPlace || (poolAddress < other.pool.poolAddress ? -1 : 1);
}

function hashDeployedPool({ pool, deployedAt, origin }: DeployedPool, hasher: WordHasher): void {
  hasher.begin();
  hashPool(pool, hasher);
  hasher.count(deployedAt);
  hashOrigin(origin, hasher);
}

function hashPool({ poolAddress, poolKey }: Pool, hasher: WordHasher): void {
  hasher.hex(poolAddress);
  hasher.hex(poolKey.base);
  hasher.hex(poolKey.quote);
  hasher.hex(poolKey.oracleAdapter);
  hasher.amount(poolKey.strike);
  hasher.count(poolKey.maturity);
  hasher.word(poolKey.isCallPool ? 1 : 0);
}

function hashOrigin({ blockNumber, txHash, logIndex }: Origin, hasher: WordHasher): void {
  hasher.count(blockNumber);
  hasher.hex(txHash);
  hasher.count(logIndex);
}
