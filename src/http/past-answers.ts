import type { CoverTarget, OrdersQuery } from '../engine/queries.js';
import type { Hex } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import { rowsChargedForReading } from '../system/timers.js';
import type { AsOfQuery } from '../wire/orderbook.js';
import { json, largeAnswer, type LargeAnswerRunner, noPoolNamed, refuse, unavailable } from './responses.js';
import type { Caller } from './router.js';

/** Which state of the past is meant: as of an event, a settlement block, or a moment of engine time in milliseconds. */
export type PastPoint =
  | { readonly type: 'SEQ'; readonly seq: number }
  | { readonly type: 'BLOCK'; readonly blockNumber: number }
  | { readonly type: 'TIME'; readonly tsMs: number };

/** A state of the log: after its record `index`. */
export interface PastMoment {
  readonly index: number;
  /** Of the last event. */
  readonly seq: number;
  /** Engine time of the last record, milliseconds. */
  readonly tsMs: number;
  /** Of the settlement chain, the last one that was read; null: none was. */
  readonly blockNumber: number | null;
}

export interface HistoryRequest {
  readonly type: 'QUOTE_HISTORY';
  readonly quoteId: Hex;
  /** Null: from the oldest event that is kept. */
  readonly afterSeq: number | null;
  /** Takers whose private quotes may be shown; null: every taker. */
  readonly takers: readonly Hex[] | null;
  /** Most events of the answer. */
  readonly limit: number;
}

/** What is read of a state of the past. `fields`: those that the quotes have besides. */
export type StateQuery =
  | { readonly type: 'QUOTES'; readonly query: CoverTarget; readonly fields: 'instrument' | null }
  | {
      readonly type: 'ORDERS';
      readonly query: OrdersQuery;
      /** Takers whose private quotes may be shown; null: every taker. */
      readonly takers: readonly Hex[] | null;
      readonly isPage: boolean;
      readonly fields: 'instrument' | null;
    }
  | { readonly type: 'BOOK_PROOF'; readonly poolAddress: Hex }
  /** `pool`: an address, or the name of an option. `depth`: levels of each side. `epoch`: the feed's name of the log. */
  | { readonly type: 'BOOK'; readonly epoch: string; readonly pool: string; readonly depth: number }
  | { readonly type: 'TICKERS'; readonly epoch: string };

/** A question about the log's past. */
export type PastRequest = HistoryRequest | (StateQuery & { readonly point: PastPoint });

export type PastAnswer =
  | {
      readonly type: 'FOUND';
      /** JSON. */
      readonly body: Uint8Array;
      /** Of the state that was read; null: the answer is of more than one. */
      readonly at: PastMoment | null;
      /** What was written, and what was read for it, in rows of answers. */
      readonly rows: number;
      readonly rowsRead: number;
    }
  /** Some of it is no longer kept. `oldest`: from where on all is. */
  | {
      readonly type: 'GONE';
      readonly oldest: Pick<PastMoment, 'seq'> & Partial<Pick<PastMoment, 'blockNumber' | 'tsMs'>>;
    }
  | { readonly type: 'NOT_REACHED' }
  /** No pool that was deployed then has the name. */
  | { readonly type: 'NO_POOL'; readonly pool: string }
  /** Too many questions wait, or nothing is kept that is close enough to the point. */
  | { readonly type: 'BUSY' }
  /** The answer is larger than what can be passed on. */
  | { readonly type: 'TOO_LARGE' };

/** Answers questions about the past from the log, beside the writer. */
export interface PastQueries {
  ask(request: PastRequest): Promise<PastAnswer>;
}

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
