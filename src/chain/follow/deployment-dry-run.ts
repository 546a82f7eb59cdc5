import { toFunctionSelector } from 'viem';
import type { Clock } from '../../engine/ports.js';
import type { Hex, PoolKey } from '../../engine/quote.js';
import { LruMap } from '../../system/lru-map.js';
import { Deadline, mapLimit } from '../../system/timers.js';
import { type CallResult, encodeDeployPool } from '../contracts/abi-encoding.js';
import type { AtBlock } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { revertName } from '../contracts/contract-errors.js';
import { isExecutionError, RpcError } from '../rpc/rpc-errors.js';

export interface DeploymentDryRunLimits {
  /** Gas limit of one dry run. */
  readonly gas: number;
  readonly inFlight: number;
  /** How long a caller waits for the results that it lacks. */
  readonly patienceMs: number;
  /** Results remembered: those used last, and up to as many more. */
  readonly remembered: number;
  readonly maxAgeMs: number;
}

interface Result {
  readonly isDeployable: boolean;
  readonly atMs: number;
}

/**
 * Whether the factory deploys pools of two tokens and an oracle. The factory has the oracle take up the pair, and a new
 * pool reads the decimals of both tokens: any of the three may refuse. Strike, maturity and type play no part in that, so
 * one `deployPool` that the node runs by `eth_call` answers for all pools of the three. Its result is remembered. With few
 * contracts of his own anyone can name thousands of threes, and the book must not wait for them: a three without a result
 * in time counts as not deployable until it is asked for again.
 */
export class DeploymentDryRun {
  /** By the three addresses. */
  readonly #results: LruMap<string, Result>;
  /** Of all callers, one after another. */
  #dryRuns: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(
    private readonly settlement: Pick<ChainReader, 'call'>,
    private readonly poolFactory: Hex,
    private readonly clock: Clock,
    private readonly limits: DeploymentDryRunLimits,
  ) {
    this.#results = new LruMap(limits.remembered);
  }

  /** In the order of `keys`, which the factory takes at that block: it gives each an address. */
  async areDeployable(keys: readonly PoolKey[], at: AtBlock): Promise<boolean[]> {
    const found = new Map<string, boolean>();
    const unknown = new Map<string, PoolKey>();
    for (const key of keys) {
      const name = nameOf(key);
      const known = this.#recall(name);
      if (known === null) unknown.set(name, key);
      else found.set(name, known);
    }
    const { patienceMs, remembered } = this.limits;
    if (unknown.size > 0 && this.#waiting + unknown.size <= remembered) {
      await new Deadline(this.clock, patienceMs).wait(this.#findOut(unknown, at, found));
    }
    // A result that is not found out in time is as it was.
    return keys.map((key) => found.get(nameOf(key)) ?? this.#results.get(nameOf(key))?.isDeployable === true);
  }

  /** Goes on after its caller has stopped waiting. */
  #findOut(unknown: ReadonlyMap<string, PoolKey>, at: AtBlock, found: Map<string, boolean>): Promise<unknown> {
    this.#waiting += unknown.size;
    const dryRuns = this.#dryRuns
      .then(() =>
        mapLimit([...unknown], this.limits.inFlight, async ([name, key]) => {
          const isDeployable = this.#recall(name) ?? (await this.#dryRun(key, at));
          found.set(name, isDeployable);
          this.#results.set(name, { isDeployable, atMs: this.clock.monotonicMs() });
        }),
      )
      .finally(() => (this.#waiting -= unknown.size));
    this.#dryRuns = dryRuns.catch(() => undefined);
    return dryRuns;
  }

  async #dryRun(key: PoolKey, at: AtBlock): Promise<boolean> {
    const call = { to: this.poolFactory, data: encodeDeployPool(key) };
    try {
      return isPassed(await this.settlement.call(call, at, undefined, this.limits.gas));
    } catch (error) {
      // The code broke, by running out of gas for one. Anything else says nothing of the pool.
      if (error instanceof RpcError && isExecutionError(error.message)) return false;
      throw error;
    }
  }

  #recall(name: string): boolean | null {
    const result = this.#results.get(name);
    const isFresh = result !== undefined && this.clock.monotonicMs() - result.atMs < this.limits.maxAgeMs;
    return isFresh ? result.isDeployable : null;
  }
}

/** Of factories that are older than the published ones, which want no fee. */
const FEE_REQUIRED = toFunctionSelector('PoolFactory__InitializationFeeRequired(uint256,uint256)');

/**
 * The factory's own errors say nothing of tokens and oracle: it wants a fee, or another date or strike. All others come
 * from these.
 */
function isPassed({ reverted, data }: CallResult): boolean {
  return !reverted || data.startsWith(FEE_REQUIRED) || revertName(data)?.startsWith('PoolFactory__') === true;
}

function nameOf({ base, quote, oracleAdapter }: PoolKey): string {
  return `${base},${quote},${oracleAdapter}`.toLowerCase();
}
