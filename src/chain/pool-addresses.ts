import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Hex, Pool, PoolKey } from '../engine/quote.js';
import { poolFactoryAbi } from './abi/pool-factory.js';
import type { ChainReader } from './chain-reader.js';
import { checksummed } from './checksum.js';

/**
 * Pools by their keys, as the factory answers: an address follows from the key alone, so an answer is kept for good. A key
 * that the factory refuses is not kept: which dates are allowed changes as time passes.
 */
export class PoolAddresses {
  readonly #pools = new Map<string, Pool>();

  constructor(
    private readonly settlement: ChainReader,
    private readonly factory: Hex,
    /** Pools remembered; when full, the memory starts anew. */
    private readonly capacity: number,
  ) {}

  /** In the order of `keys`; null where the factory refuses the key. One round trip for all that are not known. */
  async resolve(keys: readonly PoolKey[]): Promise<(Pool | null)[]> {
    const unknown = new Map<string, PoolKey>();
    for (const key of keys) {
      const name = nameOf(key);
      if (!this.#pools.has(name)) unknown.set(name, key);
    }
    const found = await this.#ask(unknown);
    return keys.map((key) => this.#pools.get(nameOf(key)) ?? found.get(nameOf(key)) ?? null);
  }

  async #ask(unknown: ReadonlyMap<string, PoolKey>): Promise<Map<string, Pool>> {
    const found = new Map<string, Pool>();
    if (unknown.size === 0) return found;
    const answers = await this.settlement.multicall(
      [...unknown.values()].map((key) => ({ to: this.factory, data: encodeGetPoolAddress(key) })),
    );
    if (this.#pools.size + unknown.size > this.capacity) this.#pools.clear();
    [...unknown].forEach(([name, key], i) => {
      const answer = answers[i];
      if (answer === undefined || answer.reverted) return;
      const [address] = decodeFunctionResult({
        abi: poolFactoryAbi,
        functionName: 'getPoolAddress',
        data: answer.data,
      });
      const pool: Pool = { poolAddress: address.toLowerCase() as Hex, poolKey: checksummed(key) };
      found.set(name, pool);
      this.#pools.set(name, pool);
    });
    return found;
  }
}

/** Calldata of `PoolFactory.getPoolAddress`. */
export function encodeGetPoolAddress(key: PoolKey): Hex {
  const args = [{ ...key, maturity: BigInt(key.maturity) }] as const;
  return encodeFunctionData({ abi: poolFactoryAbi, functionName: 'getPoolAddress', args });
}

function nameOf({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): string {
  return `${base},${quote},${oracleAdapter},${strike},${maturity},${isCallPool}`.toLowerCase();
}
