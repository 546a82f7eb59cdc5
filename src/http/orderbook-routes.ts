import type { Order } from '../engine/order.js';
import type { Hex, Side } from '../engine/quote.js';
import { InvalidReason } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { compile, type Check } from '../schema/check.js';
import { ordersQuery, QuotesQuery, RfqQuotesQuery, type OrdersQuery } from '../schema/orderbook.js';
import { parseQuery } from '../schema/query.js';
import { AsciiWriter } from '../schema/ascii-writer.js';
import type { QuoteJson } from '../schema/quote-json.js';
import { json, refuse } from './answer.js';
import { tagged, unlessNamed, type BodyDigest } from './etag.js';
import { RememberedAnswers } from './remembered-answers.js';
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
  readonly olderThan?: OrderAge;
  readonly limit?: number;
}

/** Where on the stream chain an order was published first. */
export interface OrderAge {
  readonly blockNumber: number;
  readonly logIndex: number;
}

export interface OrdersFound {
  readonly valid: readonly Order[];
  readonly invalid: readonly Order[];
  /** Age of the oldest one here; null when there are no older ones. */
  readonly next: OrderAge | null;
}

/** The book as it is read over HTTP. All answers are in the order in which they go out. */
export interface BookQueries {
  cover(query: CoverQuery): readonly Order[];
  privateQuotes(query: { poolAddress: Hex; side: Side; taker: Hex }): readonly Order[];
  orders(filter: OrdersFilter): OrdersFound;
  /**
   * Of the last record that what is read shows. A record may change it without an event, as the reason of an invalid
   * order.
   */
  index(): number;
  /** Null when all that can be read is durable; else wait before telling anyone. */
  whenDurable(): Promise<void> | null;
}

export interface OrderbookRouteLimits {
  readonly quoteIdsPerRequest: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
  /** Orders written between two turns of the event loop: at about 1 us each, 2,000 take 2 ms. */
  readonly ordersPerTurn: number;
  /** Of answers that are given again while the book stands as it did. */
  readonly rememberedAnswerBytes: number;
}

/** What a quote takes up at most, or nearly: room that is made beforehand. */
const QUOTE_BYTES = 1000;

const REASON_NAMES = new Map<number, string>(Object.entries(InvalidReason).map(([name, code]) => [code, name]));

