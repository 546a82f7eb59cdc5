import { encodeFunctionData } from 'viem';
import { type ContractCall, readUint } from '../chain/contracts/abi-encoding.js';
import { LONG, poolAbi, SHORT } from '../chain/contracts/abi.js';
import type { ChainReader } from '../chain/contracts/chain-reader.js';
import type { TokenProfile } from '../chain/contracts/deployments.js';
import { fillAmounts, fillCalldata, fillFeeCall, TokenUnits } from '../chain/contracts/fills.js';
import { collateralToken } from '../chain/contracts/quote-types.js';
import { allowanceCall, balanceCall, positionCall } from '../chain/contracts/token-calls.js';
import type { OptionSeries } from '../chain/options/option-series.js';
import type { GasAccount, Operator } from '../chain/wallet/operator.js';
import { type Hex, type Order, type Quote, ZERO_ADDRESS } from '../engine/quote.js';
import { GAS_PER_CANCEL, GAS_PER_CANCELLED_QUOTE, type GasRefusal } from '../quota/gas-budget.js';
import type { TokenCapRefusal, TokenCaps } from '../quota/token-caps.js';
import { mapLimit } from '../system/timers.js';
import type { CancelAnswer, CancelItem, FillAnswer, FillRequest, TradeItem } from '../wire/answers.js';
import { atOnce, type TurnResult, turnOf, type Turns } from './turns.js';

type FillResult = FillAnswer | GasRefusal | TokenCapRefusal;

export interface OrderTradingParts {
  readonly operator: Pick<Operator, 'address' | 'send' | 'deadline'>;
  readonly reader: Pick<ChainReader, 'multicall'>;
  readonly orders: { get(quoteId: Hex): Order | undefined };
  readonly series: Pick<OptionSeries, 'describe' | 'tokenAt'>;
  /** The contract that takes the taker's tokens. */
  readonly router: Hex;
  readonly referrer: Hex;
  readonly caps: TokenCaps;
  /** Fills and approvals of a token, and cancellations in a pool, take turns. */
  readonly turns: Turns;
  /** Pools of one request that transactions are sent to concurrently. */
  readonly inFlight: number;
}

/** A pool's filled size of a cancelled quote. */
const CANCELLED = 2n ** 256n - 1n;

const NOT_DEPLOYED: TradeItem = failed('Pool is not deployed');
const NOT_ACTIVE: TradeItem = failed('The quote is not active');
const UNKNOWN_OPTION: TradeItem = failed("Its pool has a token without a symbol, or another oracle's prices");
const WAITED: TradeItem = failed('Earlier transactions are not confirmed yet');

/** An order to fill, with what its fill takes from the wallet. */
interface Fill {
  readonly index: number;
  readonly quote: Quote;
  readonly size: bigint;
  readonly token: TokenProfile;
}

/** A fill that the wallet can pay; `units`: at most, of the token. */
interface PayableFill extends Fill {
  readonly units: bigint;
}

/** The wallet's balance of a token and the router's allowance of it, less what the request has planned to pay. */
interface Funds {
  balance: bigint;
  allowance: bigint;
}

/** Contracts in one pool that the wallet's fills close, less those that the request has planned to close. */
interface Closable {
  shorts: bigint;
  longs: bigint;
}

/** Fills quotes of the book, and cancels the operator's own, with the operator's wallet. */
export class OrderTrading {
  constructor(private readonly parts: OrderTradingParts) {}

  /** Each order fails alone, unless none of them can be paid. */
  async fill(requests: readonly FillRequest[], gasAccount: GasAccount): Promise<FillResult> {
    const { operator, turns } = this.parts;
    const items: TradeItem[] = requests.map(() => NOT_ACTIVE);
    const fills = requests.flatMap((request, index) => {
      const fill = this.#find(request, index);
      if ('token' in fill) return [fill];
      items[index] = fill;
      return [];
    });
    if (fills.length === 0) return { type: 'ANSWERED', items };
    const tokens = [...new Set(fills.map(({ token }) => turnOf(token.address)))];
    const task = () => this.#fillAll(fills, items, gasAccount);
    const result = await turns.runOnChain(tokens, operator.deadline(), task);
    if (result !== 'TOO_LONG') return result;
    for (const { index } of fills) items[index] = WAITED;
    return { type: 'ANSWERED', items };
  }

