import type { Hex, Order, PoolKey } from '../engine/quote.js';
import { reasonName } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { AccountQuery } from '../wire/account.js';
import { readNewExpiration } from '../wire/expiration.js';
import { type OptionTerms, readAmount } from '../wire/options.js';
import type { ReadableJson } from '../wire/readable.js';
import { bestQuotesQuery, ReadableOrdersQuery } from '../wire/trading.js';
import { compile } from '../wire/validation.js';
import { type BookQueries, lower, type OrdersFilter } from './orderbook-routes.js';
import { readQuery } from './parse.js';
import {
  BAD_EXPIRATION,
  chainUnreachable,
  json,
  largeAnswer,
  type LargeAnswerRunner,
  noWallet,
  refuse,
} from './responses.js';
import type { Caller, Route } from './router.js';

export interface ReadableOrdersParts {
  readonly book: BookQueries;
  readonly readable: ReadableJson;
  /** Those with a token here. */
  readonly symbols: readonly string[];
  poolKey(option: Omit<OptionTerms, 'expiration'>, maturity: number): PoolKey;
  poolAddressOf(poolKey: PoolKey): Promise<Hex | 'IMPOSSIBLE' | 'UNAVAILABLE'>;
  /** Unix seconds; null: the chain has not been read yet. */
  nowSeconds(): number | null;
  /** Null without a wallet. */
  operator(): Hex | null;
  readonly answers: LargeAnswerRunner;
  readonly limits: { readonly queryPairs: number; readonly schemaErrors: number; readonly rowsPerSlice: number };
}

/** GET /orderbook/quotes, GET /orderbook/orders and GET /account/orders: the book in the containerized API's form. */
export function readableOrdersRoutes(parts: ReadableOrdersParts): Route[] {
  const { book, readable, symbols, answers, limits } = parts;
  const checkBest = compile(bestQuotesQuery(symbols), limits.schemaErrors);
  const checkOrders = compile(ReadableOrdersQuery, limits.schemaErrors);
  const checkAccount = compile(AccountQuery, limits.schemaErrors);

  const quoteText = ({ quote, fillableSize }: Order): string => readable.quote(quote, fillableSize);

  async function best(request: NetRequest): Promise<NetResponse> {
    const query = readQuery(request, checkBest, limits.queryPairs);
    if (!query.ok) return refuse(request, query.code, query.error);
    const { base, quote, expiration, type, side, provider, taker } = query.value;
    const now = parts.nowSeconds();
    if (now === null) return chainUnreachable(request);
    const date = readNewExpiration(expiration, now);
    if (!date.ok) return refuse(request, BAD_EXPIRATION, { message: date.refusal, quotesRequest: query.value });
    const key = parts.poolKey({ base, quote, strike: readAmount(query.value.strike), type }, date.maturity);
    const poolAddress = await parts.poolAddressOf(key);
    if (poolAddress === 'UNAVAILABLE') return chainUnreachable(request);
    if (poolAddress === 'IMPOSSIBLE') {
      return refuse(request, 'invalid_pool_key', {
        message: 'Can not get pool address',
        quotesRequest: query.value,
      });
    }
    const found = book.cover({
      poolAddress,
      size: readAmount(query.value.size),
      side,
      ...(provider && { provider: lower(provider) }),
      ...(taker && { taker: lower(taker) }),
    });
    const body = `[${found.map(quoteText).join(',')}]`;
    await book.whenDurable();
    return json(body);
  }

  /** Many orders are written when the key's large answers before them are made. */
  function list(
    request: NetRequest,
    caller: Caller,
    filter: OrdersFilter,
    isInvalid: boolean,
  ): NetResponse | Promise<NetResponse> {
    const write = async (): Promise<NetResponse> => {
      const { valid, invalid } = book.orders(filter);
      const texts = isInvalid ? invalid.map(invalidText) : valid.map(quoteText);
      const body = `[${texts.join(',')}]`;
      await book.whenDurable();
      return json(body);
    };
    const rows = book.candidates(filter);
    if (rows < limits.rowsPerSlice) return write();
    return largeAnswer(answers, request, caller, async (work) => {
      const answer = await write();
      work.charge(rows, answer.body.length);
      return answer;
    });
  }

  function invalidText(order: Order): string {
    const reason = order.reason === null ? '' : reasonName(order.reason);
    return `{"reason":"${reason}","quote":${quoteText(order)}}`;
  }

  return [
    { method: 'GET', path: '/orderbook/quotes', needsKey: true, handle: best },
    {
      method: 'GET',
      path: '/orderbook/orders',
      needsKey: true,
      handle(request, caller) {
        const query = readQuery(request, checkOrders, limits.queryPairs);
        if (!query.ok) return refuse(request, query.code, query.error);
        const { poolAddress, provider, size, side, type } = query.value;
        const filter = {
          ...(poolAddress && { poolAddress: lower(poolAddress) }),
          ...(provider && { provider: lower(provider) }),
          ...(size && { minFillableSize: readAmount(size) }),
          ...(side && { side }),
        };
        return list(request, caller, filter, type === 'invalid');
      },
    },
    {
      method: 'GET',
      path: '/account/orders',
      needsKey: true,
      handle(request, caller) {
        const query = readQuery(request, checkAccount, limits.queryPairs);
        if (!query.ok) return refuse(request, query.code, query.error);
        const wallet = query.value.walletAddr ?? parts.operator();
        return wallet === null ? noWallet(request) : list(request, caller, { provider: lower(wallet) }, false);
      },
    },
  ];
}
