import { encodeFunctionData } from 'viem';
import type { Hex, PoolKey } from '../engine/quote.js';
import { parseExpiration } from '../schema/expiration.js';
import type { OptionTerms } from '../schema/option-json.js';
import type { GasRefusal } from '../quota/gas-refusal.js';
import { LONG, optionTokenAbi, SHORT } from './abi/option-token.js';
import { poolAbi } from './abi/pool.js';
import type { ChainSeconds } from './chain-seconds.js';
import { ChainAnswerError, type ChainReader, type ContractCall } from './chain-reader.js';
import { chainFailureText, isChainFailure } from './contract-errors.js';
import type { GasPayer } from './gas-payer.js';
import { mapInFlight } from './in-flight.js';
import type { Operator, TxOutcome } from './operator.js';
import type { OptionSeries } from './option-series.js';
import { lookUpPools, type FoundPool } from './pool-lookup.js';
import { readUint } from './uint-answer.js';

/** What became of one position; `reason` is for people. */
export type SettleItem = { readonly type: 'SETTLED' } | { readonly type: 'FAILED'; readonly reason: string };

export type SettleResult =
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

/** Pairs are given up, and then what is left of one side. */
const MOST_CLOSING_CALLS = 2;

const NOT_EXPIRED = failed('Option has not expired');
const NOT_DEPLOYED = failed('Pool is not deployed');
const NOTHING_HELD = failed('No balance to settle');
const NOT_TOLD = failed(chainFailureText(new ChainAnswerError('The pool tells no balances')));

/** Settles what the operator holds in expired options: writers get their collateral back, holders what it is worth. */
export class Settler {
  /** By pool: the last settlement that was begun. The next of the same pool waits for it, and sees what it left. */
  readonly #underWay = new Map<Hex, Promise<SettleItem>>();

  constructor(
    private readonly operator: Pick<Operator, 'address' | 'send'>,
    private readonly reader: Pick<ChainReader, 'multicall'>,
    private readonly poolFactory: Hex,
    private readonly series: OptionSeries,
    private readonly nowSeconds: ChainSeconds,
    /** Positions of one request that are settled at once. */
    private readonly inFlight: number,
  ) {}

  /** In the order of `options`, whose symbols all have tokens; each fails alone, but for want of gas to pay with. */
  async settle(options: readonly OptionTerms[], payer: GasPayer): Promise<SettleResult> {
    const now = this.nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const plans = options.map((option) => this.#plan(option, now));
    try {
      const keys = plans.flatMap((plan) => (plan.type === 'SETTLE' ? [plan.key] : []));
      const found = await lookUpPools(this.reader, this.poolFactory, keys);
      const positions = await this.#positions(distinctDeployed([...found.values()]));
      const held = [...positions.values()].filter((position) => whyNothing(position) === null);
      const refusal = payer.take(held.length * MOST_CLOSING_CALLS);
      if (refusal !== null) return refusal;
      const items = await mapInFlight(plans, this.inFlight, async (plan) =>
        plan.type === 'SETTLE' ? this.#settlePool(found.get(plan.key), positions, payer) : plan,
      );
      return { type: 'ANSWERED', items };
    } catch (error) {
      if (isChainFailure(error)) return { type: 'CHAIN_UNREACHABLE' };
      throw error;
    }
  }

  /** Which dates a new pool may have is of no interest here: what is settled lies in the past. */
  #plan(option: OptionTerms, now: number): Plan {
    const maturity = parseExpiration(option.expiration);
    if (maturity === null) return failed(`Invalid expiration date: ${option.expiration}`);
    if (now < maturity) return NOT_EXPIRED;
    return { type: 'SETTLE', key: this.series.poolKey(option, maturity) };
  }

  /** Gas was taken for what `seen` tells of, and for nothing else. */
  async #settlePool(pool: FoundPool | undefined, seen: Positions, payer: GasPayer): Promise<SettleItem> {
    if (pool === undefined) throw new Error('A key was not looked up');
    // The factory refuses expired keys unless their pool exists.
    if (pool.type === 'IMPOSSIBLE' || !pool.isDeployed) return NOT_DEPLOYED;
    const { poolAddress } = pool;
    const nothing = whyNothing(seen.get(poolAddress));
    if (nothing !== null) return nothing;
    const before = this.#underWay.get(poolAddress);
    const settlement = this.#settleAfter(before, poolAddress, payer).finally(() => {
      if (this.#underWay.get(poolAddress) === settlement) this.#underWay.delete(poolAddress);
    });
    this.#underWay.set(poolAddress, settlement);
    return settlement;
  }

  async #settleAfter(before: Promise<SettleItem> | undefined, poolAddress: Hex, payer: GasPayer): Promise<SettleItem> {
    await before;
    try {
      return await this.#close(poolAddress, payer);
    } catch (error) {
      return failed(chainFailureText(error));
    }
  }

  /** By what is held when its turn has come. */
  async #close(poolAddress: Hex, payer: GasPayer): Promise<SettleItem> {
    const position = (await this.#positions([poolAddress])).get(poolAddress);
    if (position == null) return NOT_TOLD;
    const calls = closingCalls(position);
    if (calls.length === 0) return NOTHING_HELD;
    for (const data of calls) {
      const outcome = await this.operator.send({ to: poolAddress, data }, payer);
      if (outcome.type !== 'DONE') return failure(outcome);
    }
    return { type: 'SETTLED' };
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

/** Why no transaction is needed for it; null: it takes one or more. */
function whyNothing(position: Position | null | undefined): SettleItem | null {
  if (position == null) return NOT_TOLD;
  return position.shorts === 0n && position.longs === 0n ? NOTHING_HELD : null;
}

/** Longs and shorts of one holder cancel out: given up together they bring the whole collateral, and cost no fee. */
function closingCalls({ shorts, longs }: Position): Hex[] {
  const both = shorts < longs ? shorts : longs;
  const calls: Hex[] = [];
  if (both > 0n) calls.push(encodeFunctionData({ abi: poolAbi, functionName: 'annihilate', args: [both] }));
  if (shorts > both) calls.push(encodeFunctionData({ abi: poolAbi, functionName: 'settle' }));
  if (longs > both) calls.push(encodeFunctionData({ abi: poolAbi, functionName: 'exercise' }));
  return calls;
}

/** Time on chain may lag a little behind ours. */
function failure(outcome: Exclude<TxOutcome, { type: 'DONE' }>): SettleItem {
  const isEarly = outcome.type === 'REVERTED' && outcome.name === 'Pool__OptionNotExpired';
  return isEarly ? NOT_EXPIRED : failed(outcome.reason);
}

function failed(reason: string): SettleItem {
  return { type: 'FAILED', reason };
}
