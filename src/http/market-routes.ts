import type { Hex, Pool } from '../engine/quote.js';
import type { Candle, PlacedTrade, TradeFilter, TradePlace } from '../market/trade-store.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import {
  CANDLE_SECONDS,
  CandlesQuery,
  type CandlesResult,
  tradeJson,
  TradesQuery,
  type TradesResult,
} from '../wire/market.js';
import { onChain } from '../wire/primitives.js';
import { compile } from '../wire/validation.js';
import { readQuery } from './parse.js';
import { chainNotServed, json, largeAnswer, type LargeAnswerRunner, poolOf, refuse, unavailable } from './responses.js';
import type { Caller, Route } from './router.js';

/** The trades that are kept. */
export interface TradeQueries {
  /** False: those of before the start are still being read. */
  readonly isComplete: boolean;
  readonly store: {
    readonly size: number;
    since(nowSeconds: number): number;
    newest(filter: TradeFilter, before: TradePlace | null): Iterable<PlacedTrade>;
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

const DEFAULT_PAGE = 100;
/** Trades that are passed over cost about as much as one row that is written. */
const PASSED_OVER_PER_ROW = 100;

/** GET /trades and GET /candles. */
export function marketRoutes(parts: MarketRouteParts): Route[] {
  const { trades, chainId, limits } = parts;
  const checkTrades = compile(onChain(TradesQuery, chainId), limits.schemaErrors);
  const checkCandles = compile(onChain(CandlesQuery, chainId), limits.schemaErrors);

  return [
    {
      method: 'GET',
      path: '/trades',
      needsKey: true,
      handle(request, caller) {
        const query = readQuery(request, checkTrades, limits.queryPairs);
        if (!query.ok) return refuse(request, query.code, query.error);
        const { poolAddress, instrument } = query.value;
        const isOfAll = poolAddress === undefined && instrument === undefined;
        const pool = isOfAll ? null : poolOf(request, query.value, parts.poolNamed);
        if (pool !== null && typeof pool !== 'string') return pool;
        return answer(request, caller, query.value, () => page(query.value, pool));
      },
    },
    {
      method: 'GET',
      path: '/candles',
      needsKey: true,
      handle(request, caller) {
        const query = readQuery(request, checkCandles, limits.queryPairs);
        if (!query.ok) return refuse(request, query.code, query.error);
        const pool = poolOf(request, query.value, parts.poolNamed);
        if (typeof pool !== 'string') return pool;
        return answer(request, caller, query.value, () => candles(query.value, pool));
      },
    },
  ];

  function answer(
    request: NetRequest,
    caller: Caller,
    query: Pick<TradesQuery, 'chainId' | 'from'>,
    make: () => object,
  ): NetResponse | Promise<NetResponse> {
    if (query.chainId !== chainId) return refuse(request, 'unsupported_chain', chainNotServed(null, chainId));
    if (!trades.isComplete) return unavailable(request, 'busy', 'The trades are being read from the log');
    const since = trades.store.since(parts.nowSeconds());
    if (query.from !== undefined && Number(query.from) < since) {
      return refuse(request, 'no_longer_kept', `Trades before ${since} are not kept`);
    }
    const rows = Math.ceil(trades.store.size / PASSED_OVER_PER_ROW);
    return largeAnswer(parts.answers, request, caller, (work) => {
      const text = JSON.stringify(make());
      work.charge(rows, text.length);
      return json(text);
    });
  }

  function page(query: TradesQuery, poolAddress: Hex | null): TradesResult {
    const limit = query.limit === undefined ? DEFAULT_PAGE : Number(query.limit);
    const [blockNumber, logIndex] = query.cursor?.split('-').map(Number) ?? [];
    const before = blockNumber === undefined || logIndex === undefined ? null : { blockNumber, logIndex };
    const found: PlacedTrade[] = [];
    for (const trade of trades.store.newest(filterOf(query, poolAddress), before)) {
      found.push(trade);
      if (found.length > limit) break;
    }
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return {
      since: trades.store.since(parts.nowSeconds()),
      next: last === undefined ? null : `${last.blockNumber}-${last.logIndex}`,
      trades: shown.map((trade) => tradeJson(trade, trade, parts.instrument(trade.pool))),
    };
  }

  function candles(query: CandlesQuery, poolAddress: Hex): CandlesResult {
    const all = trades.store.candles(filterOf(query, poolAddress), CANDLE_SECONDS[query.interval]);
    return { since: trades.store.since(parts.nowSeconds()), candles: all.slice(-limits.candles).map(candleJson) };
  }
}

function filterOf(
  query: Partial<Pick<TradesQuery, 'provider' | 'taker' | 'side' | 'from' | 'to'>>,
  poolAddress: Hex | null,
): TradeFilter {
  const lower = (address: string | undefined): Hex | null => (address?.toLowerCase() as Hex | undefined) ?? null;
  return {
    poolAddress,
    provider: lower(query.provider),
    taker: lower(query.taker),
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
