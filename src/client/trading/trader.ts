import { type Hex, parseEventLogs, type TransactionReceipt, zeroAddress } from 'viem';
import { readContract } from 'viem/actions';
import type { OrderbookQuote, PoolKeyJson } from '../../wire/orderbook.js';
import type { BaseOrderbookClient, QuotesFilter } from '../orderbook-client.js';
import { type ClientClock, systemClock } from '../ports.js';
import type { QuotedPool } from '../sign-quote.js';
import { collateralTokenAbi, LONG_ID, SHORT_ID, tradedPoolAbi } from './abi.js';
import {
  ContractRefusedError,
  NoContractError,
  NotEnoughMeansError,
  NothingHeldError,
  NotShownError,
  RevertedError,
} from './errors.js';
import { FeedWatch } from './feed-watch.js';
import {
  type FailedFill,
  type Filled,
  FillInterruptedError,
  type FillProgress,
  type FillResult,
} from './fill-outcome.js';
import { type FillPlan, type FillTerms, ONE, planFill, type PlannedFill } from './fill-plan.js';
import { type Call, lacksContract, type TradingWallet, type Transaction, Transactions } from './transactions.js';

export interface TraderOptions {
  readonly client: Pick<BaseOrderbookClient, 'rest' | 'followEvents' | 'followQuotes' | 'onHeartbeat'>;
  readonly wallet: TradingWallet;
  /** The spender of collateral: `ERC20_ROUTERS` has the public chains', a local chain's ready file its own. */
  readonly erc20Router: Hex;
  readonly timeouts?: Partial<TraderTimeouts>;
  /** For tests. */
  readonly clock?: ClientClock;
}

export interface TraderTimeouts {
  /** Deadline of a transaction's block; default 60,000. */
  readonly minedMs: number;
  /** Deadline of the feed to be live, and to show a transaction; default 30,000. */
  readonly feedMs: number;
  /** Between looks for a receipt; default 250. */
  readonly pollMs: number;
}

/** The account's funds in a pool's collateral token. */
export interface Collateral {
  /** Base of a call, quote of a put. */
  readonly token: Hex;
  readonly decimals: number;
  /** Of the token, in its own decimals. */
  readonly balance: bigint;
  /** The router's allowance of it, in the same decimals. */
  readonly allowance: bigint;
}

/** A plan, and what the account has for it. */
export interface PricedPlan extends FillPlan, Collateral {
  readonly pool: QuotedPool;
}

/**
 * Trades with one wallet: plans fills, fills, cancels, exercises, settles. Each call resolves when its transactions are
 * mined and the feed shows them. Several calls may be under way; their transactions go out in turn.
 */
export class Trader {
  readonly address: Hex;
  readonly #options: TraderOptions;
  readonly #clock: ClientClock;
  readonly #timeouts: TraderTimeouts;
  /** The account's line of transactions: everything that sends for the account goes through it. */
  readonly transactions: Transactions;
  readonly #decimals = new Map<Hex, number>();

