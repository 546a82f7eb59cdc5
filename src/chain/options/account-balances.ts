import { encodeEventTopics, encodeFunctionData } from 'viem';
import type { Clock } from '../../engine/ports.js';
import { type Hex, type Pool, ZERO_ADDRESS } from '../../engine/quote.js';
import { LruMap } from '../../system/lru-map.js';
import type { PacedWork } from '../../system/paced-work.js';
import type { ChainRead, OptionBalance, TokenBalance } from '../../wire/answers.js';
import { formatDecimal } from '../../wire/primitives.js';
import { readUint } from '../contracts/abi-encoding.js';
import { LONG, optionTokenAbi, poolFactoryAbi, SHORT } from '../contracts/abi.js';
import type { BlockId } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { unlessChainFails, revertText } from '../contracts/contract-errors.js';
import type { ContractProfile, Profile } from '../contracts/deployments.js';
import { balanceCall, decimalsCall, positionCall } from '../contracts/token-calls.js';
import { decodeDeployment } from '../follow/settlement-events.js';
import { RpcError } from '../rpc/rpc-errors.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';
import type { OptionSeries } from './option-series.js';

export interface AccountLimits {
  /** Blocks of one log query that is not halved any more. */
  readonly logRangeBlocks: number;
  /** Log queries of one request; the next request continues after them. */
  readonly balanceLogQueries: number;
  /** Newest blocks that are read again, since a reorg may replace them. */
  readonly reorgDepth: number;
  /** Pools whose balances are asked for. */
  readonly balancePools: number;
  readonly balanceCacheMs: number;
  readonly balanceCacheWallets: number;
}

/** A position as the chain has it: whether its option is open depends on when it is asked. */
type HeldPosition = Omit<OptionBalance, 'isOpen'> & { readonly maturity: number };

interface NamedPool {
  readonly pool: Pool;
  readonly name: string;
}

/** Bounds the calls and answers that one request holds in memory, two for each pool. */
const POOLS_AT_ONCE = 640;

/** Reads an account's holdings on the settlement chain from the contracts, at the newest block. */
export class AccountBalances {
  readonly #pools: DeployedPools;
  /** By wallet: positions, or their reading under way. */
  readonly #kept: LruMap<Hex, { readonly atMs: number; readonly read: Promise<HeldPosition[]> }>;

  constructor(
    private readonly reader: Pick<ChainReader, 'multicall' | 'nativeBalance' | 'logs' | 'head' | 'block'>,
    private readonly profile: Pick<Profile, 'tokens' | 'contracts'>,
    series: OptionSeries,
    private readonly clock: Clock,
    /** Engine time, Unix seconds. */
    private readonly nowSeconds: () => number,
    private readonly limits: AccountLimits,
  ) {
    this.#pools = new DeployedPools(reader, profile.contracts.poolFactory, series, limits);
    this.#kept = new LruMap(limits.balanceCacheWallets);
  }

  /** Every token of the chain's table, in its order. */
  collateral(wallet: Hex): Promise<ChainRead<TokenBalance[]>> {
    return reading(async () => {
      const { tokens } = this.profile;
      // viem refuses an address in mixed case whose checksum is wrong.
      const account = wallet.toLowerCase() as Hex;
      const calls = tokens.flatMap(({ address }) => [decimalsCall(address), balanceCall(address, account)]);
      const answers = await this.reader.multicall(calls);
      return tokens.map(({ symbol, address }, i) => {
        const [decimals, units] = [readUint(answers[2 * i]), readUint(answers[2 * i + 1])];
        if (decimals !== null && units !== null && decimals <= 255n) {
          return { symbol, address, units, decimals: Number(decimals) };
        }
        const refusal = [answers[2 * i], answers[2 * i + 1]].find((answer) => answer?.reverted);
        return { symbol, reason: refusal === undefined ? 'The token tells no balance' : revertText(refusal.data) };
      });
    });
  }

  /** Wei. */
  native(wallet: Hex): Promise<ChainRead<bigint>> {
    return reading(() => this.reader.nativeBalance(wallet));
  }

  /**
   * In the order of the pools' deployment; at most `balanceCacheMs` old. `work` is charged a row for each call of a
   * contract that is made for it.
   */
  options(wallet: Hex, work: Pick<PacedWork, 'charge'>): Promise<ChainRead<OptionBalance[]>> {
    return reading(async () => {
      const held = await this.#heldBy(wallet.toLowerCase() as Hex, work);
      const now = this.nowSeconds();
      return held.map(({ maturity, ...position }) => ({ ...position, isOpen: maturity > now }));
    });
  }

  /** The wallet's positions have changed: the next request reads them anew. */
  forget(wallet: Hex): void {
    const key = wallet.toLowerCase() as Hex;
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.#outdate(key, kept.read);
  }

  #heldBy(wallet: Hex, work: Pick<PacedWork, 'charge'>): Promise<HeldPosition[]> {
    const nowMs = this.clock.monotonicMs();
    const kept = this.#kept.get(wallet);
    if (kept !== undefined && nowMs - kept.atMs < this.limits.balanceCacheMs) return kept.read;
    const read = this.#readOptions(wallet, work);
    this.#kept.set(wallet, { atMs: nowMs, read });
    // A failure is not kept: the next request asks again.
    read.catch(() => this.#outdate(wallet, read));
    return read;
  }

