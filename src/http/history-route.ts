import type { Hex } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { rowsChargedForReading } from '../system/timers.js';
import { QuoteHistoryPath, QuoteHistoryQuery } from '../wire/history.js';
import { closed } from '../wire/primitives.js';
import { parseQuery } from '../wire/query.js';
import { compile } from '../wire/validation.js';
import { json, largeAnswer, type LargeAnswerRunner, refuse, unavailable } from './responses.js';
import { type Caller, pathParameters, type Route } from './router.js';

/** A question about the log's past. */
export interface PastRequest {
  readonly type: 'QUOTE_HISTORY';
  readonly quoteId: Hex;
  /** Null: from the oldest event that is kept. */
  readonly afterSeq: number | null;
  /** Most events of the answer. */
  readonly limit: number;
}

export type PastAnswer =
  | {
      readonly type: 'FOUND';
      /** JSON. */
      readonly body: Uint8Array;
      /** What was written, and what was read for it, in rows of answers. */
      readonly rows: number;
      readonly rowsRead: number;
    }
  /** Some of it is no longer kept. `oldest`: from where on all is. */
  | { readonly type: 'GONE'; readonly oldest: { readonly seq: number } }
  /** Too many questions wait. */
  | { readonly type: 'BUSY' };

/** Answers questions about the past from the log, beside the writer. */
export interface PastQueries {
  ask(request: PastRequest): Promise<PastAnswer>;
}

export interface HistoryRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

const DEFAULT_PAGE = 100;
const PATH = '/quotes/{quoteId}/history';

/** GET /quotes/{quoteId}/history: every event of one quote. `past` is null where no log is kept. */
export function quoteHistoryRoute(
  past: PastQueries | null,
  limits: HistoryRouteLimits,
  answers: LargeAnswerRunner,
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
      const parsed = parseQuery(request.query, { maxPairs: limits.queryPairs });
      if (!parsed.ok) return refuse(request, 'malformed_query', parsed.message);
      const query = check({ ...parsed.value, ...pathParameters(PATH, request.path) });
      if (!query.ok) return refuse(request, 'invalid_parameter', query.errors);
      const { quoteId, afterSeq, limit } = query.value;
      return answerPast(request, caller, past, answers, {
        type: 'QUOTE_HISTORY',
        quoteId: quoteId.toLowerCase() as Hex,
        afterSeq: afterSeq === undefined ? null : Number(afterSeq),
        limit: limit === undefined ? DEFAULT_PAGE : Number(limit),
      });
    },
  };
}

/** The answer of the log, made and charged as a large answer. */
function answerPast(
  request: NetRequest,
  caller: Caller,
  past: PastQueries | null,
  answers: LargeAnswerRunner,
  question: PastRequest,
): NetResponse | Promise<NetResponse> {
  if (past === null) return refuse(request, 'no_longer_kept', 'This service keeps no log');
  return largeAnswer(answers, request, caller, async (work) => {
    const answer = await past.ask(question);
    if (answer.type === 'BUSY') return unavailable(request, 'busy', 'BUSY');
    if (answer.type === 'GONE') {
      const { oldest } = answer;
      return refuse(request, 'no_longer_kept', { message: `Events up to ${oldest.seq} are not kept`, oldest });
    }
    work.charge(answer.rows + rowsChargedForReading(answer.rowsRead), answer.body.length);
    return json(answer.body);
  });
}
