import type { QuoteState } from '../../engine/command.js';
import type { Hex, Order, Origin } from '../../engine/quote.js';
import { type BlockId, type ChainLog, idOf } from '../contracts/blocks-and-logs.js';
import { collateralToken } from '../contracts/quote-types.js';
import { RpcError } from '../rpc/rpc-errors.js';
import { type BookPort, type CommandSubmitter, wholeBlock } from './book-port.js';
import type { BlockRange, ChainCursor } from './cursor.js';
import type { QuoteStates } from './quote-states.js';
import type { IgnoredEvent, FundsEvent, SettlementEvent } from './settlement-events.js';

/** Hostile events count for nothing: each must come from the quote's own pool, a cancel from its own provider. */
export function validateEvent(
  event: SettlementEvent,
  book: Pick<BookPort, 'get'>,
  poolFactory: Hex,
): IgnoredEvent | null {
  const { log } = event;
  if (event.type === 'POOL') return log.address === poolFactory ? null : 'OTHER_CONTRACT';
  const quote = book.get(event.quoteId)?.quote;
  if (quote?.pool.poolAddress !== log.address) return 'UNKNOWN_QUOTE';
  return event.type === 'FILL' || event.provider === quote.provider ? null : 'OTHER_PROVIDER';
}

/** Whether the check of this order runs the contract: its pool or the token that its provider pays with. */
export function dependsOn({ quote }: Order, contract: Hex): boolean {
  return quote.pool.poolAddress === contract || collateralToken(quote) === contract;
}

/** Orders whose provider's funds may have changed, each with the last log that says so. */
export function affectedOrders(
  changes: readonly SettlementEvent[],
  funds: readonly FundsEvent[],
  book: Pick<BookPort, 'get' | 'ordersOf' | 'ordersIn'>,
): Map<Order, ChainLog> {
  const touched = new Map<Order, ChainLog>();
  for (const [account, logs] of lastLogs(funds)) {
    for (const order of book.ordersOf(account)) {
      const { quote } = order;
      const log = later(logs.get(quote.pool.poolAddress), logs.get(collateralToken(quote)));
      if (log !== undefined) touched.set(order, log);
    }
  }
  for (const change of changes) {
    if (change.type === 'POOL')
      for (const order of book.ordersIn(change.pool.poolAddress)) touched.set(order, change.log);
    const order = change.type === 'FILL' ? book.get(change.quoteId) : undefined;
    if (order !== undefined) touched.set(order, change.log);
  }
  return touched;
}

/**
 * By account and by who emitted it. Anyone may emit any number of logs that name a maker, so a maker's orders are walked
 * through once and not for each.
 */
function lastLogs(funds: readonly FundsEvent[]): Map<Hex, Map<Hex, ChainLog>> {
  const ofAccounts = new Map<Hex, Map<Hex, ChainLog>>();
  for (const { log, accounts } of funds) {
    for (const account of accounts) {
      const logs = ofAccounts.get(account) ?? new Map<Hex, ChainLog>();
      ofAccounts.set(account, logs.set(log.address, later(logs.get(log.address), log) ?? log));
    }
  }
  return ofAccounts;
}

function later(one: ChainLog | undefined, other: ChainLog | undefined): ChainLog | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return (other.blockNumber - one.blockNumber || other.logIndex - one.logIndex) < 0 ? one : other;
}

/** So many of them at most, of each provider as many: nobody's many orders keep another's few waiting. */
export function takeRoundRobin(touched: ReadonlyMap<Order, unknown>, most: number): Order[] {
  if (touched.size <= most) return [...touched.keys()];
  const ofProviders = new Map<Hex, Order[]>();
  for (const order of touched.keys()) {
    const { provider } = order.quote;
    const orders = ofProviders.get(provider);
    if (orders === undefined) ofProviders.set(provider, [order]);
    else orders.push(order);
  }
  const due: Order[] = [];
  for (let nth = 0; due.length < most; nth++) {
    const round = [...ofProviders.values()].flatMap((orders) => orders[nth] ?? []);
    due.push(...round.slice(0, most - due.length));
  }
  return due;
}

