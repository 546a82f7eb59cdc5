import type { TakerAccess } from '../auth/taker-access.js';
import type { PastQueries } from '../past/questions.js';
import { BookProofPath, BookProofQuery, QuoteHistoryPath, QuoteHistoryQuery } from '../wire/history.js';
import { closed, onChain } from '../wire/primitives.js';
import { compile } from '../wire/validation.js';
import { lower, pageLimit, readQuery } from './parse.js';
import { answerPast } from './past-answers.js';
import { type LargeAnswerRunner, refuse, wrongChain } from './responses.js';
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
  const check = compile(
    closed({ ...QuoteHistoryPath.properties, ...QuoteHistoryQuery.properties }),
    limits.schemaErrors,
  );
  return {
    method: 'GET',
    path: PATH,
    needsKey: true,
    handle(request, caller) {
      const query = readQuery(request, check, limits.queryPairs, PATH);
      if (!query.ok) return refuse(request, query.code, query.error);
      const { quoteId, afterSeq, limit } = query.value;
      return answerPast(
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
      );
    },
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
  const check = compile(onChain(schema, chainId), limits.schemaErrors);
  return {
    method: 'GET',
    path: PROOF_PATH,
    needsKey: true,
    handle(request, caller) {
      const query = readQuery(request, check, limits.queryPairs, PROOF_PATH);
      if (!query.ok) return refuse(request, query.code, query.error);
      const { pool, seq } = query.value;
      if (query.value.chainId !== chainId) return wrongChain(request, chainId);
      const poolAddress = lower(pool);
      const point = { type: 'SEQ', seq: Number(seq) } as const;
      return answerPast(request, caller, { past, answers }, { type: 'BOOK_PROOF', poolAddress, point });
    },
  };
}