  constructor(options: TraderOptions) {
    // By name instead of spreading: an option set to undefined must take its default.
    const { minedMs = 60_000, feedMs = 30_000, pollMs = 250 } = options.timeouts ?? {};
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#timeouts = { minedMs, feedMs, pollMs };
    this.transactions = new Transactions(options.wallet, this.#clock, this.#timeouts);
    this.address = options.wallet.account.address;
  }

  /**
   * The quotes that cover a size best within a limit, with premium, fee and collateral, and what the account has.
   * Sends nothing.
   */
  async plan(pool: QuotedPool, terms: FillTerms): Promise<PricedPlan> {
    const [longs, shorts, feeShare, collateral] = await Promise.all([
      this.#contracts(pool, LONG_ID),
      this.#contracts(pool, SHORT_ID),
      this.#feeShare(pool),
      this.collateral(pool),
    ]);
    const { decimals } = collateral;
    const notBefore = Math.floor(this.#clock.wallMs() / 1000) + LEAST_LIFE_SECONDS;
    const state = { taker: this.address, longs, shorts, feeShare, decimals, notBefore };
    let plan = planFill(terms, await this.#quotes(pool, terms, terms.size), state);
    // Among the best quotes were some that this taker cannot use, such as its own: look further.
    if (plan.shortfall > 0n) plan = planFill(terms, await this.#quotes(pool, terms, terms.size * LOOK_FURTHER), state);
    return { ...plan, ...collateral, pool };
  }

  /** Balance and allowance of the pool's collateral token, from the newest block. Sends nothing. */
  async collateral({ poolKey }: Pick<QuotedPool, 'poolKey'>): Promise<Collateral> {
    const token = collateralOf(poolKey);
    const read = (functionName: string, args: readonly Hex[]): Promise<bigint> =>
      this.#read({ address: token, abi: collateralTokenAbi, functionName, args });
    const [decimals, balance, allowance] = await Promise.all([
      this.#decimalsOf(token),
      read('balanceOf', [this.address]),
      read('allowance', [this.address, this.#options.erc20Router]),
    ]);
    return { token, decimals, balance, allowance };
  }

  /**
   * Fills a plan's quotes one after the other. A quote that is gone meanwhile is listed in `failed`, and the others are
   * filled all the same. Rejects with NotEnoughMeansError or FeedNotLiveError before anything is sent, and with
   * FillInterruptedError afterwards.
   */
  async fill(plan: PricedPlan): Promise<FillResult> {
    const { pool, token, neededBalance, neededAllowance, balance, allowance } = plan;
    if (balance < neededBalance || allowance < neededAllowance) {
      const needed = balance < neededBalance ? neededBalance : neededAllowance;
      throw new NotEnoughMeansError({ token, needed, balance, allowance });
    }
    const fills: Filled[] = [];
    const failed: FailedFill[] = [];
    const progress = (): FillProgress => {
      const filled = fills.reduce((sum, { size }) => sum + size, 0n);
      return { fills, failed, filled, shortfall: plan.terms.size - filled };
    };
    return this.#watched({ poolAddress: pool.poolAddress, taker: this.address }, async (watch) => {
      try {
        for (const planned of plan.fills) {
          const outcome = await this.#fillOne(pool, planned);
          if ('reason' in outcome) failed.push(outcome);
          else fills.push(outcome);
        }
      } catch (cause) {
        throw new FillInterruptedError(progress(), cause);
      }
      const late = await Promise.all(fills.map((fill) => notShownBy(watch, fill)));
      return { ...progress(), notShown: late.flatMap((hash) => hash ?? []) };
    });
  }

  /** Lets the router move `amount` of the pool's collateral token, in its own decimals; 0 revokes. Sets the allowance, adds nothing to it. */
  async approve(pool: QuotedPool, amount: bigint): Promise<Transaction> {
    const args = [this.#options.erc20Router, amount];
    const call = { address: collateralOf(pool.poolKey), abi: collateralTokenAbi, functionName: 'approve', args };
    return transactionOf(await this.#sendShown(call));
  }

  /** Cancels own quotes on the chain, in a transaction for each pool and 100 quotes. Any id of one's own may be named. */
  async cancel(quotes: readonly Pick<OrderbookQuote, 'poolAddress' | 'quoteId'>[]): Promise<Transaction[]> {
    if (quotes.length === 0) return [];
    return this.#watched(this.#own, async (watch) => {
      const transactions: Transaction[] = [];
      for (const [poolAddress, quoteIds] of byPool(quotes)) {
        for (let at = 0; at < quoteIds.length; at += CANCELS_PER_TRANSACTION) {
          const args = [quoteIds.slice(at, at + CANCELS_PER_TRANSACTION)];
          const call = { address: poolAddress, abi: tradedPoolAbi, functionName: 'cancelQuotesOB', args };
          transactions.push(transactionOf(await this.transactions.send(call)));
        }
      }
      for (const { hash, blockNumber } of transactions) await watch.shows(hash, blockNumber, true);
      return transactions;
    });
  }

  /**
   * Cancels every quote of the account that the service lists, of all pools or one. Withdrawn quotes are not among them:
   * they can be filled until their deadline, unless `cancel` names them. Where `privacy` is proven, private quotes are
   * listed to a client that has signed in with the account, or whose key has the scope takers:all.
   */
  async cancelAll({ poolAddress }: { readonly poolAddress?: Hex } = {}): Promise<Transaction[]> {
    const { rest } = this.#options.client;
    const query = poolAddress === undefined ? {} : { poolAddress };
    const { validQuotes, invalidQuotes } = await rest.ordersOf(this.address, query);
    return this.cancel([...validQuotes, ...invalidQuotes.map(({ quote }) => quote)]);
  }

  /**
   * Exercises the longs of an expired pool. Amounts are 1e-18 of the collateral token. Rejects with NothingHeldError, or
   * with ContractRefusedError before the maturity.
   */
  async exercise(
    pool: Pick<QuotedPool, 'poolAddress'>,
  ): Promise<Transaction & { readonly value: bigint; readonly fee: bigint }> {
    const receipt = await this.#close(pool, LONG_ID, 'exercise');
    const [event] = parseEventLogs({ abi: tradedPoolAbi, eventName: 'Exercise', logs: receipt.logs });
    const { exerciseValue = 0n, fee = 0n } = event?.args ?? {};
    return { ...transactionOf(receipt), value: exerciseValue, fee };
  }

  /**
   * Settles the shorts of an expired pool. `collateral`: what they return, in the token's own `decimals`. The chain says
   * the pool's key where none is given. Rejects as `exercise` does.
   */
  async settle(
    pool: Pick<QuotedPool, 'poolAddress'> & Partial<Pick<QuotedPool, 'poolKey'>>,
  ): Promise<Transaction & { readonly collateral: bigint; readonly decimals: number }> {
    const poolKey = pool.poolKey ?? (await this.#keyOf(pool.poolAddress));
    const decimals = await this.#decimalsOf(collateralOf(poolKey));
    const receipt = await this.#close(pool, SHORT_ID, 'settle');
    const [event] = parseEventLogs({ abi: tradedPoolAbi, eventName: 'Settle', logs: receipt.logs });
    const { contractSize = 0n, exerciseValue = 0n } = event?.args ?? {};
    const { isCallPool, strike } = poolKey;
    const locked = isCallPool ? contractSize : (contractSize * BigInt(strike)) / ONE;
    const unit = 10n ** BigInt(18 - decimals);
    return { ...transactionOf(receipt), collateral: (locked - exerciseValue) / unit, decimals };
  }

  async #fillOne(pool: QuotedPool, { quote, size }: PlannedFill): Promise<Filled | FailedFill> {
    const { quoteId, provider, taker, price, isBuy, deadline, salt, signature } = quote;
    const words = { provider, taker, price: BigInt(price), size: BigInt(quote.size), isBuy };
    const terms = { ...words, deadline: BigInt(deadline), salt: BigInt(salt) };
    const args = [terms, size, signature, zeroAddress];
    try {
      const receipt = await this.transactions.send({
        address: pool.poolAddress,
        abi: tradedPoolAbi,
        functionName: 'fillQuoteOB',
        args,
      });
      const [event] = parseEventLogs({ abi: tradedPoolAbi, eventName: 'FillQuoteOB', logs: receipt.logs });
      const { premium = 0n, protocolFee = 0n } = event?.args ?? {};
      return { ...transactionOf(receipt), quoteId, size, premium, fee: protocolFee };
    } catch (error) {
      if (error instanceof ContractRefusedError) return { quoteId, reason: error.reason };
      if (error instanceof RevertedError) return { quoteId, reason: error.message };
      throw error;
    }
  }

  async #close(
    pool: Pick<QuotedPool, 'poolAddress'>,
    id: bigint,
    functionName: 'exercise' | 'settle',
  ): Promise<TransactionReceipt> {
    if ((await this.#contracts(pool, id)) === 0n) {
      throw new NothingHeldError(`The account holds no ${id === LONG_ID ? 'longs' : 'shorts'} of ${pool.poolAddress}`);
    }
    const call = { address: pool.poolAddress, abi: tradedPoolAbi, functionName, args: [] };
    return this.#sendShown(call);
  }

  async #sendShown(call: Call): Promise<TransactionReceipt> {
    return this.#watched(this.#own, async (watch) => {
      const receipt = await this.transactions.send(call);
      await watch.shows(receipt.transactionHash, receipt.blockNumber, true);
      return receipt;
    });
  }

  /**
   * Own public quotes, which every key may follow: for transactions that a heartbeat shows, too, such as the cancel of a
   * private quote.
   */
  get #own(): QuotesFilter {
    return { provider: this.address };
  }

