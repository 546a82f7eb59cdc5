import { dueSecond } from '../engine/book-order.js';
import type { ChainPosition } from '../engine/command.js';
import type { Clock } from '../engine/ports.js';
import { MAX_PRICE, type Hex, type Pool } from '../engine/quote.js';
import type { QuoteSignature } from '../auth/quote-signature.js';
import type { BlockRange, ChainCursor } from './chain-cursor.js';
import { ChainAnswerError, type BlockId, type ChainLog, type ChainReader } from './chain-reader.js';
import {
  blocksOf,
  isBefore,
  positionAt,
  wholeBlock,
  type FollowedBook,
  type PatientSubmitter,
} from './followed-book.js';
import { mapInFlight } from './in-flight.js';
import { readRange } from './log-range.js';
import type { PoolAddresses } from './pool-addresses.js';
import { decodePublishedQuote, publishQuoteTopics, type PublishedQuote } from './quote-events.js';
import type { IdentifiedQuote, QuoteError, QuoteReading, QuoteStates } from './quote-states.js';
import { originOf } from './settlement-events.js';

/** Why an event on the stream chain brought nothing into the book: counted, never fatal, and the cursor moves on. */
export type StreamRefusal =
  'MALFORMED' | 'IMPOSSIBLE_POOL' | 'OUT_OF_BOUNDS_PRICE' | 'BAD_SIGNATURE' | 'NOT_FILLABLE' | 'EXPIRED';

export interface StreamListener {
  /** The book knows this quote now, or (`refusal`) will not take it. */
  onSettled(quoteId: Hex, refusal: string | null): void;
  onRefused(why: StreamRefusal, log: ChainLog): void;
}

interface Candidate {
  readonly quote: IdentifiedQuote;
  readonly log: ChainLog;
}

export interface StreamFollowerOptions {
  readonly orderbookStream: Hex;
  /** From before a restart: logs up to here were told already. */
  readonly resumeAfter: ChainPosition | null;
  readonly tellEveryBlocks: number;
  /** Events checked between two turns of the event loop: at 80 us a signature, 100 take 8 ms. */
  readonly checksPerTurn: number;
  /** Engine time, Unix seconds: what is due by then is not asked about. */
  readonly nowSeconds: () => number;
}

/** Requests for the timestamps of blocks that are under way at once. */
const BLOCKS_IN_FLIGHT = 8;

/** Follows `PublishQuote`, whoever sent it: our own publications enter by this path like everybody's. */
export class StreamFollower {
  #told = -1;
  #resumeAfter: ChainPosition | null;

  constructor(
    private readonly reader: ChainReader,
    private readonly cursor: ChainCursor,
    private readonly book: FollowedBook,
    private readonly submitter: PatientSubmitter,
    private readonly pools: PoolAddresses,
    private readonly signatures: QuoteSignature,
    private readonly states: QuoteStates,
    private readonly clock: Clock,
    private readonly listener: StreamListener,
    private readonly options: StreamFollowerOptions,
  ) {
    this.#resumeAfter = options.resumeAfter;
  }

  get position(): BlockId | null {
    return this.cursor.position;
  }

