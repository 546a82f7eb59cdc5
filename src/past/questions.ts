import type { CoverTarget, OrdersQuery } from '../engine/queries.js';
import type { Hex } from '../engine/quote.js';

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
  /** Addresses whose private quotes may be shown, as taker or as provider; null: every one. */
  readonly takers: readonly Hex[] | null;
  /** Most events of the answer. */
  readonly limit: number;
}

/** A read of a state of the past. `fields`: those that the quotes have besides. */
export type StateQuery =
  | { readonly type: 'QUOTES'; readonly query: CoverTarget; readonly fields: 'instrument' | null }
  | {
      readonly type: 'ORDERS';
      readonly query: OrdersQuery;
      /** Addresses whose private quotes may be shown, as taker or as provider; null: every one. */
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
      /** Rows of answers that were written, and those that were read for them. */
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