  /** The feed is followed before anything is sent, so that no event is missed. */
  async #watched<T>(filter: QuotesFilter, work: (watch: FeedWatch) => Promise<T>): Promise<T> {
    const { client } = this.#options;
    const watch = new FeedWatch({ client, clock: this.#clock, filter, feedMs: this.#timeouts.feedMs });
    try {
      await watch.live();
      return await work(watch);
    } finally {
      watch.close();
    }
  }

  #quotes({ poolAddress }: QuotedPool, { side }: FillTerms, size: bigint): Promise<OrderbookQuote[]> {
    return this.#options.client.rest.quotes({ poolAddress, side, size: size.toString(), taker: this.address });
  }

  #contracts({ poolAddress }: Pick<QuotedPool, 'poolAddress'>, id: bigint): Promise<bigint> {
    return this.#read({
      address: poolAddress,
      abi: tradedPoolAbi,
      functionName: 'balanceOf',
      args: [this.address, id],
    });
  }

  /**
   * 1e-18: the fee of a size and premium at which the usual fee is exactly 1e18, so that the discount shows in all its
   * digits. The contract tells fees, not discounts.
   */
  #feeShare({ poolAddress }: QuotedPool): Promise<bigint> {
    const args = [this.address, FULL_FEE_SIZE, FULL_FEE_PREMIUM, true, true, ONE, true];
    return this.#read({ address: poolAddress, abi: tradedPoolAbi, functionName: '_takerFeeLowLevel', args });
  }

  async #keyOf(poolAddress: Hex): Promise<PoolKeyJson> {
    const call = { address: poolAddress, abi: tradedPoolAbi, functionName: 'getPoolSettings', args: [] };
    const [base, quote, oracleAdapter, strike, maturity, isCallPool] =
      await this.#read<readonly [Hex, Hex, Hex, bigint, bigint, boolean]>(call);
    return { base, quote, oracleAdapter, strike: strike.toString(), maturity: Number(maturity), isCallPool };
  }

  async #decimalsOf(token: Hex): Promise<number> {
    const known = this.#decimals.get(token);
    if (known !== undefined) return known;
    const call = { address: token, abi: collateralTokenAbi, functionName: 'decimals', args: [] };
    const decimals = await this.#read<number>(call);
    this.#decimals.set(token, decimals);
    return decimals;
  }

  async #read<T>(call: Call): Promise<T> {
    try {
      return (await readContract(this.#options.wallet, call)) as T;
    } catch (error) {
      throw lacksContract(error) ? new NoContractError(call.address) : error;
    }
  }
}

