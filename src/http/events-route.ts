import type { NetRequest, NetResponse } from '../net/net.js';
import { type PacedWork, UNPACED } from '../system/timers.js';
import { BookEventsQuery, EventsQuery } from '../wire/feed-messages.js';
import { onChain } from '../wire/primitives.js';
import { parseQuery } from '../wire/query.js';
import { compile } from '../wire/validation.js';
import { json, largeAnswer, type LargeAnswers, refuse, unavailable } from './answer.js';
import type { Caller, Route } from './router.js';
import { chainNotServed } from './served-chain.js';

/** Past messages of the feed. */
export interface PastEvents {
  /** Most rows that a page reads. */
  rows(query: EventsQuery | BookEventsQuery): number;
  /** JSON of one page, or why there is none; busy: there may be one later. */
  read(
    query: EventsQuery | BookEventsQuery,
    work: PacedWork,
  ): Promise<
    | { readonly ok: true; readonly page: Uint8Array }
    | { readonly ok: false; readonly problem: string; readonly busy: boolean }
  >;
}

export interface EventsRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
  /** A page that reads more is a large answer. */
  readonly rowsPerSlice: number;
}

/** GET /events: what a reader of the feed missed, for those who come back without a socket. */
export function eventsRoute(
  past: PastEvents,
  chainId: string,
  limits: EventsRouteLimits,
  answers: LargeAnswers,
): Route {
  const checkEvents = compile(onChain(EventsQuery, chainId), limits.schemaErrors);
  const checkBookEvents = compile(onChain(BookEventsQuery, chainId), limits.schemaErrors);
  return {
    method: 'GET',
    path: '/events',
    needsKey: true,
    handle(request: NetRequest, caller: Caller): NetResponse | Promise<NetResponse> {
      const parsed = parseQuery(request.query, { maxPairs: limits.queryPairs });
      if (!parsed.ok) return refuse(request, 400, parsed.message);
      const query = (parsed.value.channel === 'ORDERBOOK' ? checkBookEvents : checkEvents)(parsed.value);
      if (!query.ok) return refuse(request, 400, query.errors);
      if ((query.value.chainId ?? chainId) !== chainId) {
        return refuse(request, 400, chainNotServed(null, chainId));
      }
      const read = async (work: PacedWork): Promise<NetResponse> => {
        const answer = await past.read(query.value, work);
        if (answer.ok) return json(answer.page);
        return answer.busy ? unavailable(request, answer.problem) : refuse(request, 400, answer.problem);
      };
      if (past.rows(query.value) <= limits.rowsPerSlice) return read(UNPACED);
      return largeAnswer(answers, request, caller, read);
    },
  };
}