  /** One range of blocks, or one reorg, entered with the state of `settlement`. True when nothing is left for now. */
  async step(settlement: BlockId): Promise<boolean> {
    const step = await this.cursor.poll();
    switch (step.type) {
      case 'IDLE':
        return true;
      case 'BEGIN':
        await this.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('stream', step.at) });
        this.cursor.moveTo(step.at);
        return false;
      case 'BLOCKS':
        return (await this.#read(step, settlement)) && step.isLast;
      case 'REORG':
        await this.submitter.submit({ type: 'REWIND_STREAM', position: wholeBlock('stream', step.ancestor) });
        this.cursor.moveTo(step.ancestor);
        this.#resumeAfter = null;
        this.#told = step.ancestor.blockNumber;
        return false;
    }
  }

  /** Asks for everything first and tells the book afterwards. False: the node refused the range. */
  async #read(range: BlockRange, settlement: BlockId): Promise<boolean> {
    const { fromBlock } = range;
    const to = { blockNumber: range.to.number, blockHash: range.to.hash };
    const query = { fromBlock, to, address: this.options.orderbookStream, topics: publishQuoteTopics };
    const all = await readRange(this.cursor, range, () => this.reader.logs(query));
    if (all === null) return false;
    const logs = all.filter((log) => !isBefore(log, this.#resumeAfter));
    const candidates = logs.length > 0 ? await this.#check(logs) : [];
    const [readings, timestamps] = await Promise.all([
      this.states.read(
        candidates.map(({ quote }) => quote),
        settlement,
      ),
      this.#timestamps(candidates, range),
    ]);
    await this.cursor.confirm(range);

    await this.#enter(candidates, readings, timestamps, settlement);
    if (logs.length > 0 || to.blockNumber - this.#told >= this.options.tellEveryBlocks) {
      this.#told = to.blockNumber;
      await this.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('stream', to) });
    }
    this.cursor.advance(range, blocksOf(candidates.map(({ log }) => log)));
    this.#resumeAfter = null;
    return true;
  }

  /** The quotes that are what they claim to be; first events only, since a repeated one changes nothing. */
  async #check(logs: readonly ChainLog[]): Promise<Candidate[]> {
    const decoded: { log: ChainLog; published: PublishedQuote | null }[] = [];
    for (const log of logs) {
      decoded.push({ log, published: decodePublishedQuote(log) });
      if (decoded.length % this.options.checksPerTurn === 0) await this.#yield();
    }
    const keys = decoded.flatMap(({ published }) => published?.poolKey ?? []);
    const pools = (await this.pools.resolve(keys)).values();
    const candidates = new Map<Hex, Candidate>();
    let checked = 0;
    for (const { log, published } of decoded) {
      if (published === null) {
        this.listener.onRefused('MALFORMED', log);
        continue;
      }
      if (++checked % this.options.checksPerTurn === 0) await this.#yield();
      const pool: Pool | null = pools.next().value ?? null;
      if (pool === null) {
        this.listener.onRefused('IMPOSSIBLE_POOL', log);
        continue;
      }
      const quoteId = this.signatures.quoteId({ ...published.words, pool });
      const quote: IdentifiedQuote = { ...published.words, pool, quoteId };
      if (this.book.get(quoteId) !== undefined) this.listener.onSettled(quoteId, null);
      else if (quote.price > MAX_PRICE) this.#refuse(quoteId, 'OUT_OF_BOUNDS_PRICE', 'OutOfBoundsPrice', log);
      else if (candidates.has(quoteId)) continue;
      else if (dueSecond(quote) <= this.options.nowSeconds()) this.#refuse(quoteId, 'EXPIRED', 'QuoteOBExpired', log);
      else if (this.signatures.verify(quoteId, quote)) candidates.set(quoteId, { quote, log });
      else this.listener.onRefused('BAD_SIGNATURE', log);
    }
    return [...candidates.values()];
  }

  /** Filled amounts and validity are those of the settlement block that the book shows; only later events apply to them. */
  async #enter(
    candidates: readonly Candidate[],
    readings: readonly QuoteReading[],
    timestamps: ReadonlyMap<number, number>,
    settlement: BlockId,
  ): Promise<void> {
    for (const [i, { quote, log }] of candidates.entries()) {
      const reading = readings[i];
      const ts = timestamps.get(log.blockNumber);
      if (reading === undefined || ts === undefined) throw new Error('An answer is missing');
      const { quoteId } = quote;
      const problem = entryProblem(reading);
      if (problem !== null) {
        this.#refuse(quoteId, 'NOT_FILLABLE', problem, log);
        continue;
      }
      await this.submitter.submit({
        type: 'ENTER_QUOTE',
        quote: { ...quote, ts, origin: originOf(log) },
        state: reading.state,
        settlementBlock: settlement.blockNumber,
        position: positionAt('stream', log),
      });
      if (this.book.get(quoteId) !== undefined) this.listener.onSettled(quoteId, null);
      else this.#refuse(quoteId, 'EXPIRED', reading.error ?? 'QuoteOBExpired', log);
    }
  }

  async #timestamps(candidates: readonly Candidate[], { to }: BlockRange): Promise<ReadonlyMap<number, number>> {
    const timestamps = new Map([[to.number, to.timestamp]]);
    for (const { log } of candidates) if (log.timestamp !== null) timestamps.set(log.blockNumber, log.timestamp);
    const missing = blocksOf(candidates.map(({ log }) => log)).filter(
      ({ blockNumber }) => !timestamps.has(blockNumber),
    );
    await mapInFlight(missing, BLOCKS_IN_FLIGHT, async ({ blockNumber, blockHash }) => {
      const { hash, timestamp } = await this.reader.block(blockNumber);
      if (hash !== blockHash) throw new ChainAnswerError('A block is of another branch than its logs');
      timestamps.set(blockNumber, timestamp);
    });
    return timestamps;
  }

  #refuse(quoteId: Hex, why: StreamRefusal, reason: string, log: ChainLog): void {
    this.listener.onRefused(why, log);
    this.listener.onSettled(quoteId, reason);
  }

  #yield(): Promise<void> {
    return new Promise((resolve) => this.clock.after(0, resolve));
  }
}

/**
 * Null when the engine should hear of the quote: it can be filled, or its provider can't pay just now, or it is cancelled
 * or filled, which a reorg may undo.
 */
function entryProblem({ state, error }: QuoteReading): QuoteError | null {
  if (error === null || state.reason !== null) return null;
  return error === 'QuoteOBCancelled' || error === 'QuoteOBOverfilled' ? null : error;
}
