import { encodeFunctionData } from 'viem';
import type { Hex, PoolKey } from '../../engine/quote.js';
import type { GasRefusal } from '../../quota/gas-budget.js';
import { mapLimit } from '../../system/timers.js';
import { parseExpiration } from '../../wire/expiration.js';
import type { OptionTerms } from '../../wire/options.js';
import { type ContractCall, readUint } from '../contracts/abi-encoding.js';
import { LONG, optionTokenAbi, poolAbi, SHORT } from '../contracts/abi.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { chainFailureText, isChainFailure } from '../contracts/contract-errors.js';
import { type FoundPool, findPools } from '../follow/pool-addresses.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';
import { type GasPayer, NOT_CONFIRMED, type Operator, type TxOutcome } from '../wallet/operator.js';
import type { ChainSeconds, OptionSeries } from './option-series.js';

/** The outcome of one position; `reason` is for people. */
export type SettleItem = { readonly type: 'SETTLED' } | { readonly type: 'FAILED'; readonly reason: string };

export type SettlementResult =
  | { readonly type: 'ANSWERED'; readonly items: readonly SettleItem[] }
  | { readonly type: 'CHAIN_UNREACHABLE' }
  /** Nothing was settled. */
  | GasRefusal;

type Plan = SettleItem | { readonly type: 'SETTLE'; readonly key: PoolKey };

/** What the operator holds in one pool, 1e-18 contracts. */
interface Position {
  readonly shorts: bigint;
  readonly longs: bigint;
}

/** By pool; null where the pool does not tell. */
type Positions = ReadonlyMap<Hex, Position | null>;

/** The outcome of one position. `end` resolves when no transaction of it is pending. */
interface Settlement {
  readonly item: SettleItem;
  readonly end: Promise<unknown>;
}

/** One call annihilates pairs, one closes the rest. */
const MOST_CLOSING_CALLS = 2;

const NOT_EXPIRED = failed('Option has not expired');
const NOT_DEPLOYED = failed('Pool is not deployed');
const NOTHING_HELD = failed('No balance to settle');
const NOT_TOLD = failed(chainFailureText(new ChainAnswerError('The pool tells no balances')));

/** Settles the operator's expired positions: shorts return collateral, longs pay their value. */
export class Settler {
  /** Pending settlements by pool. The next one of the same pool starts after it. */
  readonly #underWay = new Map<Hex, Promise<unknown>>();

  constructor(
    private readonly operator: Pick<Operator, 'address' | 'send' | 'deadline'>,
    private readonly reader: Pick<ChainReader, 'multicall'>,
    private readonly poolFactory: Hex,
    private readonly series: OptionSeries,
    private readonly nowSeconds: ChainSeconds,
    /** Positions of one request settled concurrently. */
    private readonly inFlight: number,
  ) {}

  /** In the order of `options`, whose symbols all have tokens. Each fails alone, except when the gas budget is exceeded. */
  async settle(options: readonly OptionTerms[], payer: GasPayer): Promise<SettlementResult> {
    const now = this.nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const plans = options.map((option) => this.#plan(option, now));
    try {
      const keys = plans.flatMap((plan) => (plan.type === 'SETTLE' ? [plan.key] : []));
      const found = await findPools(this.reader, this.poolFactory, keys);
      const positions = await this.#positions(distinctDeployed([...found.values()]));
      const idle = new Map([...positions].flatMap(([pool, position]) => nothingToDo(pool, position)));
      const held = [...positions.keys()].filter((pool) => !idle.has(pool));
      const refusal = payer.take(held.length * MOST_CLOSING_CALLS);
      if (refusal !== null) return refusal;
      const settled = await mapLimit(
        held,
        this.inFlight,
        async (pool) => [pool, await this.#settleInTurn(pool, payer)] as const,
      );
      return { type: 'ANSWERED', items: answers(plans, found, new Map([...idle, ...settled])) };
    } catch (error) {
      if (isChainFailure(error)) return { type: 'CHAIN_UNREACHABLE' };
      throw error;
    }
  }

  /** Skips the rules for dates of new pools: settled options lie in the past. */
  #plan(option: OptionTerms, now: number): Plan {
    const maturity = parseExpiration(option.expiration);
    if (maturity === null) return failed(`Invalid expiration date: ${option.expiration}`);
    if (now < maturity) return NOT_EXPIRED;
    return { type: 'SETTLE', key: this.series.poolKey(option, maturity) };
  }

  /** One settlement a pool at a time: a second transaction would revert and cost gas. */
  async #settleInTurn(poolAddress: Hex, payer: GasPayer): Promise<SettleItem> {
    const deadline = this.operator.deadline();
    for (let before = this.#underWay.get(poolAddress); before !== undefined; before = this.#underWay.get(poolAddress)) {
      if ((await deadline.wait(before)) === 'TOO_LONG') return failed(NOT_CONFIRMED);
    }
    const settlement = this.#settle(poolAddress, payer);
    const underWay = settlement
      .then(({ end }) => end)
      .catch(() => undefined) // reported to the request that began it
      .finally(() => this.#underWay.delete(poolAddress));
    this.#underWay.set(poolAddress, underWay);
    return (await settlement).item;
  }

  async #settle(poolAddress: Hex, payer: GasPayer): Promise<Settlement> {
    try {
      return await this.#close(poolAddress, payer);
    } catch (error) {
      return ended(failed(chainFailureText(error)));
    }
  }

