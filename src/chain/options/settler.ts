import { encodeFunctionData } from 'viem';
import type { Hex, PoolKey } from '../../engine/quote.js';
import type { GasRefusal } from '../../quota/gas-budget.js';
import { mapLimit } from '../../system/timers.js';
import { parseExpiration } from '../../wire/expiration.js';
import type { OptionTerms } from '../../wire/options.js';
import type { SettledItem } from '../../wire/answers.js';
import { TRANSACTION_UNCONFIRMED } from '../../wire/unconfirmed.js';
import { readUint } from '../contracts/abi-encoding.js';
import { LONG, poolAbi, SHORT } from '../contracts/abi.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { chainFailureText, unlessChainFails } from '../contracts/contract-errors.js';
import { positionCall } from '../contracts/token-calls.js';
import { type FoundPool, findPools, isDateRefusal } from '../follow/pool-addresses.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';
import type { GasAccount, Operator, TxOutcome } from '../wallet/operator.js';
import type { ChainSeconds, OptionSeries } from './option-series.js';

export type SettlementResult =
  | { readonly type: 'ANSWERED'; readonly items: readonly SettledItem[] }
  | { readonly type: 'CHAIN_UNREACHABLE' }
  /** Nothing was settled. */
  | GasRefusal;

type Plan = SettledItem | { readonly type: 'SETTLE'; readonly key: PoolKey };

/** The operator's position in one pool, 1e-18 contracts. */
interface Position {
  readonly shorts: bigint;
  readonly longs: bigint;
}

/** By pool; null where the pool does not tell. */
type Positions = ReadonlyMap<Hex, Position | null>;

/** The outcome of one position. `end` resolves when no transaction of it is pending. */
interface Settlement {
  readonly item: SettledItem;
  readonly end: Promise<unknown>;
}

/** One call annihilates pairs, one closes the rest. */
const MOST_CLOSING_CALLS = 2;

const NOT_EXPIRED = failed('Option has not expired');
const NOT_DEPLOYED = failed('Pool is not deployed');
const NOTHING_HELD = failed('No balance to settle');
const NOT_TOLD = failed(chainFailureText(new ChainAnswerError('The pool tells no balances')));

/** The operation of a request on the positions that it names. */
interface Closing {
  /** Before its maturity an option fails with NOT_EXPIRED. */
  readonly afterMaturity: boolean;
  /** Calldata for the pool, in the order of sending; none where the position has nothing for it. */
  readonly calls: (position: Position) => Hex[];
  /** The most calls that `calls` gives. */
  readonly mostCalls: number;
  /** The answer where there are none. */
  readonly nothing: SettledItem;
  /** The answer for a key that no pool can have, whatever the date. */
  readonly impossible: SettledItem;
}

const NO_ADDRESS = failed('Can not get pool address');

const SETTLE: Closing = {
  afterMaturity: true,
  calls: closingCalls,
  mostCalls: MOST_CLOSING_CALLS,
  nothing: NOTHING_HELD,
  impossible: NOT_DEPLOYED,
};

/** The long half of SETTLE: shorts stay. */
const EXERCISE: Closing = {
  afterMaturity: true,
  calls: ({ longs }) => (longs > 0n ? [exerciseCall()] : []),
  mostCalls: 1,
  nothing: NOTHING_HELD,
  impossible: NO_ADDRESS,
};

const ANNIHILATE: Closing = {
  afterMaturity: false,
  calls: (position) => annihilateCalls(pairsOf(position)),
  mostCalls: 1,
  nothing: failed('No positions to annihilate'),
  impossible: NO_ADDRESS,
};

