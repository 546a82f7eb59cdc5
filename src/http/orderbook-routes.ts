import type { Order } from '../engine/order.js';
import type { Hex, Side } from '../engine/quote.js';
import { InvalidReason } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { compile, type Check } from '../schema/check.js';
import { ordersQuery, QuotesQuery, RfqQuotesQuery, type OrdersQuery } from '../schema/orderbook.js';
import { parseQuery } from '../schema/query.js';
import type { QuoteJson } from '../schema/quote-json.js';
import { json, refuse } from './answer.js';
import { tagged, type TextDigest } from './etag.js';
import type { Route } from './router.js';
import { chainNotServed } from './served-chain.js';

export interface CoverQuery {
  readonly poolAddress: Hex;
  readonly side: Side;
  readonly size: bigint;
  readonly provider?: Hex;
  readonly taker?: Hex;
}

export interface OrdersFilter {
  readonly poolAddress?: Hex;
  readonly side?: Side;
  readonly provider?: Hex;
  readonly taker?: Hex;
  readonly minFillableSize?: bigint;
  readonly quoteIds?: readonly Hex[];
}

/** The book as it is read over HTTP. All answers are in the order in which they go out. */
export interface BookQueries {
  cover(query: CoverQuery): readonly Order[];
  privateQuotes(query: { poolAddress: Hex; side: Side; taker: Hex }): readonly Order[];
  orders(filter: OrdersFilter): { readonly valid: readonly Order[]; readonly invalid: readonly Order[] };
  /** Null when all that can be read is durable; else wait before telling anyone. */
  whenDurable(): Promise<void> | null;
}

export interface OrderbookRouteLimits {
  readonly quoteIdsPerRequest: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

const REASON_NAMES = new Map<number, string>(Object.entries(InvalidReason).map(([name, code]) => [code, name]));

/** GET /quotes, GET /rfq_quotes, GET /orders. `chainId`: the one settlement chain that is served. */
export function orderbookRoutes(
  book: BookQueries,
  quoteJson: QuoteJson,
  chainId: string,
  limits: OrderbookRouteLimits,
  digest: TextDigest,
): Route[] {
  const checkQuotes = compile(QuotesQuery, limits.schemaErrors);
  const checkRfqQuotes = compile(RfqQuotesQuery, limits.schemaErrors);
  const checkOrders = compile(ordersQuery(limits.quoteIdsPerRequest), limits.schemaErrors);

  /**
   * Reads the query, refuses what is wrong with it, and answers once what it tells is durable. What is asked of one pool is
   * asked again and again, so it has an entity tag.
   */
  function reading<Q extends { chainId?: string; poolAddress?: string }>(
    check: Check<Q>,
    answer: (query: Q) => string,
  ): (request: NetRequest) => NetResponse | Promise<NetResponse> {
    return (request) => {
      const parsed = parseQuery(request.query, { lists: ['quoteIds'], maxPairs: limits.queryPairs });
      if (!parsed.ok) return refuse(request, 400, parsed.message);
      const query = check(parsed.value);
      if (!query.ok) return refuse(request, 400, query.errors);
      if ((query.value.chainId ?? chainId) !== chainId)
        return refuse(request, 400, chainNotServed('/chainId', chainId));
      const whole = json(answer(query.value));
      const answered = query.value.poolAddress === undefined ? whole : tagged(request, query.value, whole, digest);
      const pending = book.whenDurable();
      return pending === null ? answered : pending.then(() => answered);
    };
  }

  const list = (orders: readonly Order[]): string => `[${orders.map((order) => quoteJson.encode(order)).join(',')}]`;

  return [
    {
      method: 'GET',
      path: '/quotes',
      needsKey: true,
      handle: reading(checkQuotes, ({ poolAddress, size, side, provider, taker }) =>
        list(
          book.cover({
            poolAddress: lower(poolAddress),
            size: BigInt(size),
            side,
            ...(provider && { provider: lower(provider) }),
            ...(taker && { taker: lower(taker) }),
          }),
        ),
      ),
    },
    {
      method: 'GET',
      path: '/rfq_quotes',
      needsKey: true,
      handle: reading(checkRfqQuotes, ({ poolAddress, side, taker }) =>
        list(book.privateQuotes({ poolAddress: lower(poolAddress), side, taker: lower(taker) })),
      ),
    },
    {
      method: 'GET',
      path: '/orders',
      needsKey: true,
      handle: reading(checkOrders, (query) => {
        const { valid, invalid } = book.orders(toFilter(query));
        const reasons = invalid.map(
          (order) => `{"reason":"${REASON_NAMES.get(order.reason ?? 0) ?? ''}","quote":${quoteJson.encode(order)}}`,
        );
        return `{"validQuotes":${list(valid)},"invalidQuotes":[${reasons.join(',')}]}`;
      }),
    },
  ];
}

function toFilter({ poolAddress, side, provider, taker, size, quoteIds }: OrdersQuery): OrdersFilter {
  return {
    ...(poolAddress && { poolAddress: lower(poolAddress) }),
    ...(side && { side }),
    ...(provider && { provider: lower(provider) }),
    ...(taker && { taker: lower(taker) }),
    ...(size && { minFillableSize: BigInt(size) }),
    ...(quoteIds && { quoteIds: quoteIds.map(lower) }),
  };
}

/** Addresses and ids are taken in any letter case and kept in lower case. */
export function lower(text: string): Hex {
  return text.toLowerCase() as Hex;
}
