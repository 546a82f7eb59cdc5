import type { Static, TObject } from 'typebox';
import type { TakerAccess } from '../auth/taker-access.js';
import type { Age, CoverTarget, OrdersQuery, OrdersResult, PrivateQuery } from '../engine/queries.js';
import type { Hex, Order } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type { PastQueries, StateQuery } from '../past/questions.js';
import { type PacedWork, rowsChargedForReading } from '../system/paced-work.js';
import {
  type OrdersBody,
  ordersBody,
  type OrdersQueryParams,
  ordersQuery,
  QuotesQuery,
  RfqQuotesQuery,
} from '../wire/orderbook.js';
import { onChain } from '../wire/primitives.js';
import { parseQuery } from '../wire/query.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { compile } from '../wire/validation.js';
import { withBody } from './checked-input.js';
import { type OrderListLimits, OrderLists } from './order-lists.js';
import { lower } from './parse.js';
import { answerAsOf } from './past-answers.js';
import { ResponseCache, type TaggedResponse, type TextDigest, answerConditional } from './response-cache.js';
import { largeAnswer, type LargeAnswerRunner, refuse, takerRefusal, wrongChain } from './responses.js';
import type { Caller, Route, RouteHandler } from './router.js';

/** The book as it is read over HTTP. All answers are in the order in which they go out. */
export interface BookQueries {
  cover(query: CoverTarget): readonly Order[];
  privateQuotes(query: PrivateQuery): readonly Order[];
  orders(filter: OrdersQuery): OrdersResult;
  /** How many orders `orders` reads. */
  candidates(filter: OrdersQuery): number;
  /**
   * Of the last record that what is read shows. A record may change it without an event, as the reason of an invalid
   * order.
   */
  index(): number;
  /** Null when all that can be read is durable; else wait before telling anyone. */
  whenDurable(): Promise<void> | null;
}

export interface OrderbookRouteLimits extends OrderListLimits {
  readonly quoteIdsPerRequest: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
  /** Objects, arrays and fields that a body may have. */
  readonly bodyParts: number;
}

export interface OrderbookRouteParts {
  readonly book: BookQueries;
  readonly quoteJson: QuoteJson;
  /** As `quoteJson`, with the name of each quote's option. */
  readonly namedQuoteJson: QuoteJson;
  /** Of the one settlement chain that is served. */
  readonly chainId: string;
  readonly limits: OrderbookRouteLimits;
  readonly digest: TextDigest;
  readonly answers: LargeAnswerRunner;
  /** Null: no log is kept. */
  readonly past: PastQueries | null;
  readonly takers: TakerAccess;
}

/** Shared by the routes: how lists are written, and the answers that they remember. */
interface BookReading extends OrderbookRouteParts {
  readonly listsFor: (fields: 'instrument' | undefined) => OrderLists;
  readonly remembered: ResponseCache;
}

/** GET /quotes, GET /rfq_quotes, GET /orders and POST /orders/query. */
export function orderbookRoutes(parts: OrderbookRouteParts): Route[] {
  const { quoteJson, namedQuoteJson, digest, limits } = parts;
  const plainLists = new OrderLists(quoteJson, digest, limits);
  const namedLists = new OrderLists(namedQuoteJson, digest, limits);
  const reads: BookReading = {
    ...parts,
    listsFor: (fields) => (fields === 'instrument' ? namedLists : plainLists),
    remembered: new ResponseCache(limits.rememberedAnswerBytes),
  };
  return [
    { method: 'GET', path: '/quotes', needsKey: true, handle: bestQuotes(reads) },
    { method: 'GET', path: '/rfq_quotes', needsKey: true, handle: rfqQuotes(reads) },
    { method: 'GET', path: '/orders', needsKey: true, handle: orders(reads) },
    { method: 'POST', path: '/orders/query', needsKey: true, takesBatch: true, handle: postedOrders(reads) },
  ];
}

/** GET /quotes. */
function bestQuotes(reads: BookReading): RouteHandler<Caller> {
  const { book, listsFor } = reads;
  return reading(
    reads,
    '/quotes',
    QuotesQuery,
    (query) => plannedBest(book, () => book.cover(toTarget(query)), listsFor(query.fields)),
    (query) => ({ type: 'QUOTES', query: toTarget(query), fields: query.fields ?? null }),
  );
}

