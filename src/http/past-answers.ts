import type { NetRequest, NetResponse } from '../net/net.js';
import type { PastMoment, PastPoint, PastQueries, PastRequest, StateQuery } from '../past/questions.js';
import { rowsChargedForReading } from '../system/paced-work.js';
import type { AsOfQuery } from '../wire/orderbook.js';
import { json, largeAnswer, type LargeAnswerRunner, noPoolNamed, refuse, unavailable } from './responses.js';
import type { Caller } from './router.js';

/** The point that a query names; null: the present. `TWICE`: it names more than one. */
export function pastPointOf({ asOfSeq, asOfBlock, asOfTime }: AsOfQuery): PastPoint | 'TWICE' | null {
  const points: PastPoint[] = [];
  if (asOfSeq !== undefined) points.push({ type: 'SEQ', seq: Number(asOfSeq) });
  if (asOfBlock !== undefined) points.push({ type: 'BLOCK', blockNumber: Number(asOfBlock) });
  if (asOfTime !== undefined) points.push({ type: 'TIME', tsMs: Number(asOfTime) });
  return points.length > 1 ? 'TWICE' : (points[0] ?? null);
}

export interface PastPorts {
  /** Null: no log is kept. */
  readonly past: PastQueries | null;
  readonly answers: LargeAnswerRunner;
}

/** Answers a query that names a point of the past; null: it is about the present. */
export function answerAsOf(
  request: NetRequest,
  caller: Caller,
  ports: PastPorts,
  query: AsOfQuery,
  ofState: () => StateQuery,
): NetResponse | Promise<NetResponse> | null {
  const point = pastPointOf(query);
  if (point === null) return null;
  if (point === 'TWICE') {
    return refuse(request, 'invalid_parameter', 'asOfSeq, asOfBlock and asOfTime exclude each other');
  }
  return answerPast(request, caller, ports, { ...ofState(), point });
}

/** The answer of the log, made and charged as a large answer. */
export function answerPast(
  request: NetRequest,
  caller: Caller,
  { past, answers }: PastPorts,
  question: PastRequest,
): NetResponse | Promise<NetResponse> {
  if (past === null) return refuse(request, 'no_longer_kept', 'This service keeps no log');
  return largeAnswer(answers, request, caller, async (work) => {
    const answer = await past.ask(question);
    switch (answer.type) {
      case 'BUSY':
        return unavailable(request, 'busy', 'BUSY');
      case 'NOT_REACHED':
        return unavailable(request, 'event_not_reached', 'That point has not been reached yet');
      case 'NO_POOL':
        return noPoolNamed(request, answer.pool);
      case 'TOO_LARGE':
        return refuse(
          request,
          'snapshot_too_large',
          'Too many quotes for a gateway of a cluster. Name a pool or a limit',
        );
      case 'GONE': {
        const { oldest } = answer;
        const what = question.type === 'QUOTE_HISTORY' ? 'Events up to' : 'States before event';
        return refuse(request, 'no_longer_kept', { message: `${what} ${oldest.seq} are not kept`, oldest });
      }
      case 'FOUND': {
        const { body, at, rows, rowsRead } = answer;
        work.charge(rows + rowsChargedForReading(rowsRead), body.length);
        return at === null ? json(body) : asOf(json(body), at);
      }
    }
  });
}

/** The answer, with the state that it is of. */
function asOf(response: NetResponse, { seq, tsMs, blockNumber }: PastMoment): NetResponse {
  const block = blockNumber === null ? '' : `block=${blockNumber}, `;
  return { ...response, headers: { ...response.headers, 'x-quotebook-as-of': `seq=${seq}, ${block}tsMs=${tsMs}` } };
}
