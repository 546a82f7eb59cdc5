import type { NetRequest, NetResponse } from '../net/net.js';
import { compile } from '../schema/check.js';
import { TickersQuery } from '../schema/feed-queries.js';
import { onChain } from '../schema/primitives.js';
import { json, refuse } from './answer.js';
import { readQuery } from './read-query.js';
import type { Route } from './router.js';
import { chainNotServed } from './served-chain.js';

export interface TickersRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

/** GET /tickers: all pools at a glance. `tickers`: JSON text of the answer, of what is committed. */
export function tickersRoute(tickers: () => string, chainId: string, limits: TickersRouteLimits): Route {
  const checkQuery = compile(onChain(TickersQuery, chainId), limits.schemaErrors);
  return {
    method: 'GET',
    path: '/tickers',
    needsKey: true,
    handle(request: NetRequest): NetResponse {
      const query = readQuery(request, checkQuery, limits.queryPairs);
      if (!query.ok) return refuse(request, 400, query.error);
      if (query.value.chainId !== chainId) return refuse(request, 400, chainNotServed(null, chainId));
      return json(tickers());
    },
  };
}
