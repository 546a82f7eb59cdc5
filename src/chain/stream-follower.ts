import type { ChainPosition } from '../engine/command.js';
import type { Clock } from '../engine/ports.js';
import { MAX_PRICE, type Hex, type Pool } from '../engine/quote.js';
import type { QuoteSignature } from '../auth/quote-signature.js';
import type { BlockId, ChainCursor, CursorStep } from './chain-cursor.js';
import type { BlockHead, ChainLog, ChainReader } from './chain-reader.js';
import { isBefore, positionAt, wholeBlock, type FollowedBook, type PatientSubmitter } from './followed-book.js';
import type { PoolAddresses } from './pool-addresses.js';
import { decodePublishedQuote, publishQuoteTopics } from './quote-events.js';
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

/** Follows `PublishQuote`, whoever sent it: our own publications enter by this path like everybody's. */
export class StreamFollower {
  #told = -1;

  constructor(
    private readonly reader: ChainReader,
    private readonly cursor: ChainCursor,
    private readonly orderbookStream: Hex,
    private readonly book: FollowedBook,
    private readonly submitter: PatientSubmitter,
    private readonly pools: PoolAddresses,
    private readonly signatures: QuoteSignature,
    private readonly states: QuoteStates,
    private readonly listener: StreamListener,
    /** From before a restart: logs up to here were told already. */
    private readonly resumeAfter: ChainPosition | null,
    private readonly tellEveryBlocks: number,
    /** Events checked between two turns of the event loop: at 80 us a signature, 100 take 8 ms. */
    private readonly checksPerTurn: number,
    private readonly clock: Clock,
  ) {}

  get position(): BlockId | null {
    return this.cursor.position;
  }

  /** One range of blocks, or one reorg, entered with the state of `settlement`. True when nothing is left for now. */
  async step(settlement: BlockId): Promise<boolean> {
    const step = await this.cursor.poll();
    switch (step.type) {
      case 'IDLE':
        return true;
      case 'BLOCKS':
        await this.#read(step, settlement);
        return step.isLast;
      case 'REORG':
        await this.submitter.submit({ type: 'REWIND_STREAM', position: wholeBlock('stream', step.ancestor) });
        this.cursor.rewind(step.ancestor);
        this.#told = step.ancestor.blockNumber;
        return false;
    }
  }

  async #read({ fromBlock, to }: CursorStep & { type: 'BLOCKS' }, settlement: BlockId): Promise<void> {
    const logs = (await this.#logs(fromBlock, to)).filter((log) => !isBefore(log, this.resumeAfter));
    if (logs.length > 0) {
      const candidates = await this.#check(logs);
      await this.#enter(candidates, to, settlement);
    }
    if (logs.length > 0 || to.number - this.#told >= this.tellEveryBlocks) {
      this.#told = to.number;
      const position = wholeBlock('stream', { blockNumber: to.number, blockHash: to.hash });
      await this.submitter.submit({ type: 'ADVANCE_POSITION', position });
    }
    this.cursor.advance(to);
  }

  async #logs(fromBlock: number, { number }: BlockHead): Promise<ChainLog[]> {
    const query = { fromBlock, toBlock: number, address: this.orderbookStream, topics: publishQuoteTopics };
    try {
      return await this.reader.logs(query);
    } catch (error) {
      this.cursor.narrow();
      throw error;
    }
  }

  /** The quotes that are what they claim to be; first events only, since a repeated one changes nothing. */
  async #check(logs: readonly ChainLog[]): Promise<Candidate[]> {
    const decoded = logs.map((log) => ({ log, published: decodePublishedQuote(log) }));
    const keys = decoded.flatMap(({ published }) => published?.poolKey ?? []);
    const pools = (await this.pools.resolve(keys)).values();
    const candidates = new Map<Hex, Candidate>();
    let checked = 0;
    for (const { log, published } of decoded) {
      if (published === null) {
        this.listener.onRefused('MALFORMED', log);
        continue;
      }
      if (++checked % this.checksPerTurn === 0) await this.#yield();
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
      else if (this.signatures.verify(quoteId, quote)) candidates.set(quoteId, { quote, log });
      else this.listener.onRefused('BAD_SIGNATURE', log);
    }
    return [...candidates.values()];
  }

  /** Filled amounts and validity are those of the settlement block that the book shows; only later events apply to them. */
  async #enter(candidates: readonly Candidate[], to: BlockHead, settlement: BlockId): Promise<void> {
    const [readings, timestamps] = await Promise.all([
      this.states.read(
        candidates.map(({ quote }) => quote),
        settlement.blockNumber,
      ),
      this.#timestamps(candidates, to),
    ]);
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

  async #timestamps(candidates: readonly Candidate[], to: BlockHead): Promise<ReadonlyMap<number, number>> {
    const timestamps = new Map([[to.number, to.timestamp]]);
    for (const { log } of candidates) {
      const { blockNumber } = log;
      if (!timestamps.has(blockNumber)) timestamps.set(blockNumber, (await this.reader.block(blockNumber)).timestamp);
    }
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