interface Restated {
  readonly quoteId: Hex;
  readonly state: QuoteState;
}

/** Reads the states of the book's orders from the settlement chain after a block, and submits them to the book. */
export class OrderStates {
  constructor(
    private readonly states: QuoteStates,
    private readonly cursor: Pick<ChainCursor, 'newestFarAbove'>,
    private readonly book: Pick<BookPort, 'get'>,
    private readonly submitter: CommandSubmitter,
    /** Quotes stated anew by one command. */
    private readonly restatedPerCommand: number,
  ) {}

  async read(orders: readonly Order[], at: BlockId): Promise<QuoteState[]> {
    const readings = await this.states.read(
      orders.map(({ quote }) => quote),
      at,
    );
    return readings.map(({ state }) => state);
  }

  /**
   * Null while the range is behind the newest block and the node lacks its end's state: nodes that are no archives keep
   * that of the last 128 blocks or so (geth, nitro). A later range's end then shows what has become of the orders.
   */
  async atEnd({ to, isLast }: BlockRange, orders: readonly Order[]): Promise<QuoteState[] | null> {
    try {
      return await this.read(orders, idOf(to));
    } catch (error) {
      if (isLast || !(error instanceof RpcError)) throw error;
      return null;
    }
  }

  /**
   * Those of the newest block where an outage has left the ancestor so far behind it that the node lacks its state. Then
   * they hold what happened up to there, and nothing of that counts again when it is read.
   */
  async toGoBackTo(
    ancestor: BlockId,
    orders: readonly Order[],
  ): Promise<{ readonly states: readonly QuoteState[]; readonly at: BlockId }> {
    try {
      return { states: await this.read(orders, ancestor), at: ancestor };
    } catch (error) {
      const newest = this.cursor.newestFarAbove(ancestor);
      if (newest === null || !(error instanceof RpcError)) throw error;
      return { states: await this.read(orders, newest), at: newest };
    }
  }

  /** Tells where the book differs from what the chain says after block `at`. */
  async reportChanges(
    orders: readonly Order[],
    states: readonly QuoteState[],
    at: BlockId,
    originFor: (order: Order) => Origin | null,
  ): Promise<void> {
    const position = wholeBlock('settlement', at);
    const restated: Restated[] = [];
    for (const [i, order] of orders.entries()) {
      const state = states[i];
      const { quoteId } = order.quote;
      const isForgotten = order.state !== 'gone' && this.book.get(quoteId) !== order;
      if (state === undefined || isForgotten) continue;
      if (state.fillableSize !== order.fillableSize) restated.push({ quoteId, state });
      else if (state.reason !== order.reason) {
        const { reason } = state;
        await this.submitter.submit({ type: 'SET_VALIDITY', quoteId, reason, origin: originFor(order), position });
      }
    }
    // No event told of these: what the chain says counts, and what was counted does not.
    if (restated.length > 0) await this.restate(at, restated);
  }

  /**
   * The book goes back to block `at`, and these have the states of `settlementBlock`. To go back to the same block again
   * changes nothing, so many quotes are stated by several commands.
   */
  async restate(at: BlockId, all: readonly Restated[], settlementBlock = at.blockNumber): Promise<void> {
    await this.#restate(at, all, settlementBlock, false);
  }

  /** The same, where blocks after `at` are gone, and their trades with them. */
  async rewind(at: BlockId, all: readonly Restated[], settlementBlock: number): Promise<void> {
    await this.#restate(at, all, settlementBlock, true);
  }

  async #restate(at: BlockId, all: readonly Restated[], settlementBlock: number, undoesBlocks: boolean): Promise<void> {
    const position = wholeBlock('settlement', at);
    const { restatedPerCommand } = this;
    for (let start = 0; start === 0 || start < all.length; start += restatedPerCommand) {
      const restated = all.slice(start, start + restatedPerCommand);
      const undoing = undoesBlocks && start === 0 ? { undoesTrades: true as const } : {};
      await this.submitter.submit({ type: 'REWIND_SETTLEMENT', position, settlementBlock, restated, ...undoing });
    }
  }
}
