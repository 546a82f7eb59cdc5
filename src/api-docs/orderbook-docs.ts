import { AnyEventsQuery, EventsPage, TickersQuery, TickersResult } from '../wire/feed-messages.js';
import {
  DryRunResult,
  ordersBody,
  ordersQuery,
  OrdersResult,
  postQuotesBody,
  PostQuotesQuery,
  PostQuotesResult,
  QuotesQuery,
  QuotesResult,
  RfqQuotesQuery,
} from '../wire/orderbook.js';
import { ErrorBody } from '../wire/problem.js';
import { BAD_REQUEST, NOT_MODIFIED, type RouteDoc } from './route-doc.js';

export interface OrderbookDocLimits {
  readonly quotesPerRequest: number;
  readonly quoteIdsPerRequest: number;
}

const tag = 'Orderbook';

/** The orderbook's routes. */
export function orderbookDocs({ quotesPerRequest, quoteIdsPerRequest }: OrderbookDocLimits): RouteDoc[] {
  return [
    {
      method: 'GET',
      path: '/quotes',
      needsKey: true,
      tag,
      summary: 'The best quotes that together cover a size on a side of a pool',
      query: QuotesQuery,
      answers: {
        200: { about: 'The quotes, best price first', schema: QuotesResult },
        304: NOT_MODIFIED,
        400: BAD_REQUEST,
      },
    },
    {
      method: 'POST',
      path: '/quotes',
      needsKey: true,
      tag,
      summary: 'Publish signed quotes, or with `dryRun=true` see what that would come to',
      query: PostQuotesQuery,
      body: postQuotesBody(quotesPerRequest),
      answers: {
        200: {
          about: 'No quote was created: each was known or failed. Of a dry run: what would become of each',
          anyOf: [PostQuotesResult, DryRunResult],
        },
        201: { about: 'At least one was created', schema: PostQuotesResult },
        400: BAD_REQUEST,
        501: { about: 'No wallet is configured to publish with', schema: ErrorBody },
        503: { about: 'Cannot publish now: the chain, the wallet or the disk; try again', schema: ErrorBody },
        504: { about: 'Nothing is confirmed yet; `pending` may still enter the book', schema: ErrorBody },
      },
    },
    {
      method: 'GET',
      path: '/rfq_quotes',
      needsKey: true,
      tag,
      summary: 'The private quotes for one taker',
      query: RfqQuotesQuery,
      answers: {
        200: { about: 'The quotes, best price first', schema: QuotesResult },
        304: NOT_MODIFIED,
        400: BAD_REQUEST,
      },
    },
    {
      method: 'GET',
      path: '/orders',
      needsKey: true,
      tag,
      summary: 'Orders by any mix of filters',
      query: ordersQuery(quoteIdsPerRequest),
      answers: { 200: { about: 'Newest first', schema: OrdersResult }, 304: NOT_MODIFIED, 400: BAD_REQUEST },
    },
    {
      method: 'POST',
      path: '/orders/query',
      needsKey: true,
      tag,
      summary: 'The same, with the filters in a body: for long lists of ids',
      body: ordersBody(quoteIdsPerRequest),
      answers: { 200: { about: 'Newest first', schema: OrdersResult }, 400: BAD_REQUEST },
    },
    {
      method: 'GET',
      path: '/tickers',
      needsKey: true,
      tag,
      summary: 'All pools at a glance',
      query: TickersQuery,
      answers: {
        200: { about: 'Every pool that is deployed, quoted or was filled', schema: TickersResult },
        400: BAD_REQUEST,
      },
    },
    {
      method: 'GET',
      path: '/events',
      needsKey: true,
      tag,
      summary: 'What a reader of the feed missed, a page at a time',
      query: AnyEventsQuery,
      answers: {
        200: { about: 'The messages that a connection would have been sent', schema: EventsPage },
        400: BAD_REQUEST,
        503: { about: 'Too many others read past events; try again', schema: ErrorBody },
      },
    },
  ];
}
