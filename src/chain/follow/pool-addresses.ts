import { getAbiItem, toFunctionSelector } from 'viem';
import type { Hex, Pool, PoolKey } from '../../engine/quote.js';
import { LruMap } from '../../system/lru-map.js';
import { mapLimit } from '../../system/timers.js';
import { type CallResult, type ContractCall, poolKeyWords } from '../contracts/abi-encoding.js';
import { poolFactoryAbi } from '../contracts/abi.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { revertName, revertText } from '../contracts/contract-errors.js';
import { checksummed } from '../contracts/deployments.js';
import { isRateLimit, RpcError } from '../rpc/rpc-errors.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Of the factory's refusals those that pass as time does. */
const DATE_REFUSAL = /^PoolFactory__Option(Expired|Maturity)/;
/** So near its maturity, and nearer, a pool may have any date at 08:00 UTC. */
const ANY_DATE_WITHIN = 3 * DAY;
/** A pool can be deployed a year before its maturity; who quotes one a year before that is not listened to. */
const FARTHEST = 2 * 365 * DAY;
/** Requests about keys that are refused as yet, those of three days each: 250 at most, whatever anybody publishes. */
const ASKED_IN_FLIGHT = 8;

/**
 * Pools by their keys, as the factory answers: an address follows from the key alone, so an answer is kept for good. A
 * key that the factory refuses is not kept: which dates are allowed changes as time passes.
 */
export class PoolAddresses {
  readonly #pools: LruMap<string, Pool>;
  /** Pools that the factory refuses as yet. */
  readonly #later: LruMap<string, Pool>;

  constructor(
    private readonly settlement: Pick<ChainReader, 'multicall' | 'multicallAtTime'>,
    private readonly factory: Hex,
    /** Pools remembered: those used last, and up to as many more. */
    capacity: number,
  ) {
    this.#pools = new LruMap(capacity);
    this.#later = new LruMap(capacity);
  }

  /** In the order of `keys`; null where the factory refuses the key. One round trip for all that are not known. */
  async resolve(keys: readonly PoolKey[]): Promise<(Pool | null)[]> {
    const { found } = await this.#look(keys);
    return keys.map((key) => found.get(nameOf(key)) ?? null);
  }

  /**
   * As `resolve`, also where the factory refuses a key for its date alone: the nearer a maturity, the more dates it
   * allows, so it is asked as if the maturity were near. `now`: Unix seconds. Nodes that cannot be asked so refuse such
   * keys.
   */
  async resolveEvenLater(keys: readonly PoolKey[], now: number): Promise<(Pool | null)[]> {
    const { found, refusedForDates } = await this.#look(keys);
    const later: PoolKey[] = [];
    for (const [name, key] of refusedForDates) {
      const known = this.#later.get(name);
      if (known !== undefined) found.set(name, known);
      else if (mayComeTrue(key.maturity, now)) later.push(key);
    }
    await mapLimit(inWindows(later), ASKED_IN_FLIGHT, async (window) => {
      for (const [name, pool] of await this.#askLater(window)) {
        found.set(name, pool);
        this.#later.set(name, pool);
      }
    });
    return keys.map((key) => found.get(nameOf(key)) ?? null);
  }

  /** By name. */
  async #look(
    keys: readonly PoolKey[],
  ): Promise<{ readonly found: Map<string, Pool>; readonly refusedForDates: ReadonlyMap<string, PoolKey> }> {
    const found = new Map<string, Pool>();
    const unknown = new Map<string, PoolKey>();
    for (const key of keys) {
      const name = nameOf(key);
      const pool = this.#pools.get(name);
      if (pool !== undefined) found.set(name, pool);
      else unknown.set(name, key);
    }
    const refusedForDates = new Map<string, PoolKey>();
    if (unknown.size === 0) return { found, refusedForDates };
    const answers = await this.settlement.multicall([...unknown.values()].map((key) => this.#call(key)));
    for (const [i, [name, key]] of [...unknown].entries()) {
      const answer = answers[i];
      if (answer === undefined) continue;
      if (answer.reverted) {
        if (mayBeForItsDate(answer.data)) refusedForDates.set(name, key);
        continue;
      }
      const pool = decodePool(key, answer.data, this.factory);
      found.set(name, pool);
      this.#pools.set(name, pool);
    }
    return { found, refusedForDates };
  }

  /** Pools by name of keys whose maturities are near each other, as if they were near now. */
  async #askLater(window: readonly PoolKey[]): Promise<Map<string, Pool>> {
    const found = new Map<string, Pool>();
    try {
      const calls = window.map((key) => this.#call(key));
      const first = Math.min(...window.map(({ maturity }) => maturity));
      const answers = await this.settlement.multicallAtTime(calls, first - 1);
      for (const [i, key] of window.entries()) {
        const answer = answers[i];
        if (answer !== undefined && !answer.reverted)
          found.set(nameOf(key), decodePool(key, answer.data, this.factory));
      }
    } catch (error) {
      // Else an answer may come yet: a quote that is refused here is lost.
      if (!(error instanceof RpcError) || isRateLimit(error)) throw error;
    }
    return found;
  }

  #call(key: PoolKey): ContractCall {
    return { to: this.factory, data: encodeGetPoolAddress(key) };
  }
}

