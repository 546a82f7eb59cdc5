import type { TakerAccess } from '../auth/taker-access.js';
import type { PastQueries } from '../past/questions.js';
import { BookProofPath, BookProofQuery, QuoteHistoryPath, QuoteHistoryQuery } from '../wire/history.js';
import { closed } from '../wire/primitives.js';
import { withQuery } from './checked-input.js';
import { lower, pageLimit } from './parse.js';
import { answerPast } from './past-answers.js';
import type { LargeAnswerRunner } from './responses.js';
import type { Route } from './router.js';

export interface HistoryRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

const PATH = '/quotes/{quoteId}/history';

/** GET /quotes/{quoteId}/history: every event of one quote. `past` is null where no log is kept. */
export function quoteHistoryRoute(
  past: PastQueries | null,
  limits: HistoryRouteLimits,
  answers: LargeAnswerRunner,
  takers: TakerAccess,
): Route {
  const schema = closed({ ...QuoteHistoryPath.properties, ...QuoteHistoryQuery.properties });
  return {
    method: 'GET',
    path: PATH,
    needsKey: true,
    handle: withQuery(schema, { path: PATH, limits }, (request, caller, { quoteId, afterSeq, limit }) =>
      answerPast(
        request,
        caller,
        { past, answers },
        {
          type: 'QUOTE_HISTORY',
          quoteId: lower(quoteId),
          afterSeq: afterSeq === undefined ? null : Number(afterSeq),
          takers: takers.shownTo(caller),
          limit: pageLimit(limit),
        },
      ),
    ),
  };
}

const PROOF_PATH = '/book/{pool}/proof';

/** GET /book/{pool}/proof: what a pool's public book as of an event was made of. */
export function bookProofRoute(
  past: PastQueries | null,
  chainId: string,
  limits: HistoryRouteLimits,
  answers: LargeAnswerRunner,
): Route {
  const schema = closed({ ...BookProofPath.properties, ...BookProofQuery.properties });
  return {
    method: 'GET',
    path: PROOF_PATH,
    needsKey: true,
    handle: withQuery(schema, { chainId, path: PROOF_PATH, limits }, (request, caller, { pool, seq }) => {
      const poolAddress = lower(pool);
      const point = { type: 'SEQ', seq: Number(seq) } as const;
      return answerPast(request, caller, { past, answers }, { type: 'BOOK_PROOF', poolAddress, point });
    }),
  };
}
