import type { BookOrder } from './order-book.js';
import type { Hex, Origin, Pool } from './quote.js';
import { MultisetHash, type HashedMember, UNCHANGED, type WordMixer } from './state-hash.js';
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
  readonly sum = new MultisetHash<ListedPool>(mixDeployedPool);
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
    const listed: ListedPool = { ...deployed, place: 0, lanes: null, placeAmongChanged: UNCHANGED };
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

/**
 * An order as the state sum has it: what it is by its id, when it came, and what became of it. The id is the digest of
 * all that the maker signed, so that looking at the rest of the quote would find little more, and take five times as
 * long: a dozen strings that are in no cache.
 */
export function mixOrder(order: BookOrder, mixer: WordMixer): void {
  const { quoteId, ts } = order.quote;
  mixer.begin();
  mixer.hex(quoteId);
  mixer.count(ts);
  mixer.count(order.blockNumber);
  mixer.count(order.logIndex);
  mixer.amount(order.fillableSize);
  mixer.word(order.reason ?? 0);
  mixer.count(order.touchedBlock);
  mixer.count(order.readBlock);
}

function mixDeployedPool({ pool, deployedAt, origin }: DeployedPool, mixer: WordMixer): void {
  mixer.begin();
  mixPool(pool, mixer);
  mixer.count(deployedAt);
  mixOrigin(origin, mixer);
}

function mixPool({ poolAddress, poolKey }: Pool, mixer: WordMixer): void {
  mixer.hex(poolAddress);
  mixer.hex(poolKey.base);
  mixer.hex(poolKey.quote);
  mixer.hex(poolKey.oracleAdapter);
  mixer.amount(poolKey.strike);
  mixer.count(poolKey.maturity);
  mixer.word(poolKey.isCallPool ? 1 : 0);
}

function mixOrigin({ blockNumber, txHash, logIndex }: Origin, mixer: WordMixer): void {
  mixer.count(blockNumber);
  mixer.hex(txHash);
  mixer.count(logIndex);
}
