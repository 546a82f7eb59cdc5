import { type TakerAccess, takerOfRequests } from '../auth/taker-access.js';
import type { Hex, Pool } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { type PacedWork, UNPACED } from '../system/paced-work.js';
import {
  BookEventsQuery,
  BookPath,
  BookQuery,
  type BookResult,
  EventsQuery,
  TickersQuery,
  TradeEventsQuery,
} from '../wire/feed-messages.js';
import { closed, onChain } from '../wire/primitives.js';
import { type Check, compile } from '../wire/validation.js';
import { withQuery } from './checked-input.js';
import { answerAsOf, pastPointOf, type PastPorts } from './past-answers.js';
import {
  json,
  largeAnswer,
  type LargeAnswerRunner,
  noPoolNamed,
  optionalPoolOf,
  refuse,
  takerRefusal,
  unavailable,
} from './responses.js';
import type { Route } from './router.js';

/** Past messages of the feed. */
export interface PastEvents {
  /** Most rows that a page reads. */
  rows(query: EventsQuery | BookEventsQuery | TradeEventsQuery): number;
  /** JSON of one page, or why it cannot be read. */
  read(
    query: EventsQuery | BookEventsQuery | TradeEventsQuery,
    work: PacedWork,
  ): Promise<
    | { readonly ok: true; readonly page: Uint8Array }
    | {
        readonly ok: false;
        readonly code: 'busy' | 'invalid_parameter' | 'snapshot_too_large';
        readonly problem: string;
      }
  >;
}

export interface EventsRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
  /** A page that reads more is a large answer. */
  readonly rowsPerSlice: number;
}

export interface EventsRouteParts {
  readonly events: PastEvents;
  /** Null: no deployed pool has the name. */
  readonly poolNamed: (instrument: string) => Hex | null;
  readonly chainId: string;
  readonly limits: EventsRouteLimits;
  readonly answers: LargeAnswerRunner;
  readonly takers: TakerAccess;
}

/** GET /events: what a reader of the feed missed, for those who come back without a socket. */
export function eventsRoute({ events, poolNamed, chainId, limits, answers, takers }: EventsRouteParts): Route {
  const checkEvents = compile(onChain(EventsQuery, chainId), limits.schemaErrors);
  const checkBookEvents = compile(onChain(BookEventsQuery, chainId), limits.schemaErrors);
  const checkTradeEvents = compile(onChain(TradeEventsQuery, chainId), limits.schemaErrors);
  const check: Check<EventsQuery | BookEventsQuery | TradeEventsQuery> = (value) => {
    const { channel } = value as { readonly channel?: unknown };
    return (channel === 'ORDERBOOK' ? checkBookEvents : channel === 'TRADES' ? checkTradeEvents : checkEvents)(value);
  };

  /** A pool of TRADES that goes by its name gets its address, too. */
  function ofPool(request: NetRequest, query: EventsQuery | BookEventsQuery | TradeEventsQuery) {
    if (query.channel !== 'TRADES') return query;
    const poolAddress = optionalPoolOf(request, query, poolNamed);
    if (poolAddress === null) return query;
    return typeof poolAddress === 'string' ? { ...query, poolAddress } : poolAddress;
  }

  return {
    method: 'GET',
    path: '/events',
    needsKey: true,
    handle: withQuery(check, { chainId, limits }, (request, caller, asked) => {
      const refusal = takerRefusal(request, takers, caller, takerOf(asked));
      if (refusal !== null) return refusal;
      const query = ofPool(request, asked);
      if ('status' in query) return query;
      const read = async (work: PacedWork): Promise<NetResponse> => {
        const answer = await events.read(query, work);
        if (answer.ok) return json(answer.page);
        if (answer.code === 'busy') return unavailable(request, 'busy', answer.problem);
        // A depth that no book has; all else that is wrong with a parameter its schema says.
        const cause = answer.code === 'invalid_parameter' ? { code: answer.code, param: 'depth' } : answer.code;
        return refuse(request, cause, answer.problem);
      };
      if (events.rows(query) <= limits.rowsPerSlice) return read(UNPACED);
      return largeAnswer(answers, request, caller, read);
    }),
  };
}

/** The taker whose private quotes or requests are asked for; undefined: what every key sees. */
function takerOf(query: EventsQuery | BookEventsQuery | TradeEventsQuery): EventsQuery['taker'] {
  if (query.channel === 'TRADES') return undefined;
  return query.channel === 'RFQ' ? takerOfRequests(query.taker) : query.taker;
}

/** Books as the committed events leave them. */
export interface BookViews {
  readonly epoch: string;
  readonly seq: number;
  readonly tsMs: number;
  readonly levels: {
    rowsOf(view: BookView): number;
    read(view: BookView): Pick<BookResult, 'levelsHash'> & { readonly body: Pick<BookResult, 'bids' | 'asks'> };
  };
}

interface BookView {
  readonly poolAddress: Hex;
  readonly taker: null;
  readonly depth: number;
}