  /**
   * Cancels the operator's own quotes, live and invalid ones, with one transaction a pool. Pools record a cancellation
   * under its sender, so the quotes of other makers fail.
   */
  async cancel(quoteIds: readonly Hex[], gasAccount: GasAccount): Promise<CancelAnswer | GasRefusal> {
    const { operator, orders, turns } = this.parts;
    const own = operator.address.toLowerCase();
    const pools = new Map<Hex, Set<Hex>>();
    const items = new Map<Hex, CancelItem>();
    for (const quoteId of quoteIds) {
      const order = orders.get(quoteId);
      if (order === undefined || order.state === 'gone') items.set(quoteId, { type: 'OMITTED' });
      else if (order.quote.provider !== own) items.set(quoteId, failed('The quote is of another maker'));
      else {
        const { poolAddress } = order.quote.pool;
        pools.set(poolAddress, (pools.get(poolAddress) ?? new Set()).add(quoteId));
      }
    }
    if (pools.size > 0) {
      const keys = [...pools.keys()].map(turnOf);
      const result = await turns.runOnChain(keys, operator.deadline(), () => this.#cancelAll(pools, gasAccount));
      if (result !== 'TOO_LONG' && !(result instanceof Map)) return result;
      for (const quoteId of [...pools.values()].flatMap((ids) => [...ids])) {
        items.set(quoteId, result === 'TOO_LONG' ? WAITED : itemOf(result.get(quoteId)));
      }
    }
    return { type: 'ANSWERED', items: quoteIds.map((quoteId) => itemOf(items.get(quoteId))) };
  }

  /** The order that a request names, or why it is not filled. */
  #find({ quoteId, size }: FillRequest, index: number): Fill | TradeItem {
    const { orders, series, operator } = this.parts;
    const order = orders.get(quoteId);
    if (order?.state !== 'live') return NOT_ACTIVE;
    const { quote } = order;
    // Anyone may deploy a pool with a token or an oracle of their own: what a fill there is worth is theirs to say.
    const token = series.tokenAt(collateralToken(quote));
    if (token === undefined || series.describe(quote.pool) === null) return UNKNOWN_OPTION;
    const { taker } = quote;
    if (taker !== ZERO_ADDRESS && taker !== operator.address.toLowerCase()) return failed('InvalidQuoteOBTaker');
    return { index, quote, size, token };
  }