  /** Uses the balances at the time of its turn. */
  async #close(poolAddress: Hex, payer: GasPayer): Promise<Settlement> {
    const position = (await this.#positions([poolAddress])).get(poolAddress);
    if (position == null) return ended(NOT_TOLD);
    const calls = closingCalls(position);
    if (calls.length === 0) return ended(NOTHING_HELD);
    for (const data of calls) {
      const { outcome, end } = this.operator.send({ to: poolAddress, data }, payer);
      const item = itemOf(await outcome);
      if (item.type === 'FAILED') return { item, end };
    }
    return ended({ type: 'SETTLED' });
  }

  async #positions(pools: readonly Hex[]): Promise<Positions> {
    const calls = pools.flatMap((pool) => [SHORT, LONG].map((id) => this.#balanceCall(pool, id)));
    const balances = (await this.reader.multicall(calls)).map(readUint);
    return new Map(
      pools.map((pool, i) => {
        const [shorts, longs] = [balances[2 * i], balances[2 * i + 1]];
        return [pool, shorts == null || longs == null ? null : { shorts, longs }];
      }),
    );
  }

  #balanceCall(to: Hex, id: bigint): ContractCall {
    const args = [this.operator.address, id] as const;
    return { to, data: encodeFunctionData({ abi: optionTokenAbi, functionName: 'balanceOf', args }) };
  }
}

function distinctDeployed(pools: readonly FoundPool[]): Hex[] {
  return [...new Set(pools.flatMap((pool) => (pool.type === 'FOUND' && pool.isDeployed ? [pool.poolAddress] : [])))];
}

/** The answer for a position that needs no transaction. */
function nothingToDo(pool: Hex, position: Position | null): [Hex, SettleItem][] {
  if (position === null) return [[pool, NOT_TOLD]];
  return position.shorts === 0n && position.longs === 0n ? [[pool, NOTHING_HELD]] : [];
}

/** Longs and shorts of one holder cancel out: annihilating them returns all collateral without a fee. */
function closingCalls({ shorts, longs }: Position): Hex[] {
  const both = shorts < longs ? shorts : longs;
  const calls: Hex[] = [];
  if (both > 0n) calls.push(encodeFunctionData({ abi: poolAbi, functionName: 'annihilate', args: [both] }));
  if (shorts > both) calls.push(encodeFunctionData({ abi: poolAbi, functionName: 'settle' }));
  if (longs > both) calls.push(encodeFunctionData({ abi: poolAbi, functionName: 'exercise' }));
  return calls;
}

/** Chain time may lag slightly behind ours, so a maturity may seem early there. */
function itemOf(outcome: TxOutcome | 'TOO_LONG'): SettleItem {
  if (outcome === 'TOO_LONG') return failed(NOT_CONFIRMED);
  if (outcome.type === 'DONE') return { type: 'SETTLED' };
  const isEarly = outcome.type === 'REVERTED' && outcome.name === 'Pool__OptionNotExpired';
  return isEarly ? NOT_EXPIRED : failed(outcome.reason);
}

/** `items`: outcomes of all deployed pools. A repeated option has nothing left to settle. */
function answers(
  plans: readonly Plan[],
  found: ReadonlyMap<PoolKey, FoundPool>,
  items: ReadonlyMap<Hex, SettleItem>,
): SettleItem[] {
  const told = new Set<Hex>();
  return plans.map((plan) => {
    if (plan.type !== 'SETTLE') return plan;
    const pool = found.get(plan.key);
    if (pool === undefined) throw new Error('A key was not looked up');
    // The factory refuses expired keys unless their pool exists.
    if (pool.type === 'IMPOSSIBLE' || !pool.isDeployed) return NOT_DEPLOYED;
    const { poolAddress } = pool;
    const item = items.get(poolAddress);
    if (item === undefined) throw new Error('A pool was left out');
    if (item.type === 'SETTLED' && told.has(poolAddress)) return NOTHING_HELD;
    told.add(poolAddress);
    return item;
  });
}

function ended(item: SettleItem): Settlement {
  return { item, end: Promise.resolve() };
}

function failed(reason: string): SettleItem {
  return { type: 'FAILED', reason };
}
