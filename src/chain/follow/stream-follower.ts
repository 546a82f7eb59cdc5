import type { ChainPosition } from '../../engine/command.js';
import type { Hex } from '../../engine/quote.js';
import { mapLimit } from '../../system/timers.js';
import type { QuoteError } from '../../wire/orderbook.js';
import { type BlockHead, type BlockId, type ChainLog, idOf } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { publishedQuote } from '../contracts/quote-types.js';
import { blocksOf, type BookPort, isBefore, type CommandSubmitter, positionAt, wholeBlock } from './book-port.js';
import type { ChainCursor, CursorStep } from './cursor.js';
import type { EarlyEvents } from './early-events.js';
import { readRange } from './log-query.js';
import type { LogReading, LogWindow, WatchedLogs } from './log-window.js';
import {
  type QuoteCandidate,
  type PublicationCheck,
  publishQuoteTopics,
  type RefusedEvent,
  type StreamRefusal,
} from './published-quotes.js';
import type { QuoteReading } from './quote-states.js';
import { originOf } from './settlement-events.js';
import type { StatePrefetch } from './state-prefetch.js';

export interface StreamListener {
  /** The book knows this quote now, or (`refusal`) will not take it. */
  onDecided(quoteId: Hex, refusal: string | null): void;
  onRefused(why: StreamRefusal, log: ChainLog): void;
  /**
   * Quotes are about to enter with the state of the settlement block that was given: the book has to know of it first.
   */
  beforeEntry(): Promise<void>;
}

export interface StreamFollowerParts {
  readonly reader: Pick<ChainReader, 'blockOf'>;
  readonly cursor: ChainCursor;
  readonly book: Pick<BookPort, 'get'>;
  readonly submitter: CommandSubmitter;
  readonly publications: Pick<PublicationCheck, 'check'>;
  readonly states: Pick<StatePrefetch, 'read'>;
  readonly early: Pick<EarlyEvents, 'take'>;
  readonly window: Pick<LogWindow, 'read' | 'readOld' | 'accept' | 'goBackTo' | 'forget' | 'isBeforeMemory'>;
  readonly listener: StreamListener;
  /** Logs up to here were applied before the restart. */
  readonly resumeAfter: ChainPosition | null;
  readonly reportEveryBlocks: number;
  /** Requests for the timestamps of blocks that are under way at once. */
  readonly blocksInFlight: number;
}

/** The next step of the stream; no listener has seen any of it yet. */
export type StreamUpdate =
  | Exclude<CursorStep, { readonly type: 'BLOCKS' | 'IDLE' }>
  /** Late logs of old blocks; null: the logs of the next block are still missing. */
  | { readonly type: 'IDLE'; readonly reading: LogReading | null }
  /** `reading` is null where the node refused the range. */
  | { readonly type: 'BLOCKS'; readonly reading: LogReading | null };

/** Follows `PublishQuote` of every sender: our own publications enter the book by this path, too. */
export class StreamFollower {
  #reportedBlock = -1;
  #resumeAfter: ChainPosition | null;

  constructor(private readonly parts: StreamFollowerParts) {
    this.#resumeAfter = parts.resumeAfter;
  }

  get position(): BlockId | null {
    return this.parts.cursor.position;
  }

  /** Passes on `ChainCursor.askAgain`. */
  askAgain(): boolean {
    return this.parts.cursor.askAgain();
  }

  /**
   * Needs nothing of the settlement chain, so that both can be asked at once. One at a time; then `enter`, or never.
   */
  async look(): Promise<StreamUpdate> {
    const step = await this.parts.cursor.poll();
    if (step.type === 'IDLE') return { type: 'IDLE', reading: await this.parts.window.readOld() };
    if (step.type !== 'BLOCKS') return step;
    const reading = await readRange(this.parts.cursor, step, () => this.parts.window.read(step));
    return reading === 'AWAITED' ? { type: 'IDLE', reading: null } : { type: 'BLOCKS', reading };
  }