/** GET /quotes, GET /rfq_quotes, GET /orders. `chainId`: the one settlement chain that is served. */
export function orderbookRoutes(
  book: BookQueries,
  quoteJson: QuoteJson,
  chainId: string,
  limits: OrderbookRouteLimits,
  digest: BodyDigest,
  /** Resolves when others have had their turn. */
  othersTurn: () => Promise<void>,
): Route[] {
  const checkQuotes = compile(QuotesQuery, limits.schemaErrors);
  const checkRfqQuotes = compile(RfqQuotesQuery, limits.schemaErrors);
  const checkOrders = compile(ordersQuery(limits.quoteIdsPerRequest), limits.schemaErrors);

  const remembered = new RememberedAnswers(limits.rememberedAnswerBytes);

  /**
   * Reads the query, refuses what is wrong with it, and answers once what it tells is durable. What is asked of one
   * pool is asked again and again, so it has an entity tag.
   */
  function reading<Q extends { chainId?: string; poolAddress?: string }>(
    path: string,
    check: Check<Q>,
    answer: (query: Q) => string | Uint8Array | Promise<Uint8Array>,
  ): (request: NetRequest) => NetResponse | Promise<NetResponse> {
    return (request) => {
      const pending = book.whenDurable();
      const known = remembered.find(path, request.query, book.index());
      if (known !== undefined) {
        const again = unlessNamed(request, known.answer, known.etag);
        return pending === null ? again : pending.then(() => again);
      }
      const parsed = parseQuery(request.query, { lists: ['quoteIds'], maxPairs: limits.queryPairs });
      if (!parsed.ok) return refuse(request, 400, parsed.message);
      const query = check(parsed.value);
      if (!query.ok) return refuse(request, 400, query.errors);
      if ((query.value.chainId ?? chainId) !== chainId) return refuse(request, 400, chainNotServed(null, chainId));
      const finish = (body: string | Uint8Array): NetResponse => {
        const isTagged = query.value.poolAddress !== undefined;
        return isTagged ? tagged(path, query.value, json(body), digest) : json(body);
      };
      const body = answer(query.value);
      if (body instanceof Promise) {
        // The book goes on meanwhile: what has become of the answer is nobody's next one.
        return Promise.all([body, pending]).then(([whole]) => unlessNamed(request, finish(whole)));
      }
      const whole = finish(body);
      remembered.keep(path, request.query, whole);
      const answered = unlessNamed(request, whole);
      return pending === null ? answered : pending.then(() => answered);
    };
  }

  /** A short one is a text, which costs less to make than bytes do, and less to forget. */
  function list(orders: readonly Order[]): string {
    return `[${orders.map((order) => quoteJson.encode(order)).join(',')}]`;
  }

  /** Answers with many orders are written in slices, others having their turn in between. */
  function listBoth({ valid, invalid, next }: OrdersFound, isPage: boolean): Uint8Array | Promise<Uint8Array> {
    // Clients from before there were pages get the answer that they know.
    const tail = isPage ? `,"nextCursor":${next === null ? 'null' : `"${next.blockNumber}-${next.logIndex}"`}` : '';
    const count = valid.length + invalid.length;
    const out = new AsciiWriter(QUOTE_BYTES * (count + 1));
    const slices = writingBoth(out, valid.map(asShown), invalid.map(asShown), tail);
    if (count >= limits.ordersPerTurn) return inTurns(slices).then(() => out.finish());
    slices.next();
    return out.finish();
  }

  function* writingBoth(
    out: AsciiWriter,
    valid: readonly Shown[],
    invalid: readonly Shown[],
    tail: string,
  ): Generator<undefined> {
    out.write('{"validQuotes":[');
    for (const [i, { order, fillableSize }] of valid.entries()) {
      if (i > 0) out.write(',');
      quoteJson.write(out, order, fillableSize);
      if ((i + 1) % limits.ordersPerTurn === 0) yield;
    }
    out.write('],"invalidQuotes":[');
    for (const [i, { order, fillableSize, reason }] of invalid.entries()) {
      out.write(`${i > 0 ? ',' : ''}{"reason":"${REASON_NAMES.get(reason ?? 0) ?? ''}","quote":`);
      quoteJson.write(out, order, fillableSize);
      out.write('}');
      if ((i + 1) % limits.ordersPerTurn === 0) yield;
    }
    out.write(`]${tail}}`);
  }

  async function inTurns(slices: Generator<undefined>): Promise<void> {
    while (slices.next().done !== true) await othersTurn();
  }

  return [
    {
      method: 'GET',
      path: '/quotes',
      needsKey: true,
      handle: reading('/quotes', checkQuotes, ({ poolAddress, size, side, provider, taker }) =>
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
      handle: reading('/rfq_quotes', checkRfqQuotes, ({ poolAddress, side, taker }) =>
        list(book.privateQuotes({ poolAddress: lower(poolAddress), side, taker: lower(taker) })),
      ),
    },
    {
      method: 'GET',
      path: '/orders',
      needsKey: true,
      handle: reading('/orders', checkOrders, (query) =>
        listBoth(book.orders(toFilter(query)), query.limit !== undefined),
      ),
    },
  ];
}

/** An order as it stood when it was read: it changes while the answer is written. */
type Shown = Pick<Order, 'fillableSize' | 'reason'> & { readonly order: Order };

function asShown(order: Order): Shown {
  return { order, fillableSize: order.fillableSize, reason: order.reason };
}

function toFilter(query: OrdersQuery): OrdersFilter {
  const { poolAddress, side, provider, taker, size, quoteIds, limit, cursor } = query;
  return {
    ...(poolAddress && { poolAddress: lower(poolAddress) }),
    ...(side && { side }),
    ...(provider && { provider: lower(provider) }),
    ...(taker && { taker: lower(taker) }),
    ...(size && { minFillableSize: BigInt(size) }),
    ...(quoteIds && { quoteIds: quoteIds.map(lower) }),
    ...(limit && { limit: Number(limit) }),
    ...(cursor && { olderThan: ageOf(cursor) }),
  };
}

function ageOf(cursor: string): OrderAge {
  const [blockNumber = 0, logIndex = 0] = cursor.split('-').map(Number);
  return { blockNumber, logIndex };
}

/** Addresses and ids are taken in any letter case and kept in lower case. */
export function lower(text: string): Hex {
  return text.toLowerCase() as Hex;
}
