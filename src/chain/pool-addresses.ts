import { getAbiItem, toFunctionSelector } from 'viem';
import type { Hex, Pool, PoolKey } from '../engine/quote.js';
import { poolKeyWords } from './abi-words.js';
import { poolFactoryAbi } from './abi/pool-factory.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { ChainReader, ContractCall } from './chain-reader.js';
import { checksummed } from './checksum.js';
import { isLimit, RpcError } from './http-rpc.js';
import { mapInFlight } from './in-flight.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Requests about keys that are refused as yet, one key each. */
const ASKED_IN_FLIGHT = 8;

/**
 * Pools by their keys, as the factory answers: an address follows from the key alone, so an answer is kept for good. A
 * key that the factory refuses is not kept: which dates are allowed changes as time passes.
 */
export class PoolAddresses {
  readonly #pools = new Map<string, Pool>();
  /** Pools that the factory refuses as yet. */
  readonly #later = new Map<string, Pool>();

  constructor(
    private readonly settlement: Pick<ChainReader, 'multicall' | 'callAtTime'>,
    private readonly factory: Hex,
    /** Pools remembered; when full, the memory starts anew. */
    private readonly capacity: number,
  ) {}

  /** In the order of `keys`; null where the factory refuses the key. One round trip for all that are not known. */
  async resolve(keys: readonly PoolKey[]): Promise<(Pool | null)[]> {
    const found = new Map<string, Pool>();
    const unknown = new Map<string, PoolKey>();
    for (const key of keys) {
      const name = nameOf(key);
      const pool = this.#pools.get(name);
      if (pool !== undefined) found.set(name, pool);
      else unknown.set(name, key);
    }
    for (const [name, pool] of await this.#ask(unknown)) {
      found.set(name, pool);
      this.#remember(this.#pools, name, pool);
    }
    return keys.map((key) => found.get(nameOf(key)) ?? null);
  }

  /**
   * As `resolve`, also where the factory refuses a key for its date alone: the nearer a maturity, the more dates it
   * allows, so it is asked as if the maturity were near. `now`: Unix seconds. Nodes that cannot be asked so refuse such
   * keys.
   */
  async resolveEvenLater(keys: readonly PoolKey[], now: number): Promise<(Pool | null)[]> {
    const pools = await this.resolve(keys);
    const refused = keys.filter((key, i) => pools[i] === null && key.maturity > now && key.maturity % DAY === 8 * HOUR);
    const later = new Map<string, Pool>();
    const distinct = new Map(refused.map((key) => [nameOf(key), key]));
    await mapInFlight([...distinct], ASKED_IN_FLIGHT, async ([name, key]) => {
      const pool = this.#later.get(name) ?? (await this.#askLater(key));
      if (pool === null) return;
      later.set(name, pool);
      this.#remember(this.#later, name, pool);
    });
    return keys.map((key, i) => pools[i] ?? later.get(nameOf(key)) ?? null);
  }

  async #ask(unknown: ReadonlyMap<string, PoolKey>): Promise<Map<string, Pool>> {
    const found = new Map<string, Pool>();
    if (unknown.size === 0) return found;
    const answers = await this.settlement.multicall([...unknown.values()].map((key) => this.#call(key)));
    [...unknown].forEach(([name, key], i) => {
      const answer = answers[i];
      if (answer !== undefined && !answer.reverted) found.set(name, decodePool(key, answer.data));
    });
    return found;
  }

  async #askLater(key: PoolKey): Promise<Pool | null> {
    try {
      const { reverted, data } = await this.settlement.callAtTime(this.#call(key), key.maturity - 1);
      return reverted ? null : decodePool(key, data);
    } catch (error) {
      if (error instanceof RpcError && !isLimit(error)) return null;
      throw error; // an answer may come yet: a quote that is refused here is lost
    }
  }

  #call(key: PoolKey): ContractCall {
    return { to: this.factory, data: encodeGetPoolAddress(key) };
  }

  #remember(pools: Map<string, Pool>, name: string, pool: Pool): void {
    if (pools.size >= this.capacity) pools.clear();
    pools.set(name, pool);
  }
}

function decodePool(poolKey: PoolKey, data: Hex): Pool {
  return { poolAddress: decodeGetPoolAddress(data).poolAddress, poolKey: checksummed(poolKey) };
}

const SELECTOR = toFunctionSelector(getAbiItem({ abi: poolFactoryAbi, name: 'getPoolAddress' }));
/** An address and a flag. */
const ANSWER = /^0x0{24}([0-9a-f]{40})0{63}([01])$/;

/** Calldata of `PoolFactory.getPoolAddress`. The key's addresses may have any letter case. */
export function encodeGetPoolAddress(key: PoolKey): Hex {
  return `${SELECTOR}${poolKeyWords(key)}`;
}

/** What it returned, the address in lower case. Throws ChainAnswerError where it is of another form. */
export function decodeGetPoolAddress(data: Hex): { readonly poolAddress: Hex; readonly isDeployed: boolean } {
  const [, address, isDeployed] = ANSWER.exec(data.toLowerCase()) ?? [];
  if (address === undefined) throw new ChainAnswerError('The answer of a contract is not of its form');
  return { poolAddress: `0x${address}`, isDeployed: isDeployed === '1' };
}

function nameOf({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): string {
  return `${base},${quote},${oracleAdapter},${strike},${maturity},${isCallPool}`.toLowerCase();
}
