import type { Hex, Order } from '../engine/quote.js';
import type { ChainLog } from './chain-log.js';
import { collateralToken } from './collateral.js';
import type { FollowedBook } from './followed-book.js';
import type { IgnoredEvent, MeansEvent, SettlementEvent } from './settlement-events.js';

/** Hostile events count for nothing: each must come from the quote's own pool, a cancel from its own provider. */
export function whyIgnored(
  event: SettlementEvent,
  book: Pick<FollowedBook, 'get'>,
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

/** Orders whose provider's means may have changed, each with the last log that says so. */
export function touchedOrders(
  changes: readonly SettlementEvent[],
  means: readonly MeansEvent[],
  book: Pick<FollowedBook, 'get' | 'ordersOf' | 'ordersIn'>,
): Map<Order, ChainLog> {
  const touched = new Map<Order, ChainLog>();
  for (const [account, logs] of lastLogs(means)) {
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
function lastLogs(means: readonly MeansEvent[]): Map<Hex, Map<Hex, ChainLog>> {
  const ofAccounts = new Map<Hex, Map<Hex, ChainLog>>();
  for (const { log, accounts } of means) {
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
export function inTurn(touched: ReadonlyMap<Order, unknown>, most: number): Order[] {
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