  async #fillAll(fills: readonly Fill[], items: TradeItem[], gasAccount: GasAccount): Promise<TurnResult<FillResult>> {
    const { caps } = this.parts;
    const plan = await this.#plan(fills, items);
    if (!Array.isArray(plan)) return atOnce(plan);
    const takenMs = caps.nowMs();
    const settle = ({ token, units }: PayableFill, spent: bigint) => caps.settle(token.symbol, units, spent, takenMs);
    // Their tokens are reserved, so each is settled once, whatever throws.
    const unsent = new Set(plan);
    const ends: Promise<unknown>[] = [];
    try {
      const refusal = gasAccount.take(plan.length);
      if (refusal !== null) return atOnce(refusal);
      await mapLimit(
        groupBy(plan, ({ quote }) => quote.pool.poolAddress),
        this.parts.inFlight,
        async (group) => {
          // One at a time: what a fill costs, and its gas, depend on the position that the one before leaves.
          let isPending = false;
          for (const fill of group) {
            // An error in another pool has ended the request.
            if (!unsent.delete(fill)) return;
            let spent = 0n;
            try {
              const item: TradeItem = isPending ? WAITED : await this.#send(fill, gasAccount, ends);
              isPending ||= item.type === 'PENDING';
              items[fill.index] = item;
              if (item.type !== 'FAILED') spent = fill.units;
            } finally {
              await settle(fill, spent);
            }
          }
        },
      );
    } finally {
      const unspent = [...unsent];
      unsent.clear();
      await Promise.all(unspent.map((fill) => settle(fill, 0n)));
    }
    return { answer: { type: 'ANSWERED', items }, end: Promise.allSettled(ends) };
  }

  /** The fills that can be paid, their tokens reserved; those that cannot are in `items`. A refusal: none can. */
  async #plan(fills: readonly Fill[], items: TradeItem[]): Promise<PayableFill[] | FillResult> {
    const { caps, orders } = this.parts;
    const read = await this.#read(fills);
    if ('type' in read) return read;
    const { funds, closable, fees } = read;
    const left = new Map<Hex, bigint>();
    const payable: PayableFill[] = [];
    let unpaid: FillResult | null = null;
    for (const [i, fill] of fills.entries()) {
      const { index, quote, size, token } = fill;
      const { quoteId } = quote;
      const fillable = left.get(quoteId) ?? orders.get(quoteId)?.fillableSize ?? 0n;
      const [ofToken, ofPool, fee] = [funds.get(token), closable.get(quote.pool.poolAddress), fees[i]];
      if (ofToken === undefined || ofPool == null || fee == null) items[index] = NOT_DEPLOYED;
      else if (size > fillable) items[index] = failed('The size is above what is fillable');
      else {
        const closed = closedBy(quote, size, ofPool);
        const units = unitsTaken(quote, size, closed, fee, token.decimals);
        const what = units > ofToken.balance ? 'collateral' : units > ofToken.allowance ? 'allowance' : null;
        const refusal: FillResult | null =
          what === null ? caps.take(token.symbol, units) : { type: 'NOT_ENOUGH', what, symbol: token.symbol };
        if (refusal === null) {
          left.set(quoteId, fillable - size);
          ofToken.balance -= units;
          ofToken.allowance -= units;
          if (quote.isBuy) ofPool.longs -= closed;
          else ofPool.shorts -= closed;
          payable.push({ ...fill, units });
        } else {
          unpaid ??= refusal;
          items[index] = failed(what === null ? 'The daily cap of the token is reached' : `Not enough ${what}`);
        }
      }
    }
    return payable.length === 0 && unpaid !== null ? unpaid : payable;
  }

  /** Balances, allowances, positions and fees, all of one block where there is Multicall3. */
  async #read(fills: readonly Fill[]): Promise<
    | {
        readonly funds: ReadonlyMap<TokenProfile, Funds>;
        /** By pool; null where it does not answer. */
        readonly closable: ReadonlyMap<Hex, Closable | null>;
        /** The pool's fee for each fill, 1e-18 of the token; null where it does not answer. */
        readonly fees: readonly (bigint | null)[];
      }
    | Extract<FillResult, { type: 'NO_BALANCES' }>
  > {
    const { operator, reader, router } = this.parts;
    const tokens = [...new Set(fills.map(({ token }) => token))];
    const pools = [...new Set(fills.map(({ quote }) => quote.pool.poolAddress))];
    const calls = [
      ...tokens.flatMap(({ address }) => [
        balanceCall(address, operator.address),
        allowanceCall(address, operator.address, router),
      ]),
      ...pools.flatMap((pool) => [SHORT, LONG].map((id) => positionCall(pool, operator.address, id))),
      ...fills.map(({ quote, size }) => fillFeeCall(quote.pool.poolAddress, quote, size, operator.address)),
    ];
    const answers = (await reader.multicall(calls)).map(readUint).values();
    const next = (): bigint | null => answers.next().value ?? null;
    const unread: { token: string; reason: string }[] = [];
    const funds = new Map<TokenProfile, Funds>();
    for (const token of tokens) {
      const [balance, allowance] = [next(), next()];
      if (balance === null || allowance === null) {
        unread.push({ token: token.symbol, reason: 'The token does not tell its balance' });
      } else funds.set(token, { balance, allowance });
    }
    const closable = new Map<Hex, Closable | null>();
    for (const pool of pools) {
      const [shorts, longs] = [next(), next()];
      closable.set(pool, shorts === null || longs === null ? null : { shorts, longs });
    }
    if (unread.length > 0) return { type: 'NO_BALANCES', tokens: unread };
    return { funds, closable, fees: fills.map(next) };
  }

  #send({ quote, size }: Fill, gasAccount: GasAccount, ends: Promise<unknown>[]): Promise<TradeItem> {
    return this.#sendTo(quote.pool.poolAddress, fillCalldata(quote, size, this.parts.referrer), gasAccount, ends);
  }

  async #cancelAll(
    pools: ReadonlyMap<Hex, ReadonlySet<Hex>>,
    gasAccount: GasAccount,
  ): Promise<TurnResult<Map<Hex, TradeItem> | GasRefusal>> {
    const { operator, reader, inFlight } = this.parts;
    const quotes = [...pools].flatMap(([pool, quoteIds]) => [...quoteIds].map((quoteId) => ({ pool, quoteId })));
    const filled = await reader.multicall(
      quotes.map(({ pool, quoteId }) => filledCall(pool, operator.address, quoteId)),
    );
    const items = new Map<Hex, TradeItem>();
    const active = quotes.filter(({ quoteId }, i) => {
      const size = readUint(filled[i]);
      if (size === null) items.set(quoteId, NOT_DEPLOYED);
      // The book has not read its cancellation yet.
      if (size === CANCELLED) items.set(quoteId, { type: 'DONE' });
      return !items.has(quoteId);
    });
    const groups = groupBy(active, ({ pool }) => pool);
    const largest = Math.max(0, ...groups.map(({ length }) => length));
    const refusal = gasAccount.take(groups.length, GAS_PER_CANCEL + largest * GAS_PER_CANCELLED_QUOTE);
    if (refusal !== null) return atOnce(refusal);
    const ends: Promise<unknown>[] = [];
    await mapLimit(groups, inFlight, async (group) => {
      const [first] = group;
      if (first === undefined) return;
      const args = [group.map(({ quoteId }) => quoteId)] as const;
      const data = encodeFunctionData({ abi: poolAbi, functionName: 'cancelQuotesOB', args });
      const item = await this.#sendTo(first.pool, data, gasAccount, ends);
      for (const { quoteId } of group) items.set(quoteId, item);
    });
    return { answer: items, end: Promise.allSettled(ends) };
  }

  async #sendTo(to: Hex, data: Hex, gasAccount: GasAccount, ends: Promise<unknown>[]): Promise<TradeItem> {
    const { outcome, end } = this.parts.operator.send({ to, data }, gasAccount);
    ends.push(end);
    const result = await outcome;
    if (result === 'TOO_LONG') return { type: 'PENDING' };
    return result.type === 'DONE' ? { type: 'DONE' } : failed(result.reason);
  }
}

/** Contracts that the fill closes of the wallet's position. */
function closedBy({ isBuy }: Quote, size: bigint, { shorts, longs }: Closable): bigint {
  const held = isBuy ? longs : shorts;
  return held < size ? held : size;
}

/** Units of the token that a fill takes from the wallet; 0 if the wallet receives. */
export function unitsTaken(
  quote: Pick<Quote, 'price' | 'isBuy' | 'pool'>,
  size: bigint,
  closed: bigint,
  fee: bigint,
  decimals: number,
): bigint {
  const { pays } = fillAmounts(quote, size, closed, fee);
  return pays > 0n ? new TokenUnits(decimals).up(pays) : 0n;
}

function itemOf<Item>(item: Item | undefined): Item {
  if (item === undefined) throw new Error('A quote has no outcome');
  return item;
}

function failed(reason: string): Extract<TradeItem, { type: 'FAILED' }> {
  return { type: 'FAILED', reason };
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

function filledCall(to: Hex, provider: Hex, quoteId: Hex): ContractCall {
  const args = [provider, quoteId] as const;
  return { to, data: encodeFunctionData({ abi: poolAbi, functionName: 'getQuoteOBFilledAmount', args }) };
}
