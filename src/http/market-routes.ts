import type { Hex, Pool } from '../engine/quote.js';
import type { Candle, PlacedTrade, TradeFilter, TradePlace } from '../market/trade-store.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { type PacedWork, rowsChargedForPassingOver, rowsChargedForReading } from '../system/paced-work.js';
import {
  CANDLE_SECONDS,
  CandlesQuery,
  type CandlesResult,
  tradeJson,
  TradesQuery,
  type TradesResult,
} from '../wire/market.js';
import { withQuery } from './checked-input.js';
import { lowerOrNull, pageLimit } from './parse.js';
import { json, largeAnswer, type LargeAnswerRunner, optionalPoolOf, poolOf, refuse, unavailable } from './responses.js';
import type { Caller, Route } from './router.js';

/** The trades that are kept. */
export interface TradeQueries {
  /** False: those of before the start are still being read. */
  readonly isComplete: boolean;
  /** Unix seconds: from when on `page` has them. */
  since(nowSeconds: number): number;
  page(
    filter: TradeFilter,
    before: TradePlace | null,
    limit: number,
    nowSeconds: number,
  ): Promise<
    { readonly trades: readonly PlacedTrade[]; readonly next: TradePlace | null; readonly read: number } | 'BUSY'
  >;
  /** In memory. */
  readonly store: {
    readonly size: number;
    since(nowSeconds: number): number;
    candles(filter: TradeFilter, seconds: number): Candle[];
  };
}

export interface MarketRouteParts {
  readonly trades: TradeQueries;
  readonly instrument: (pool: Pool) => string | null;
  /** Null: no deployed pool has the name. */
  readonly poolNamed: (instrument: string) => Hex | null;
  readonly nowSeconds: () => number;
  readonly chainId: string;
  readonly answers: LargeAnswerRunner;
  readonly limits: {
    readonly queryPairs: number;
    readonly schemaErrors: number;
    readonly rowsPerSlice: number;
    /** Candles of one answer: the newest. */
    readonly candles: number;
  };
}

/** GET /trades and GET /candles. */
export function marketRoutes(parts: MarketRouteParts): Route[] {
  const { trades, chainId, limits } = parts;

  return [
    {
      method: 'GET',
      path: '/trades',
      needsKey: true,
      handle: withQuery(TradesQuery, { chainId, limits }, (request, caller, query) => {
        const pool = optionalPoolOf(request, query, parts.poolNamed);
        if (pool !== null && typeof pool !== 'string') return pool;
        return answer(request, caller, query, trades, (work) => page(request, query, pool, work));
      }),
    },
    {
      method: 'GET',
      path: '/candles',
      needsKey: true,
      handle: withQuery(CandlesQuery, { chainId, limits }, (request, caller, query) => {
        const pool = poolOf(request, query, parts.poolNamed);
        if (typeof pool !== 'string') return pool;
        return answer(request, caller, query, trades.store, (work) => candles(query, pool, work));
      }),
    },
  ];

  function answer(
    request: NetRequest,
    caller: Caller,
    query: Pick<TradesQuery, 'from'>,
    kept: Pick<TradeQueries, 'since'>,
    make: (work: PacedWork) => NetResponse | Promise<NetResponse>,
  ): NetResponse | Promise<NetResponse> {
    if (!trades.isComplete) return unavailable(request, 'busy', 'The trades are being read from the log');
    const since = kept.since(parts.nowSeconds());
    if (query.from !== undefined && Number(query.from) < since) {
      return refuse(request, 'no_longer_kept', `Trades before ${since} are not kept`);
    }
    return largeAnswer(parts.answers, request, caller, make);
  }

  async function page(
    request: NetRequest,
    query: TradesQuery,
    poolAddress: Hex | null,
    work: PacedWork,
  ): Promise<NetResponse> {
    const limit = pageLimit(query.limit);
    const [blockNumber, logIndex] = query.cursor?.split('-').map(Number) ?? [];
    const before = blockNumber === undefined || logIndex === undefined ? null : { blockNumber, logIndex };
    const found = await trades.page(filterOf(query, poolAddress), before, limit, parts.nowSeconds());
    if (found === 'BUSY') return unavailable(request, 'busy', 'BUSY');
    const { next, read } = found;
    const result: TradesResult = {
      since: trades.since(parts.nowSeconds()),
      next: next === null ? null : `${next.blockNumber}-${next.logIndex}`,
      trades: found.trades.map((trade) => tradeJson(trade, trade, parts.instrument(trade.pool))),
    };
    return written(result, rowsChargedForReading(read), work);
  }

  function candles(query: CandlesQuery, poolAddress: Hex, work: PacedWork): NetResponse {
    const all = trades.store.candles(filterOf(query, poolAddress), CANDLE_SECONDS[query.interval]);
    const result: CandlesResult = {
      since: trades.store.since(parts.nowSeconds()),
      candles: all.slice(-limits.candles).map(candleJson),
    };
    return written(result, 0, work);
  }

  function written(result: object, rowsRead: number, work: PacedWork): NetResponse {
    const text = JSON.stringify(result);
    work.charge(rowsChargedForPassingOver(trades.store.size) + rowsRead, text.length);
    return json(text);
  }
}

function filterOf(
  query: Partial<Pick<TradesQuery, 'provider' | 'taker' | 'side' | 'from' | 'to'>>,
  poolAddress: Hex | null,
): TradeFilter {
  return {
    poolAddress,
    provider: lowerOrNull(query.provider),
    taker: lowerOrNull(query.taker),
    isBuy: query.side === undefined ? null : query.side === 'buy',
    from: Number(query.from ?? 0),
    to: query.to === undefined ? Infinity : Number(query.to),
  };
}

function candleJson({ time, open, high, low, close, volume, count }: Candle): CandlesResult['candles'][number] {
  return {
    time,
    open: open.toString(),
    high: high.toString(),
    low: low.toString(),
    close: close.toString(),
    volume: volume.toString(),
    count,
  };
}