/** GET /rfq_quotes. */
function rfqQuotes(reads: BookReading): RouteHandler<Caller> {
  const { book, listsFor } = reads;
  return reading(reads, '/rfq_quotes', RfqQuotesQuery, ({ poolAddress, side, taker, fields }) => {
    const query = { poolAddress: lower(poolAddress), side, taker: lower(taker) };
    return plannedBest(book, () => book.privateQuotes(query), listsFor(fields));
  });
}

/** GET /orders. */
function orders(reads: BookReading): RouteHandler<Caller> {
  const { limits, takers } = reads;
  return reading(
    reads,
    '/orders',
    ordersQuery(limits.quoteIdsPerRequest),
    (query, isTagged, caller) => plannedOrders(reads, query, isTagged, caller),
    (query, caller) => ({
      type: 'ORDERS',
      query: toFilter(query),
      // That the caller may see every taker's was decided before.
      takers: query.taker === '*' ? null : takers.shownTo(caller),
      isPage: query.limit !== undefined,
      fields: query.fields ?? null,
    }),
  );
}

/** GET /orders with the filters in a body: a long list of ids fits into no request line that every proxy takes. */
function postedOrders(reads: BookReading): RouteHandler<Caller> {
  const { book, chainId, limits, answers, takers } = reads;
  return withBody(ordersBody(limits.quoteIdsPerRequest), { chainId, limits }, (request, caller, query) => {
    const refusal = takerRefusal(request, takers, caller, query.taker, query.provider);
    if (refusal !== null) return refusal;
    const pending = book.whenDurable();
    const plan = plannedOrders(reads, query, false, caller);
    if (plan.rows >= limits.rowsPerSlice) {
      return largeAnswer(answers, request, caller, async (work) => {
        const durable = book.whenDurable();
        const { answer } = await plan.many(work);
        await durable;
        return answer;
      });
    }
    const { answer } = plan.few();
    return pending === null ? answer : pending.then(() => answer);
  });
}

/**
 * Reads the query, refuses what is wrong with it, and answers once what it tells is durable. Clients ask
 * the same of one pool again and again, so those answers have an entity tag.
 */
function reading<const S extends TObject>(
  { book, chainId, limits, answers, past, takers, remembered }: BookReading,
  path: string,
  schema: S,
  planned: (query: Static<S>, isTagged: boolean, caller: Caller) => Planned,
  ofState: ((query: Static<S>, caller: Caller) => StateQuery) | null = null,
): (request: NetRequest, caller: Caller) => NetResponse | Promise<NetResponse> {
  const check = compile(onChain(schema, chainId), limits.schemaErrors);

  /** Many orders are read and written in slices, when the key's large answers before it are made. */
  async function inSlices(request: NetRequest, plan: Planned, work: PacedWork): Promise<NetResponse> {
    const [pending, index] = [book.whenDurable(), book.index()];
    const known = plan.isOwn ? undefined : remembered.find(path, request.query, index);
    if (known !== undefined) work.charge(0, known.answer.body.length);
    const made = known ?? (await plan.many(work));
    await pending;
    // If the book has changed meanwhile, the answer is not cached.
    if (known === undefined && !plan.isOwn && book.index() === index) remembered.keep(path, request.query, made);
    return answerConditional(request, made);
  }

  function knownAnswer(request: NetRequest, caller: Caller): NetResponse | Promise<NetResponse> | null {
    const pending = book.whenDurable();
    const known = remembered.find(path, request.query, book.index());
    if (known === undefined) return null;
    const again = answerConditional(request, known);
    if (again.body.length > LARGE_BYTES) {
      return largeAnswer(answers, request, caller, async (work) => {
        work.charge(0, again.body.length);
        await pending;
        return again;
      });
    }
    return pending === null ? again : pending.then(() => again);
  }

  return (request, caller) => {
    const pending = book.whenDurable();
    // Where privacy is proven, who may see the answer is decided first.
    const isOpen = takers.privacy === 'open';
    const known = isOpen ? knownAnswer(request, caller) : null;
    if (known !== null) return known;
    const parsed = parseQuery(request.query, { lists: ['quoteIds'], maxPairs: limits.queryPairs });
    if (!parsed.ok) return refuse(request, 'malformed_query', parsed.message);
    const query = check(parsed.value);
    if (!query.ok) return refuse(request, 'invalid_parameter', query.errors);
    const asked = query.value as Partial<Record<'chainId' | 'poolAddress', string>>;
    if ((asked.chainId ?? chainId) !== chainId) return wrongChain(request, chainId);
    const { taker, provider } = query.value as { readonly taker?: Hex | '*'; readonly provider?: Hex };
    const refusal = takerRefusal(request, takers, caller, taker, provider);
    if (refusal !== null) return refusal;
    if (ofState !== null) {
      const answer = answerAsOf(request, caller, { past, answers }, query.value, () => ofState(query.value, caller));
      if (answer !== null) return answer;
    }
    const plan = planned(query.value, asked.poolAddress !== undefined, caller);
    const again = isOpen || plan.isOwn ? null : knownAnswer(request, caller);
    if (again !== null) return again;
    if (plan.rows >= limits.rowsPerSlice) {
      return largeAnswer(answers, request, caller, (work) => inSlices(request, plan, work));
    }
    const made = plan.few();
    if (!plan.isOwn) remembered.keep(path, request.query, made);
    const answered = answerConditional(request, made);
    return pending === null ? answered : pending.then(() => answered);
  };
}