/** Closes the operator's positions: shorts return collateral, longs pay their value, pairs of both cancel out. */
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

  /**
   * Closes expired positions, longs and shorts. In the order of `options`, whose symbols all have tokens. Each fails
   * alone, except when the gas budget is exceeded.
   */
  settle(options: readonly OptionTerms[], gasAccount: GasAccount): Promise<SettlementResult> {
    return this.#closeAll(options, gasAccount, SETTLE);
  }

  /** As `settle`, for longs alone. */
  exercise(options: readonly OptionTerms[], gasAccount: GasAccount): Promise<SettlementResult> {
    return this.#closeAll(options, gasAccount, EXERCISE);
  }

  /** Gives up as many longs as shorts of each option, before or after its maturity. Answers as `settle`. */
  annihilate(options: readonly OptionTerms[], gasAccount: GasAccount): Promise<SettlementResult> {
    return this.#closeAll(options, gasAccount, ANNIHILATE);
  }

  async #closeAll(
    options: readonly OptionTerms[],
    gasAccount: GasAccount,
    closing: Closing,
  ): Promise<SettlementResult> {
    const now = this.nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const plans = options.map((option) => this.#plan(option, now, closing));
    return unlessChainFails(
      async () => {
        const keys = plans.flatMap((plan) => (plan.type === 'SETTLE' ? [plan.key] : []));
        const found = await findPools(this.reader, this.poolFactory, keys);
        const positions = await this.#positions(distinctDeployed([...found.values()]));
        const idle = new Map([...positions].flatMap(([pool, position]) => nothingToDo(pool, position, closing)));
        const held = [...positions.keys()].filter((pool) => !idle.has(pool));
        const refusal = gasAccount.take(held.length * closing.mostCalls);
        if (refusal !== null) return refusal;
        const settled = await mapLimit(
          held,
          this.inFlight,
          async (pool) => [pool, await this.#closeInTurn(pool, gasAccount, closing)] as const,
        );
        return { type: 'ANSWERED', items: answers(plans, found, new Map([...idle, ...settled]), closing) };
      },
      { type: 'CHAIN_UNREACHABLE' },
    );
  }

  /** Skips the rules for dates of new pools: closed options may lie in the past, and their pools exist. */
  #plan(option: OptionTerms, now: number, { afterMaturity }: Closing): Plan {
    const maturity = parseExpiration(option.expiration);
    if (maturity === null) return failed(`Invalid expiration date: ${option.expiration}`);
    if (afterMaturity && now < maturity) return NOT_EXPIRED;
    return { type: 'SETTLE', key: this.series.poolKey(option, maturity) };
  }

  /** One request a pool at a time, whatever it closes: a second transaction would revert and cost gas. */
  async #closeInTurn(poolAddress: Hex, gasAccount: GasAccount, closing: Closing): Promise<SettledItem> {
    const deadline = this.operator.deadline();
    for (let before = this.#underWay.get(poolAddress); before !== undefined; before = this.#underWay.get(poolAddress)) {
      if ((await deadline.wait(before)) === 'TOO_LONG') return failed(TRANSACTION_UNCONFIRMED);
    }
    const settlement = this.#closeOrFail(poolAddress, gasAccount, closing);
    const underWay = settlement
      .then(({ end }) => end)
      .catch(() => undefined) // reported to the request that began it
      .finally(() => this.#underWay.delete(poolAddress));
    this.#underWay.set(poolAddress, underWay);
    return (await settlement).item;
  }

  async #closeOrFail(poolAddress: Hex, gasAccount: GasAccount, closing: Closing): Promise<Settlement> {
    try {
      return await this.#close(poolAddress, gasAccount, closing);
    } catch (error) {
      return ended(failed(chainFailureText(error)));
    }
  }

  /** Uses the balances at the time of its turn. */
  async #close(poolAddress: Hex, gasAccount: GasAccount, closing: Closing): Promise<Settlement> {
    const position = (await this.#positions([poolAddress])).get(poolAddress);
    if (position == null) return ended(NOT_TOLD);
    const calls = closing.calls(position);
    if (calls.length === 0) return ended(closing.nothing);
    for (const data of calls) {
      const { outcome, end } = this.operator.send({ to: poolAddress, data }, gasAccount);
      const item = itemOf(await outcome);
      if (item.type === 'FAILED') return { item, end };
    }
    return ended({ type: 'SETTLED' });
  }

  async #positions(pools: readonly Hex[]): Promise<Positions> {
    const calls = pools.flatMap((pool) => [SHORT, LONG].map((id) => positionCall(pool, this.operator.address, id)));
    const balances = (await this.reader.multicall(calls)).map(readUint);
    return new Map(
      pools.map((pool, i) => {
        const [shorts, longs] = [balances[2 * i], balances[2 * i + 1]];
        return [pool, shorts == null || longs == null ? null : { shorts, longs }];
      }),
    );
  }
}