  #outdate(wallet: Hex, read: Promise<HeldPosition[]>): void {
    this.#kept.set(wallet, { atMs: -Infinity, read });
  }

  async #readOptions(wallet: Hex, work: Pick<PacedWork, 'charge'>): Promise<HeldPosition[]> {
    const pools = await this.#pools.all();
    // Encoded once, not for each of thousands of pools: the calldata does not name the pool.
    const encoded = [SHORT, LONG].map((id) => positionCall(ZERO_ADDRESS, wallet, id).data);
    const held: HeldPosition[] = [];
    for (let start = 0; start < pools.length; start += POOLS_AT_ONCE) {
      held.push(...(await this.#readSlice(pools.slice(start, start + POOLS_AT_ONCE), encoded, work)));
    }
    return held;
  }

  async #readSlice(
    pools: readonly NamedPool[],
    encoded: readonly Hex[],
    work: Pick<PacedWork, 'charge'>,
  ): Promise<HeldPosition[]> {
    const calls = pools.flatMap(({ pool: { poolAddress: to } }) => encoded.map((data) => ({ to, data })));
    // Before they are made: a chain that fails is asked no more often.
    work.charge(calls.length, 0);
    const balances = (await this.reader.multicall(calls)).map(readUint);
    return pools.flatMap(({ pool, name }, i) => {
      const { poolAddress, poolKey } = pool;
      return (['SHORT', 'LONG'] as const).flatMap((exposure, nth) => {
        const amount = balances[2 * i + nth];
        if (amount == null || amount === 0n) return [];
        return [{ poolAddress, name, amount, exposure, maturity: poolKey.maturity }];
      });
    });
  }
}

/** Long contracts that are held in each pool, all of one block; null where the chain does not say. */
export async function longSupplies(
  reader: Pick<ChainReader, 'multicall'>,
  poolAddresses: readonly Hex[],
): Promise<readonly (bigint | null)[]> {
  const data = encodeFunctionData({ abi: optionTokenAbi, functionName: 'totalSupply', args: [LONG] });
  const answers = await unlessChainFails(() => reader.multicall(poolAddresses.map((to) => ({ to, data }))), null);
  return answers?.map(readUint) ?? poolAddresses.map(() => null);
}

function reading<T>(read: () => Promise<T>): Promise<ChainRead<T>> {
  return unlessChainFails(async () => ({ type: 'READ', value: await read() }), { type: 'CHAIN_UNREACHABLE' });
}

const [DEPLOYED] = encodeEventTopics({ abi: poolFactoryAbi, eventName: 'PoolDeployed' });

/**
 * All pools that the factory ever deployed and that have a name here, also expired ones, which the book forgets. Read
 * from the factory's logs when first asked for, in ranges as long as the node takes, and from then on continued. A pool
 * that a reorg removes stays: its address has no balances then.
 */
class DeployedPools {
  readonly #pools = new Map<Hex, NamedPool>();
  #next: number;
  #reading: Promise<void> | null = null;

  constructor(
    private readonly reader: Pick<ChainReader, 'logs' | 'head' | 'block'>,
    private readonly factory: ContractProfile,
    private readonly series: OptionSeries,
    private readonly limits: Pick<
      AccountLimits,
      'logRangeBlocks' | 'balanceLogQueries' | 'reorgDepth' | 'balancePools'
    >,
  ) {
    this.#next = factory.startBlock;
  }

  /** Those of the newest block, first deployed first. */
  async all(): Promise<NamedPool[]> {
    this.#reading ??= this.#readToHead().finally(() => (this.#reading = null));
    await this.#reading;
    return [...this.#pools.values()];
  }

  async #readToHead(): Promise<void> {
    const head = await this.reader.head();
    const headId: BlockId = { blockNumber: head.number, blockHash: head.hash };
    let from = this.#next;
    let length = head.number - from + 1;
    for (let queries = 0; from <= head.number; queries++) {
      if (queries >= this.limits.balanceLogQueries)
        throw new ChainAnswerError('The logs take more queries than one request may make');
      const last = Math.min(head.number, from + length - 1);
      try {
        const to =
          last === head.number ? headId : { blockNumber: last, blockHash: (await this.reader.block(last)).hash };
        await this.#readRange(from, to);
      } catch (error) {
        if (!(error instanceof RpcError) || length <= this.limits.logRangeBlocks) throw error;
        length = Math.max(this.limits.logRangeBlocks, Math.ceil(length / 2));
        continue;
      }
      from = last + 1;
      this.#next = Math.max(this.#next, Math.min(from, head.number + 1 - this.limits.reorgDepth));
    }
  }

  async #readRange(fromBlock: number, to: BlockId): Promise<void> {
    const logs = await this.reader.logs({
      fromBlock,
      to,
      address: this.factory.address.toLowerCase() as Hex,
      topics: [DEPLOYED],
    });
    for (const log of logs) {
      const event = decodeDeployment(log);
      if (event?.type !== 'POOL') continue;
      const option = this.series.describe(event.pool);
      const { poolAddress, poolKey } = event.pool;
      if (option === null || this.#pools.has(poolAddress)) continue;
      if (this.#pools.size >= this.limits.balancePools) this.#forgetFirst();
      const { base, quote, expiration, strike, type } = option;
      const year = new Date(poolKey.maturity * 1000).getUTCFullYear();
      const name = `${base}-${quote}-${expiration.slice(0, 5)}${year}-${formatDecimal(strike, 18)}-${type}`;
      this.#pools.set(poolAddress, { pool: event.pool, name });
    }
  }

  #forgetFirst(): void {
    const [first] = this.#pools.keys();
    if (first !== undefined) this.#pools.delete(first);
  }
}
