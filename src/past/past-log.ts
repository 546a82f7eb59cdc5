import type { Profile } from '../chain/contracts/deployments.js';
import { Keccak256 } from '../auth/keccak256.js';
import { isShownTo } from '../auth/taker-access.js';
import { OptionSeries, PoolNames } from '../chain/options/option-series.js';
import type { OrdersResult } from '../engine/queries.js';
import type { Hex, Order } from '../engine/quote.js';
import { BookHash } from '../feed/book-hash.js';
import { CommittedBook } from '../feed/committed-book.js';
import { readLevels } from '../feed/level-topics.js';
import { FilledDay } from '../feed/past-fills.js';
import { ID_SALT } from '../system/clock.js';
import { DAY_MS } from '../system/timers.js';
import { tickerJson, Tickers } from '../feed/tickers.js';
import { TradeVolume } from '../feed/trade-volume.js';
import type { Disk } from '../persistence/disk/disk.js';
import { requireManifest } from '../persistence/format/manifest.js';
import { LogHistory } from '../persistence/log/log-history.js';
import type { BookResult, PastTickersResult } from '../wire/feed-messages.js';
import { OrderListWriter, writeAll } from '../wire/order-list-json.js';
import { QuoteJson } from '../wire/quote-json.js';
import { bookProof, type BookProofParts, findWithdrawals, withdrawnIn } from './book-proof.js';
import { type LogNow, type PastState, PastStates, type PastStatesLimits } from './past-states.js';
import type { HistoryRequest, PastAnswer, PastMoment, PastPoint, PastRequest, StateQuery } from './questions.js';
import { findQuoteEvents, quoteHistoryJson } from './quote-history.js';

export interface PastLogLimits extends PastStatesLimits {
  /** Bytes of records that one answer searches. */
  readonly pastSearchBytes: number;
  /** Quotes whose written text is kept. */
  readonly writtenQuotes: number;
  /** Filled quotes, and trades, of the day before a state that are counted. */
  readonly recentFills: number;
  readonly tradesKept: number;
}