function decodePool(poolKey: PoolKey, data: Hex, factory: Hex): Pool {
  return { poolAddress: decodeGetPoolAddress(data, factory).poolAddress, poolKey: checksummed(poolKey) };
}

/** Whether the factory's error of that name says that a new pool may not have the key's date. */
export function isDateRefusal(name: string): boolean {
  return DATE_REFUSAL.test(name);
}

/** Also for what this factory does not name. */
function mayBeForItsDate(revert: Hex): boolean {
  const name = revertName(revert);
  return name === null || isDateRefusal(name);
}

/** At 08:00 UTC of a day that is not too far. */
function mayComeTrue(maturity: number, now: number): boolean {
  return maturity > now && maturity % DAY === 8 * HOUR && maturity - now <= FARTHEST;
}

/** Keys by their maturities, so many together as are allowed at the same time. */
function inWindows(keys: readonly PoolKey[]): PoolKey[][] {
  const windows: PoolKey[][] = [];
  let last: PoolKey[] = [];
  for (const key of [...keys].sort((a, b) => a.maturity - b.maturity)) {
    const [first] = last;
    if (first === undefined || key.maturity - (first.maturity - 1) >= ANY_DATE_WITHIN) windows.push((last = []));
    last.push(key);
  }
  return windows;
}

const SELECTOR = toFunctionSelector(getAbiItem({ abi: poolFactoryAbi, name: 'getPoolAddress' }));
/** An address and a flag. */
const ANSWER = /^0x0{24}([0-9a-f]{40})0{63}([01])$/;

/** Calldata of `PoolFactory.getPoolAddress`. The key's addresses may have any letter case. */
export function encodeGetPoolAddress(key: PoolKey): Hex {
  return `${SELECTOR}${poolKeyWords(key)}`;
}

/** The result that it returned, with the address in lower case. Throws ChainAnswerError where it is of another form. */
export function decodeGetPoolAddress(
  data: Hex,
  factory: Hex,
): { readonly poolAddress: Hex; readonly isDeployed: boolean } {
  const [, address, isDeployed] = ANSWER.exec(data.toLowerCase()) ?? [];
  if (address === undefined) throw new ChainAnswerError(`The answer of ${factory} is not of its form`);
  return { poolAddress: `0x${address}`, isDeployed: isDeployed === '1' };
}

function nameOf({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): string {
  return `${base},${quote},${oracleAdapter},${strike},${maturity},${isCallPool}`.toLowerCase();
}

/** The factory's answer for a key now. */
export type FoundPool =
  | { readonly type: 'FOUND'; readonly poolAddress: Hex; readonly isDeployed: boolean }
  /** There is no such pool and none can be deployed; the factory's error by name. */
  | { readonly type: 'IMPOSSIBLE'; readonly reason: string };

/**
 * By the very objects of `keys`. A pool that exists is found whatever its date: the factory judges only keys of new
 * ones.
 */
export async function findPools(
  reader: Pick<ChainReader, 'multicall'>,
  poolFactory: Hex,
  keys: readonly PoolKey[],
): Promise<Map<PoolKey, FoundPool>> {
  const answers = await reader.multicall(keys.map((key) => ({ to: poolFactory, data: encodeGetPoolAddress(key) })));
  return new Map(keys.map((key, i) => [key, readAnswer(answers[i], poolFactory)]));
}

function readAnswer(answer: CallResult | undefined, poolFactory: Hex): FoundPool {
  if (answer === undefined) throw new ChainAnswerError('Fewer answers came than were asked for');
  const { reverted, data } = answer;
  if (reverted) return { type: 'IMPOSSIBLE', reason: revertText(data) };
  return { type: 'FOUND', ...decodeGetPoolAddress(data, poolFactory) };
}