  /** One range of blocks, or one reorg, entered with the state of `settlement`. True when nothing is left for now. */
  async enter(news: StreamUpdate, settlement: BlockId): Promise<boolean> {
    switch (news.type) {
      case 'IDLE':
        if (news.reading !== null) await this.#enterReading(news.reading, settlement);
        return true;
      case 'BEGIN':
        await this.parts.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('stream', news.at) });
        this.parts.cursor.moveTo(news.at);
        this.parts.window.goBackTo(news.at, true);
        return false;
      case 'BLOCKS':
        if (news.reading === null) return false;
        await this.#enterReading(news.reading, settlement);
        return news.reading.range?.isLast === true;
      case 'REORG':
        await this.parts.submitter.submit({ type: 'REWIND_STREAM', position: wholeBlock('stream', news.ancestor) });
        this.parts.cursor.moveTo(news.ancestor);
        this.parts.window.forget(news.ancestor);
        this.#resumeAfter = null;
        this.#reportedBlock = news.ancestor.blockNumber;
        return false;
    }
  }

  /** Asks for everything first and tells the book afterwards. */
  async #enterReading(reading: LogReading, settlement: BlockId): Promise<void> {
    const { range, late } = reading;
    const fresh = reading.fresh.filter((log) => !isBefore(log, this.#resumeAfter));
    const logs = [...late, ...fresh];
    const checked = await this.parts.publications.check(logs);
    const { candidates } = checked;
    const [readings, timestamps] = await Promise.all([
      this.parts.states.read(
        candidates.map(({ quote }) => quote),
        settlement,
      ),
      this.#timestamps(candidates, range?.to ?? null),
    ]);
    if (range !== null && !reading.isProven) await this.parts.cursor.confirm(range);

    // A restart would take a position at a late log for all that was read.
    const isLate = candidates.some(({ log }) => late.includes(log));
    if (isLate && this.position !== null) await this.#reportPosition(this.position);
    for (const refused of checked.refused) if (!this.parts.window.isBeforeMemory(refused.log)) this.#refuse(refused);
    for (const quoteId of checked.known) this.parts.listener.onDecided(quoteId, null);
    await this.#enter(candidates, readings, timestamps, settlement);
    if (range !== null) {
      const to = idOf(range.to);
      if (fresh.length > 0 || to.blockNumber - this.#reportedBlock >= this.parts.reportEveryBlocks)
        await this.#reportPosition(to);
      this.parts.cursor.advance(range, blocksOf(candidates.map(({ log }) => log)));
      this.#resumeAfter = null;
    }
    this.parts.window.accept(reading);
  }

  async #reportPosition(to: BlockId): Promise<void> {
    this.#reportedBlock = to.blockNumber;
    await this.parts.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('stream', to) });
  }

  /**
   * Filled amounts and validity are those of the settlement block that the book shows; only later events apply to them.
   */
  async #enter(
    candidates: readonly QuoteCandidate[],
    readings: readonly QuoteReading[],
    timestamps: ReadonlyMap<number, number>,
    settlement: BlockId,
  ): Promise<void> {
    if (candidates.length > 0) await this.parts.listener.beforeEntry();
    for (const [i, { quote, log }] of candidates.entries()) {
      const reading = readings[i];
      const ts = timestamps.get(log.blockNumber);
      if (reading === undefined || ts === undefined) throw new Error('An answer is missing');
      const { quoteId } = quote;
      const problem = entryProblem(reading);
      if (problem !== null) {
        this.#refuse({ why: 'NOT_FILLABLE', log, publication: { quoteId, reason: problem } });
        continue;
      }
      const early = this.parts.early.take(quote);
      await this.parts.submitter.submit({
        type: 'ENTER_QUOTE',
        quote: publishedQuote(quote, ts, originOf(log)),
        state: reading.state,
        settlementBlock: settlement.blockNumber,
        ...(early.length > 0 && { early }),
        position: positionAt('stream', log),
      });
      if (this.parts.book.get(quoteId) !== undefined) this.parts.listener.onDecided(quoteId, null);
      else {
        const why = reading.error === null ? 'EXPIRED' : 'NOT_FILLABLE';
        this.#refuse({ why, log, publication: { quoteId, reason: reading.error ?? 'QuoteOBExpired' } });
      }
    }
  }

  /** Uses a log's own timestamp if it is plausible and its block has not been seen. `to`: the last block read. */
  async #timestamps(candidates: readonly QuoteCandidate[], to: BlockHead | null): Promise<ReadonlyMap<number, number>> {
    const timestamps = new Map<number, number>();
    for (const { log } of candidates) {
      const isPossible = log.timestamp !== null && to !== null && log.timestamp <= to.timestamp;
      if (isPossible) timestamps.set(log.blockNumber, log.timestamp);
    }
    if (to !== null) timestamps.set(to.number, to.timestamp);
    const missing = blocksOf(candidates.map(({ log }) => log)).filter(
      ({ blockNumber }) => !timestamps.has(blockNumber),
    );
    await mapLimit(missing, this.parts.blocksInFlight, async (block) => {
      timestamps.set(block.blockNumber, (await this.parts.reader.blockOf(block)).timestamp);
    });
    return timestamps;
  }

  #refuse({ why, log, publication }: RefusedEvent): void {
    this.parts.listener.onRefused(why, log);
    if (publication !== null) this.parts.listener.onDecided(publication.quoteId, publication.reason);
  }
}

/**
 * Null when the engine should hear of the quote: it can be filled, or can't just now for a reason that may pass, or it
 * is cancelled or filled, which a reorg may undo.
 */
function entryProblem({ state, error }: QuoteReading): QuoteError | null {
  if (error === null || state.reason !== null) return null;
  return error === 'QuoteOBCancelled' || error === 'QuoteOBOverfilled' ? null : error;
}

/** The published quotes of the stream. */
export function watchedStream(orderbookStream: Hex): WatchedLogs {
  const [publishQuote] = publishQuoteTopics;
  return {
    mayHold: (bloom) => bloom.has(orderbookStream) && bloom.has(publishQuote),
    mayHoldHints: () => false,
    hintsAmong: () => [],
    isEvent: ({ address, topics }) => address === orderbookStream.toLowerCase() && topics[0] === publishQuote,
    events: (reader, fromBlock, to) =>
      reader.logs({ fromBlock, to, address: orderbookStream, topics: publishQuoteTopics }),
    hints: () => Promise.resolve([]),
  };
}
