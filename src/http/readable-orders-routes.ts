import type { TakerAccess } from '../auth/taker-access.js';
import type { Hex, Order, PoolKey } from '../engine/quote.js';
import { reasonName } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { AccountQuery } from '../wire/account.js';
import { readNewExpiration } from '../wire/expiration.js';
import { type OptionTerms, readAmount } from '../wire/options.js';
import type { ReadableJson } from '../wire/readable.js';
import { bestQuotesQuery, ReadableOrdersQuery } from '../wire/trading.js';
import { rowsChargedForReading } from '../system/paced-work.js';
import type { OrdersQuery } from '../engine/queries.js';
import { withQuery } from './checked-input.js';
import type { BookQueries } from './orderbook-routes.js';
import { lower } from './parse.js';
import {
  BAD_EXPIRATION,
  chainUnreachable,
  json,
  largeAnswer,
  type LargeAnswerRunner,
  noWallet,
  refuse,
  takerRefusal,
} from './responses.js';
import type { Caller, Route } from './router.js';

type Shown = Pick<Order, 'quote' | 'fillableSize' | 'reason'>;

export interface ReadableOrdersParts {
  readonly book: BookQueries;
  readonly readable: ReadableJson;
  /** Symbols of the chain's tokens. */
  readonly symbols: readonly string[];
  poolKey(option: Omit<OptionTerms, 'expiration'>, maturity: number): PoolKey;
  poolAddressOf(poolKey: PoolKey): Promise<Hex | 'IMPOSSIBLE' | 'UNAVAILABLE'>;
  /** Unix seconds; null: the chain has not been read yet. */
  nowSeconds(): number | null;
  /** Null without a wallet. */
  operator(): Hex | null;
  readonly takers: TakerAccess;
  readonly answers: LargeAnswerRunner;
  readonly limits: { readonly queryPairs: number; readonly schemaErrors: number; readonly rowsPerSlice: number };
}

/** Orders to write in one answer. */
interface OrderListing {
  /** Most orders that the answer has. */
  readonly rows: number;
  /** Charged for finding them. */
  readonly rowsRead: number;
  readonly find: () => readonly Order[];
  readonly textOf: (order: Shown) => string;
}

/** GET /orderbook/quotes, GET /orderbook/orders and GET /account/orders: the book in the containerized API's form. */
export function readableOrdersRoutes(parts: ReadableOrdersParts): Route[] {
  const { book, readable, symbols, takers, answers, limits } = parts;
  const quoteText = ({ quote, fillableSize }: Shown): string => readable.quote(quote, fillableSize);
  const invalidText = (order: Shown): string => {
    const reason = order.reason === null ? '' : reasonName(order.reason);
    return `{"reason":"${reason}","quote":${quoteText(order)}}`;
  };

  const best = withQuery(bestQuotesQuery(symbols), { limits }, async (request, caller, query) => {
    const { base, quote, expiration, type, side, provider, taker } = query;
    const refusal = takerRefusal(request, takers, caller, taker);
    if (refusal !== null) return refusal;
    const now = parts.nowSeconds();
    if (now === null) return chainUnreachable(request);
    const date = readNewExpiration(expiration, now);
    if (!date.ok) return refuse(request, BAD_EXPIRATION, { message: date.refusal, quotesRequest: query });
    const key = parts.poolKey({ base, quote, strike: readAmount(query.strike), type }, date.maturity);
    const poolAddress = await parts.poolAddressOf(key);
    if (poolAddress === 'UNAVAILABLE') return chainUnreachable(request);
    if (poolAddress === 'IMPOSSIBLE') {
      return refuse(request, 'invalid_pool_key', { message: 'Can not get pool address', quotesRequest: query });
    }
    const target = {
      poolAddress,
      size: readAmount(query.size),
      side,
      ...(provider && { provider: lower(provider) }),
      ...(taker && { taker: lower(taker) }),
    };
    const find = (): readonly Order[] => book.cover(target);
    // Finding the best orders reads no others.
    return write(request, caller, { rows: find().length, rowsRead: 0, find, textOf: quoteText });
  });

  function list(
    request: NetRequest,
    caller: Caller,
    filter: OrdersQuery,
    isInvalid: boolean,
  ): NetResponse | Promise<NetResponse> {
    const find = (): Order[] => {
      const { valid, invalid } = book.orders(filter);
      return (isInvalid ? invalid : valid).filter(({ quote }) => takers.maySeeQuote(caller, quote));
    };
    const rows = book.candidates(filter);
    const textOf = isInvalid ? invalidText : quoteText;
    return write(request, caller, { rows, rowsRead: rowsChargedForReading(rows), find, textOf });
  }

  /** Many orders are written in slices, when the key's large answers before them are made. */
  function write(request: NetRequest, caller: Caller, listing: OrderListing): NetResponse | Promise<NetResponse> {
    const { rows, rowsRead, find, textOf } = listing;
    const pending = book.whenDurable();
    if (rows < limits.rowsPerSlice) {
      const answer = json(`[${find().map(textOf).join(',')}]`);
      return pending === null ? answer : pending.then(() => answer);
    }
    return largeAnswer(answers, request, caller, async (work) => {
      const durable = book.whenDurable();
      // As they stand now: orders change while a long list is written.
      const shown = find().map(({ quote, fillableSize, reason }) => ({ quote, fillableSize, reason }));
      work.charge(rowsRead, 0);
      let body = '';
      for (let start = 0; start < shown.length; start += limits.rowsPerSlice) {
        const slice = shown.slice(start, start + limits.rowsPerSlice);
        const text = slice.map(textOf).join(',');
        body += start === 0 ? text : `,${text}`;
        work.charge(slice.length, text.length);
        await work.turn();
      }
      await durable;
      return json(`[${body}]`);
    });
  }

  return [
    { method: 'GET', path: '/orderbook/quotes', needsKey: true, handle: best },
    {
      method: 'GET',
      path: '/orderbook/orders',
      needsKey: true,
      handle: withQuery(ReadableOrdersQuery, { limits }, (request, caller, query) => {
        const { poolAddress, provider, size, side, type } = query;
        const filter = {
          ...(poolAddress && { poolAddress: lower(poolAddress) }),
          ...(provider && { provider: lower(provider) }),
          ...(size && { minFillableSize: readAmount(size) }),
          ...(side && { side }),
        };
        return list(request, caller, filter, type === 'invalid');
      }),
    },
    {
      method: 'GET',
      path: '/account/orders',
      needsKey: true,
      handle: withQuery(AccountQuery, { limits }, (request, caller, { walletAddr }) => {
        const operator = parts.operator();
        const wallet = walletAddr ?? operator;
        if (wallet === null) return noWallet(request);
        const provider = lower(wallet);
        // A maker that answers requests for quotes would not see its answers otherwise.
        const isOperator = operator !== null && provider === lower(operator);
        const seesPrivate = isOperator || takers.hasProven(caller, provider) || caller.scopes?.includes('takers:all');
        return list(request, caller, { provider, ...(seesPrivate === true && { taker: '*' }) }, false);
      }),
    },
  ];
}