/** The best orders are found at once: a long list of them is found anew when it is its turn to be written. */
function plannedBest(book: BookQueries, find: () => readonly Order[], lists: OrderLists): Planned {
  const orders = find();
  return {
    rows: orders.length,
    isOwn: false,
    few: () => lists.best(orders, book.index()),
    many: (work) => lists.bestOfMany(find(), book.index(), work),
  };
}

function plannedOrders(
  { book, takers, listsFor }: BookReading,
  query: OrdersQueryParams | OrdersBody,
  isTagged: boolean,
  caller: Caller,
): Planned {
  const filter = toFilter(query);
  // Without a taker, ids name private quotes of any.
  const isOwn = takers.privacy === 'proven' && filter.quoteIds !== undefined && filter.taker === undefined;
  const find = (): OrdersResult => (isOwn ? shownTo(takers, caller, book.orders(filter)) : book.orders(filter));
  const lists = listsFor(query.fields);
  const rows = book.candidates(filter);
  const isPage = query.limit !== undefined;
  return {
    rows,
    isOwn,
    few: () => lists.newest(find(), isPage, isTagged),
    many(work) {
      work.charge(rowsChargedForReading(rows), 0);
      return lists.newestOfMany(find(), isPage, isTagged, work);
    },
  };
}

function shownTo(takers: TakerAccess, caller: Caller, { valid, invalid, next }: OrdersResult): OrdersResult {
  const isShown = ({ quote }: Order): boolean => takers.maySeeQuote(caller, quote);
  return { valid: valid.filter(isShown), invalid: invalid.filter(isShown), next };
}

/** How an answer is made. */
interface Planned {
  /** Most orders that it reads. */
  readonly rows: number;
  /** The same query of another key may have another answer. */
  readonly isOwn: boolean;
  few(): TaggedResponse;
  /** Of more than fit into a slice. */
  many(work: PacedWork): Promise<TaggedResponse>;
}

/** Of a remembered answer: to send more at once costs more than a request should. */
const LARGE_BYTES = 256 << 10;

function toTarget({ poolAddress, size, side, provider, taker }: QuotesQuery): CoverTarget {
  return {
    poolAddress: lower(poolAddress),
    size: BigInt(size),
    side,
    ...(provider && { provider: lower(provider) }),
    ...(taker && { taker: lower(taker) }),
  };
}

function toFilter(query: OrdersQueryParams | OrdersBody): OrdersQuery {
  const { poolAddress, side, provider, taker, size, quoteIds, limit, cursor } = query;
  return {
    ...(poolAddress && { poolAddress: lower(poolAddress) }),
    ...(side && { side }),
    ...(provider && { provider: lower(provider) }),
    ...(taker && { taker: lower(taker) }),
    ...(size && { minFillableSize: BigInt(size) }),
    ...(quoteIds && { quoteIds: quoteIds.filter(isQuoteId).map(lower) }),
    ...(limit && { limit: Number(limit) }),
    ...(cursor && { olderThan: ageOf(cursor) }),
  };
}

/** A text that is no id names no order, as an unknown id does. */
function isQuoteId(text: string): boolean {
  return /^0x[a-fA-F0-9]{64}$/.test(text);
}

function ageOf(cursor: string): Age {
  const [blockNumber = 0, logIndex = 0] = cursor.split('-').map(Number);
  return { blockNumber, logIndex };
}