function distinctDeployed(pools: readonly FoundPool[]): Hex[] {
  return [...new Set(pools.flatMap((pool) => (pool.type === 'FOUND' && pool.isDeployed ? [pool.poolAddress] : [])))];
}

/** The answer for a position that needs no transaction. */
function nothingToDo(pool: Hex, position: Position | null, { calls, nothing }: Closing): [Hex, SettledItem][] {
  if (position === null) return [[pool, NOT_TOLD]];
  return calls(position).length === 0 ? [[pool, nothing]] : [];
}

function pairsOf({ shorts, longs }: Position): bigint {
  return shorts < longs ? shorts : longs;
}

function annihilateCalls(size: bigint): Hex[] {
  return size > 0n ? [encodeFunctionData({ abi: poolAbi, functionName: 'annihilate', args: [size] })] : [];
}

function exerciseCall(): Hex {
  return encodeFunctionData({ abi: poolAbi, functionName: 'exercise' });
}

/** Longs and shorts of one holder cancel out: annihilating them returns all collateral without a fee. */
function closingCalls(position: Position): Hex[] {
  const { shorts, longs } = position;
  const both = pairsOf(position);
  const calls = annihilateCalls(both);
  if (shorts > both) calls.push(encodeFunctionData({ abi: poolAbi, functionName: 'settle' }));
  if (longs > both) calls.push(exerciseCall());
  return calls;
}

/** Chain time may lag slightly behind ours, so a maturity may seem early there. */
function itemOf(outcome: TxOutcome | 'TOO_LONG'): SettledItem {
  if (outcome === 'TOO_LONG') return failed(TRANSACTION_UNCONFIRMED);
  if (outcome.type === 'DONE') return { type: 'SETTLED' };
  const isEarly = outcome.type === 'REVERTED' && outcome.name === 'Pool__OptionNotExpired';
  return isEarly ? NOT_EXPIRED : failed(outcome.reason);
}

/** `items`: outcomes of all deployed pools. A repeated option has nothing left to settle. */
function answers(
  plans: readonly Plan[],
  found: ReadonlyMap<PoolKey, FoundPool>,
  items: ReadonlyMap<Hex, SettledItem>,
  { nothing, impossible }: Closing,
): SettledItem[] {
  const answered = new Set<Hex>();
  return plans.map((plan) => {
    if (plan.type !== 'SETTLE') return plan;
    const pool = found.get(plan.key);
    if (pool === undefined) throw new Error('A key was not searched');
    // The factory refuses keys for their dates unless their pools exist.
    if (pool.type === 'IMPOSSIBLE') return isDateRefusal(pool.reason) ? NOT_DEPLOYED : impossible;
    if (!pool.isDeployed) return NOT_DEPLOYED;
    const { poolAddress } = pool;
    const item = items.get(poolAddress);
    if (item === undefined) throw new Error('A pool was left out');
    if (item.type === 'SETTLED' && answered.has(poolAddress)) return nothing;
    answered.add(poolAddress);
    return item;
  });
}

function ended(item: SettledItem): Settlement {
  return { item, end: Promise.resolve() };
}

function failed(reason: string): SettledItem {
  return { type: 'FAILED', reason };
}