export interface PastLogOptions {
  /** The settlement chain's id in decimal digits. */
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
  readonly #series: OptionSeries;

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
    this.#series = series;
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
    const body = asJson(quoteHistoryJson(request.quoteId, found, this.#plainJson));
    const rowsRead = Math.ceil(found.bytesRead / BYTES_PER_ROW);
    return { type: 'FOUND', body, at: null, rows: found.events.length, rowsRead };
  }

  async #ofState(request: BoundedRequest & StateQuery & { readonly point: PastPoint }): Promise<PastAnswer> {
    const state = await this.#states.at(request.point, request);
    if (state.type === 'TOO_FAR') return { type: 'BUSY' };
    if (state.type === 'GONE') {
      const { seq, blockNumber, tsMs } = state.oldest;
      return { type: 'GONE', oldest: { seq, blockNumber, tsMs } };
    }
    if (state.type !== 'STATE') return state;
    const { engine, at, recordsRead } = state;
    if (request.type === 'BOOK_PROOF') {
      const { poolAddress } = request;
      const { pastSearchBytes } = this.#options.limits;
      const ids = withdrawnIn(engine, poolAddress);
      const { found, bytesRead } = await findWithdrawals(this.#history, ids, at.index, pastSearchBytes);
      const proof = bookProof(engine, poolAddress, found, this.#proofParts);
      const rows = proof.quotes.length + proof.invalid.length + proof.withdrawn.length;
      const rowsRead = recordsRead + Math.ceil(bytesRead / BYTES_PER_ROW);
      return { type: 'FOUND', body: asJson(proof), at, rows, rowsRead };
    }
    if (request.type === 'BOOK') return this.#book(request, state);
    if (request.type === 'TICKERS') return this.#tickers(request, state);
    const quoteJson = request.fields === null ? this.#plainJson : this.#namedJson;
    if (request.type === 'QUOTES') {
      const orders = engine.cover(request.query);
      const body = listOf(quoteJson, orders.length, (list) => list.best(orders));
      return { type: 'FOUND', body, at, rows: orders.length, rowsRead: recordsRead };
    }
    const found = shownOf(engine.orders(request.query), request.takers);
    const candidates = engine.candidateCount(request.query);
    const rows = found.valid.length + found.invalid.length;
    const body = listOf(quoteJson, rows, (list) => list.newest(found, request.isPage));
    return { type: 'FOUND', body, at, rows, rowsRead: recordsRead + candidates };
  }

  #book({ epoch, pool, depth }: QueryOf<'BOOK'>, { engine, at, recordsRead }: FoundState): PastAnswer {
    const names = new PoolNames(() => engine.pools(), this.#series);
    const poolAddress = names.addressOf(pool);
    if (poolAddress === null) return { type: 'NO_POOL', pool };
    const deployed = engine.pool(poolAddress)?.pool;
    const instrument = deployed === undefined ? null : names.nameOf(deployed);
    const { bookHash } = this.#proofParts;
    const orders = [...engine.ordersIn(poolAddress)];
    const view = { poolAddress, taker: null, depth };
    const { levelsHash, body } = readLevels(new CommittedBook(orders, bookHash, ID_SALT), view, bookHash);
    const book: BookResult = { epoch, seq: at.seq, tsMs: at.tsMs, poolAddress, instrument, levelsHash, ...body };
    const rows = body.bids.length + body.asks.length;
    return { type: 'FOUND', body: asJson(book), at, rows, rowsRead: recordsRead + orders.length };
  }

  /** As a service that starts with this state has them, once it has read the day before from its log. */
  async #tickers({ epoch }: QueryOf<'TICKERS'>, { engine, at, recordsRead }: FoundState): Promise<PastAnswer> {
    const { limits } = this.#options;
    const orders = [...engine.known()];
    const tickers = new Tickers({
      book: new CommittedBook(orders, this.#proofParts.bookHash, ID_SALT).book,
      pools: Array.from(engine.pools(), ({ pool }) => pool),
      maxRecentFills: limits.recentFills,
      volume: new TradeVolume(limits.tradesKept),
      hasPast: true,
    });
    const day = new FilledDay(limits);
    const { isWhole, records } = await this.#countDay(day, at);
    if (isWhole) day.addTo(tickers);
    tickers.flush(at.tsMs);
    const result: PastTickersResult = {
      epoch,
      seq: at.seq,
      tsMs: at.tsMs,
      tickers: Array.from(tickers.all(), (ticker) => ({ ...tickerJson(ticker), ...(!isWhole && UNKNOWN_FILLS) })),
    };
    const rowsRead = recordsRead + records + orders.length;
    return { type: 'FOUND', body: asJson(result), at, rows: tickers.size, rowsRead };
  }

  /** Counts the events of the day before the moment. Not whole: some are not kept, or more than one answer reads. */
  async #countDay(day: FilledDay, { index, tsMs }: PastMoment): Promise<{ isWhole: boolean; records: number }> {
    const sinceMs = tsMs - DAY_MS;
    const isBeginningKept = (await this.#history.droppedThroughSeq()) === 0;
    let records = 0;
    let firstMs = Infinity;
    for await (const part of this.#history.recordsSince(sinceMs, index)) {
      for (const { stamp, events } of part) {
        firstMs = Math.min(firstMs, stamp.tsMs);
        if (stamp.tsMs < sinceMs || stamp.index > index) continue;
        for (const event of events) day.count({ event, tsMs: stamp.tsMs });
      }
      records += part.length;
      if (records > this.#options.limits.pastReplayRecords) return { isWhole: false, records };
    }
    // Segments that were dropped during the read are missing as well.
    const isAllKept = isBeginningKept && (await this.#history.droppedThroughSeq()) === 0;
    return { isWhole: isAllKept || firstMs < sinceMs, records };
  }
}

type QueryOf<T extends StateQuery['type']> = Extract<StateQuery, { readonly type: T }>;
type FoundState = Extract<PastState, { readonly type: 'STATE' }>;

const UNKNOWN_FILLS = { filledSize24h: null };

function shownOf({ valid, invalid, next }: OrdersResult, takers: readonly Hex[] | null): OrdersResult {
  const isShown = ({ quote }: Order): boolean => isShownTo(takers, quote);
  return { valid: valid.filter(isShown), invalid: invalid.filter(isShown), next };
}

function asJson(answer: object): Uint8Array {
  return Buffer.from(JSON.stringify(answer));
}

/** A list of so many orders, written in one go: nothing else waits for this thread. */
function listOf(quoteJson: QuoteJson, rows: number, write: (list: OrderListWriter) => Generator<undefined>) {
  const list = new OrderListWriter(quoteJson, rows, Infinity);
  writeAll(write(list));
  return list.finish();
}
