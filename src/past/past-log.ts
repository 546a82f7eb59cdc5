import type { Profile } from '../chain/contracts/deployments.js';
import { Keccak256 } from '../auth/keccak256.js';
import { OptionSeries } from '../chain/options/option-series.js';
import { type Hex, isPrivate, type Order } from '../engine/quote.js';
import { OrderLists, type OrdersFound } from '../http/order-lists.js';
import type { HistoryRequest, PastAnswer, PastPoint, PastRequest, StateQuery } from '../http/past-answers.js';
import { BookHash } from '../feed/book-hash.js';
import type { Disk } from '../persistence/disk/disk.js';
import { requireManifest } from '../persistence/format/manifest.js';
import { LogHistory } from '../persistence/log/log-history.js';
import { QuoteJson } from '../wire/quote-json.js';
import { bookProof, type BookProofParts } from './book-proof.js';
import { type LogNow, PastStates, type PastStatesLimits } from './past-states.js';
import { findQuoteEvents, quoteHistoryJson } from './quote-history.js';

export interface PastLogLimits extends PastStatesLimits {
  /** Bytes of records that one answer searches. */
  readonly pastSearchBytes: number;
  /** Quotes whose written text is kept. */
  readonly writtenQuotes: number;
}

export interface PastLogOptions {
  /** As it goes on the wire. */
  readonly chainId: string;
  readonly profile: Pick<Profile, 'tokens' | 'contracts'>;
  readonly limits: PastLogLimits;
}

/** A question, and how far the answer may go. */
export type BoundedRequest = PastRequest & LogNow;

/** Bytes of records that are searched in about the time that one row takes to be read. */
const BYTES_PER_ROW = 1 << 10;

/** Answers questions about the past from the log's files. */
export class PastLog {
  readonly #history: LogHistory;
  readonly #states: PastStates;
  readonly #options: PastLogOptions;
  readonly #plainJson: QuoteJson;
  readonly #namedJson: QuoteJson;
  readonly #proofParts: BookProofParts;

  static async open(disk: Disk, options: PastLogOptions): Promise<PastLog> {
    const { epoch, reorgDepth } = await requireManifest(disk);
    return new PastLog(new LogHistory(disk, epoch), new PastStates(disk, reorgDepth, options.limits), options);
  }

  private constructor(history: LogHistory, states: PastStates, options: PastLogOptions) {
    this.#history = history;
    this.#states = states;
    this.#options = options;
    const { chainId, profile, limits } = options;
    const series = new OptionSeries(profile);
    this.#plainJson = new QuoteJson(chainId, limits.writtenQuotes);
    this.#namedJson = new QuoteJson(chainId, limits.writtenQuotes, (pool) => series.instrument(pool));
    const keccak = new Keccak256();
    this.#proofParts = {
      chainId,
      streamContract: profile.contracts.orderbookStream.address,
      quoteJson: this.#plainJson,
      bookHash: new BookHash((bytes) => keccak.of(bytes)),
    };
  }

  answer(request: BoundedRequest): Promise<PastAnswer> {
    return request.type === 'QUOTE_HISTORY' ? this.#quoteHistory(request) : this.#ofState(request);
  }

  async #quoteHistory(request: BoundedRequest & HistoryRequest): Promise<PastAnswer> {
    const found = await findQuoteEvents(this.#history, request, this.#options.limits.pastSearchBytes);
    if (found.type === 'GONE') return { type: 'GONE', oldest: { seq: found.since } };
    const body = Buffer.from(JSON.stringify(quoteHistoryJson(request.quoteId, found, this.#plainJson)));
    const rowsRead = Math.ceil(found.bytesRead / BYTES_PER_ROW);
    return { type: 'FOUND', body, at: null, rows: found.events.length, rowsRead };
  }

  async #ofState(request: BoundedRequest & StateQuery & { readonly point: PastPoint }): Promise<PastAnswer> {
    const state = await this.#states.at(request.point, request);
    if (state.type === 'TOO_FAR') return { type: 'BUSY' };
    if (state.type !== 'STATE') return state;
    const { engine, at, recordsRead } = state;
    if (request.type === 'BOOK_PROOF') {
      const proof = bookProof(engine, request.poolAddress, this.#proofParts);
      const rows = proof.quotes.length + proof.invalid.length + proof.withdrawn.length;
      return { type: 'FOUND', body: Buffer.from(JSON.stringify(proof)), at, rows, rowsRead: recordsRead };
    }
    const lists = new OrderLists(request.fields === null ? this.#plainJson : this.#namedJson, NO_DIGEST, {
      rowsPerSlice: Infinity,
      rememberedAnswerBytes: 0,
    });
    if (request.type === 'QUOTES') {
      const orders = engine.cover(request.query);
      const body = asBytes(lists.best(orders, at.index).answer.body);
      return { type: 'FOUND', body, at, rows: orders.length, rowsRead: recordsRead };
    }
    const found = shownOf(engine.orders(request.query), request.takers);
    const body = asBytes(lists.newest(found, request.isPage, false).answer.body);
    const candidates = engine.candidateCount(request.query);
    const rows = found.valid.length + found.invalid.length;
    return { type: 'FOUND', body, at, rows, rowsRead: recordsRead + candidates };
  }
}

/** Without the private quotes of other takers than these; null: with all. */
function shownOf({ valid, invalid, next }: OrdersFound, takers: readonly Hex[] | null): OrdersFound {
  if (takers === null) return { valid, invalid, next };
  const isShown = ({ quote }: Order): boolean => !isPrivate(quote) || takers.includes(quote.taker);
  return { valid: valid.filter(isShown), invalid: invalid.filter(isShown), next };
}

/** Answers about the past have no entity tag. */
const NO_DIGEST = (): string => '';

function asBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body;
}
