import type { Order } from '../engine/order.js';
import type { Hex } from '../engine/quote.js';
import type { ChainLog } from './chain-reader.js';
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

/** Orders whose provider's means may have changed, each with the last log that says so. */
export function touchedOrders(
  changes: readonly SettlementEvent[],
  means: readonly MeansEvent[],
  book: Pick<FollowedBook, 'get' | 'ordersOf' | 'ordersIn'>,
): Map<Order, ChainLog> {
  const touched = new Map<Order, ChainLog>();
  for (const { log, accounts } of means) {
    for (const order of accounts.flatMap((account) => [...book.ordersOf(account)])) {
      const { quote } = order;
      if (quote.pool.poolAddress === log.address || collateralToken(quote) === log.address) touched.set(order, log);
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