/** Deployed pools by address or by name. */
export interface NamedPools {
  /** In lower case; null: no deployed pool has the name. */
  addressOf(addressOrName: string): Hex | null;
  /** Null: the pool has no name, or is not deployed. */
  instrumentAt(poolAddress: Hex): string | null;
}

export interface BookRouteLimits extends TickersRouteLimits {
  /** Most levels of a side. */
  readonly wsBookLevels: number;
}

const BOOK_PATH = '/book/{pool}';

export interface BookRouteParts extends PastPorts {
  readonly books: BookViews;
  readonly pools: NamedPools;
  readonly chainId: string;
  readonly limits: BookRouteLimits;
}

/** GET /book/{pool}: the price levels of one pool's public quotes. */
export function bookRoute(parts: BookRouteParts): Route {
  const { books, pools, chainId, limits } = parts;
  const schema = closed({ ...BookPath.properties, ...BookQuery.properties });
  return {
    method: 'GET',
    path: BOOK_PATH,
    needsKey: true,
    handle: withQuery(schema, { chainId, path: BOOK_PATH, limits }, (request, caller, query) => {
      const depth = Number(query.depth ?? limits.wsBookLevels);
      if (depth > limits.wsBookLevels) {
        const cause = { code: 'invalid_parameter', param: 'depth' } as const;
        return refuse(request, cause, `depth is ${depth}, at most ${limits.wsBookLevels}`);
      }
      const { pool } = query;
      const ofState = () => ({ type: 'BOOK', epoch: books.epoch, pool, depth }) as const;
      const past = answerAsOf(request, caller, parts, query, ofState);
      if (past !== null) return past;
      const poolAddress = pools.addressOf(pool);
      if (poolAddress === null) return noPoolNamed(request, pool);
      const view: BookView = { poolAddress, taker: null, depth };
      const read = (work: PacedWork): NetResponse => {
        const { epoch, seq, tsMs, levels } = books;
        const { levelsHash, body } = levels.read(view);
        const instrument = pools.instrumentAt(poolAddress);
        const book: BookResult = { epoch, seq, tsMs, poolAddress, instrument, levelsHash, ...body };
        const text = JSON.stringify(book);
        work.charge(levels.rowsOf(view), text.length);
        return json(text);
      };
      if (books.levels.rowsOf(view) <= limits.rowsPerSlice) return read(UNPACED);
      return largeAnswer(parts.answers, request, caller, read);
    }),
  };
}

/** The pools at a glance, as the committed events leave them. */
export interface TickersQueries {
  readonly epoch: string;
  readonly tickerCount: number;
  /** Their pools. */
  tickerPools(): Iterable<Pool>;
  /**
   * JSON text of the answer in pieces, of the moment of the first one, with the tickers in each. `more`: further fields
   * of a ticker.
   */
  tickersJson(more?: (ticker: TickerView) => object): Iterable<{ readonly rows: number; readonly text: string }>;
}

/** Source of a ticker's further fields. */
export interface TickerView {
  readonly pool: Pool;
  readonly best: {
    readonly bid: { readonly price: bigint } | null;
    readonly ask: { readonly price: bigint } | null;
  };
}

/** Estimates of pools, beside what the feed says of them. */
export interface TickerValuations {
  /** Resolves once spot prices are new enough; gives `instrument` and `valuation` of a ticker. */
  prepare(pools: Iterable<Pool>): Promise<(ticker: TickerView) => object>;
}

export interface TickersRouteLimits {
  /** With more tickers the answer is a large one. */
  readonly rowsPerSlice: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

export interface TickersRouteParts extends PastPorts {
  readonly tickers: TickersQueries;
  readonly valuations: TickerValuations;
  readonly chainId: string;
  readonly limits: TickersRouteLimits;
}

/** GET /tickers: all pools at a glance. */
export function tickersRoute(parts: TickersRouteParts): Route {
  const { tickers, valuations, chainId, limits } = parts;
  return {
    method: 'GET',
    path: '/tickers',
    needsKey: true,
    handle: withQuery(TickersQuery, { chainId, limits }, (request, caller, query) => {
      const isValued = query.fields === 'valuation';
      const ofState = () => ({ type: 'TICKERS', epoch: tickers.epoch }) as const;
      const isPast = pastPointOf(query) !== null;
      if (isValued && isPast) {
        const cause = { code: 'invalid_parameter', param: 'fields' } as const;
        return refuse(request, cause, 'Valuations are of the present alone');
      }
      const past = answerAsOf(request, caller, parts, query, ofState);
      if (past !== null) return past;
      const write = async (work: PacedWork): Promise<NetResponse> => {
        const more = isValued ? await valuations.prepare(tickers.tickerPools()) : undefined;
        let body = '';
        for (const { rows, text } of tickers.tickersJson(more)) {
          body += text;
          if (rows === 0) continue;
          work.charge(rows, text.length);
          await work.turn();
        }
        return json(body);
      };
      if (tickers.tickerCount <= limits.rowsPerSlice) return write(UNPACED);
      return largeAnswer(parts.answers, request, caller, write);
    }),
  };
}
