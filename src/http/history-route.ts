import type { TakerAccess } from '../auth/taker-access.js';
import { BookProofPath, BookProofQuery, QuoteHistoryPath, QuoteHistoryQuery } from '../wire/history.js';
import { closed } from '../wire/primitives.js';
import { withQuery } from './checked-input.js';
import { lower, pageLimit } from './parse.js';
import { answerPast, type PastPorts } from './past-answers.js';
import type { Route } from './router.js';

export interface HistoryRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

const PATH = '/quotes/{quoteId}/history';

export interface QuoteHistoryRouteParts extends PastPorts {
  readonly limits: HistoryRouteLimits;
  readonly takers: TakerAccess;
}

/** GET /quotes/{quoteId}/history: every event of one quote. */
export function quoteHistoryRoute(parts: QuoteHistoryRouteParts): Route {
  const { limits, takers } = parts;
  const schema = closed({ ...QuoteHistoryPath.properties, ...QuoteHistoryQuery.properties });
  return {
    method: 'GET',
    path: PATH,
    needsKey: true,
    handle: withQuery(schema, { path: PATH, limits }, (request, caller, { quoteId, afterSeq, limit }) =>
      answerPast(request, caller, parts, {
        type: 'QUOTE_HISTORY',
        quoteId: lower(quoteId),
        afterSeq: afterSeq === undefined ? null : Number(afterSeq),
        takers: takers.shownTo(caller),
        limit: pageLimit(limit),
      }),
    ),
  };
}

const PROOF_PATH = '/book/{pool}/proof';

export interface BookProofRouteParts extends PastPorts {
  readonly chainId: string;
  readonly limits: HistoryRouteLimits;
}

/** GET /book/{pool}/proof: what a pool's public book as of an event was made of. */
export function bookProofRoute(parts: BookProofRouteParts): Route {
  const { chainId, limits } = parts;
  const schema = closed({ ...BookProofPath.properties, ...BookProofQuery.properties });
  return {
    method: 'GET',
    path: PROOF_PATH,
    needsKey: true,
    handle: withQuery(schema, { chainId, path: PROOF_PATH, limits }, (request, caller, { pool, seq }) => {
      const poolAddress = lower(pool);
      const point = { type: 'SEQ', seq: Number(seq) } as const;
      return answerPast(request, caller, parts, { type: 'BOOK_PROOF', poolAddress, point });
    }),
  };
}