/** A quote that ends sooner would end before its fill is mined. */
const LEAST_LIFE_SECONDS = 2;
const LOOK_FURTHER = 10n;
/** Each costs some 30,000 gas. */
const CANCELS_PER_TRANSACTION = 100;
/** 0.08 % of it is 1e18. */
const FULL_FEE_SIZE = 1_250n * ONE;
/** 12.5 % of it is 1e18. */
const FULL_FEE_PREMIUM = 8n * ONE;

function collateralOf({ isCallPool, base, quote }: PoolKeyJson): Hex {
  return isCallPool ? base : quote;
}

function transactionOf({ transactionHash, blockNumber }: TransactionReceipt): Transaction {
  return { hash: transactionHash, blockNumber };
}

/** Its hash if the feed does not show it in time; null: it does. */
async function notShownBy(watch: FeedWatch, { hash, blockNumber }: Transaction): Promise<Hex | null> {
  try {
    await watch.shows(hash, blockNumber, false);
    return null;
  } catch (error) {
    if (error instanceof NotShownError) return error.hash;
    throw error;
  }
}

function byPool(quotes: readonly Pick<OrderbookQuote, 'poolAddress' | 'quoteId'>[]): Map<Hex, Hex[]> {
  const groups = new Map<Hex, Hex[]>();
  for (const { poolAddress, quoteId } of quotes) {
    groups.set(poolAddress, [...(groups.get(poolAddress) ?? []), quoteId]);
  }
  return groups;
}
