import type { NetRequest, NetResponse } from '../net/net.js';
import { type PacedWork, UNPACED } from '../system/timers.js';
import { TickersQuery } from '../wire/feed-messages.js';
import { onChain } from '../wire/primitives.js';
import { compile } from '../wire/validation.js';
import { json, largeAnswer, type LargeAnswers, refuse } from './answer.js';
import { readQuery } from './read-query.js';
import type { Caller, Route } from './router.js';
import { chainNotServed } from './served-chain.js';

/** The pools at a glance, as the committed events leave them. */
export interface TickersQueries {
  readonly tickerCount: number;
  /** JSON text of the answer in pieces, of the moment of the first one, with the tickers in each. */
  tickersJson(): Iterable<{ readonly rows: number; readonly text: string }>;
}

export interface TickersRouteLimits {
  /** With more tickers the answer is a large one. */
  readonly rowsPerSlice: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

/** GET /tickers: all pools at a glance. */
export function tickersRoute(
  tickers: TickersQueries,
  chainId: string,
  limits: TickersRouteLimits,
  answers: LargeAnswers,
): Route {
  const checkQuery = compile(onChain(TickersQuery, chainId), limits.schemaErrors);
  return {
    method: 'GET',
    path: '/tickers',
    needsKey: true,
    handle(request: NetRequest, caller: Caller): NetResponse | Promise<NetResponse> {
      const query = readQuery(request, checkQuery, limits.queryPairs);
      if (!query.ok) return refuse(request, 400, query.error);
      if (query.value.chainId !== chainId) return refuse(request, 400, chainNotServed(null, chainId));
      const write = async (work: PacedWork): Promise<NetResponse> => {
        let body = '';
        for (const { rows, text } of tickers.tickersJson()) {
          body += text;
          if (rows === 0) continue;
          work.charge(rows, text.length);
          await work.turn();
        }
        return json(body);
      };
      return tickers.tickerCount <= limits.rowsPerSlice ? write(UNPACED) : largeAnswer(answers, request, caller, write);
    },
  };
}
