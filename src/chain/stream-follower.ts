import type { ChainPosition } from '../engine/command.js';
import type { Hex } from '../engine/quote.js';
import type { QuoteError } from '../schema/orderbook.js';
import { idOf, type BlockId } from './block-head.js';
import type { ChainCursor } from './chain-cursor.js';
import type { ChainLog } from './chain-log.js';
import type { ChainReader } from './chain-reader.js';
import type { BlockRange, CursorStep } from './cursor-step.js';
import type { EarlyEvents } from './early-events.js';
import {
  blocksOf,
  isBefore,
  positionAt,
  wholeBlock,
  type FollowedBook,
  type PatientSubmitter,
} from './followed-book.js';
import type { ForeseenStates } from './foreseen-states.js';
import { publishedQuote } from './growing-quote.js';
import { mapInFlight } from './in-flight.js';
import type { LateLogs } from './late-logs.js';
import { readRange } from './log-range.js';
import type { Candidate, PublicationCheck, RefusedEvent, StreamRefusal } from './publication-check.js';
import { publishQuoteTopics } from './quote-events.js';
import type { QuoteReading } from './quote-states.js';
import { originOf } from './settlement-events.js';

export interface StreamListener {
  /** The book knows this quote now, or (`refusal`) will not take it. */
  onSettled(quoteId: Hex, refusal: string | null): void;
  onRefused(why: StreamRefusal, log: ChainLog): void;
  /**
   * Quotes are about to enter with the state of the settlement block that was given: the book has to know of it first.
   */
  beforeEntry(): Promise<void>;
}

export interface StreamFollowerOptions {
  readonly orderbookStream: Hex;
  /** From before a restart: logs up to here were told already. */
  readonly resumeAfter: ChainPosition | null;
  readonly tellEveryBlocks: number;
  /** Requests for the timestamps of blocks that are under way at once. */
  readonly blocksInFlight: number;
}

/** What the stream says is next: nothing of it has been told to anyone yet. */
export type StreamNews =
  | Exclude<CursorStep, { readonly type: 'BLOCKS' }>
  /** `logs` is null where the node refused the range. */
  | { readonly type: 'BLOCKS'; readonly range: BlockRange; readonly logs: readonly ChainLog[] | null };

/** Follows `PublishQuote`, whoever sent it: our own publications enter by this path like everybody's. */
export class StreamFollower {
  #told = -1;
  #resumeAfter: ChainPosition | null;

  constructor(
    private readonly reader: ChainReader,
    private readonly cursor: ChainCursor,
    private readonly book: FollowedBook,
    private readonly submitter: PatientSubmitter,
    private readonly publications: PublicationCheck,
    private readonly states: Pick<ForeseenStates, 'read'>,
    private readonly early: Pick<EarlyEvents, 'take'>,
    private readonly late: Pick<LateLogs, 'mayLack'>,
    private readonly listener: StreamListener,
    private readonly options: StreamFollowerOptions,
  ) {
    this.#resumeAfter = options.resumeAfter;
  }

  get position(): BlockId | null {
    return this.cursor.position;
  }

  /**
   * Needs nothing of the settlement chain, so that both can be asked at once. One at a time; then `enter`, or never.
   */
  async look(): Promise<StreamNews> {
    const step = await this.cursor.poll();
    if (step.type !== 'BLOCKS') return step;
    const { fromBlock, to } = step;
    const query = {
      fromBlock,
      to: idOf(to),
      address: this.options.orderbookStream,
      topics: publishQuoteTopics,
    };
    const logs = await readRange(this.cursor, step, () => this.reader.logs(query));
    if (step.isLast && logs !== null && this.late.mayLack(to, logs)) return { type: 'IDLE' };
    return { type: 'BLOCKS', range: step, logs };
  }

  /** One range of blocks, or one reorg, entered with the state of `settlement`. True when nothing is left for now. */
  async enter(news: StreamNews, settlement: BlockId): Promise<boolean> {
    switch (news.type) {
      case 'IDLE':
        return true;
      case 'BEGIN':
        await this.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('stream', news.at) });
        this.cursor.moveTo(news.at);
        return false;
      case 'BLOCKS':
        if (news.logs === null) return false;
        await this.#enterLogs(news.range, news.logs, settlement);
        return news.range.isLast;
      case 'REORG':
        await this.submitter.submit({ type: 'REWIND_STREAM', position: wholeBlock('stream', news.ancestor) });
        this.cursor.moveTo(news.ancestor);
        this.#resumeAfter = null;
        this.#told = news.ancestor.blockNumber;
        return false;
    }
  }

  /** Asks for everything first and tells the book afterwards. */
  async #enterLogs(range: BlockRange, all: readonly ChainLog[], settlement: BlockId): Promise<void> {
    const to = idOf(range.to);
    const logs = all.filter((log) => !isBefore(log, this.#resumeAfter));
    const checked = await this.publications.check(logs);
    const { candidates } = checked;
    const [readings, timestamps] = await Promise.all([
      this.states.read(
        candidates.map(({ quote }) => quote),
        settlement,
      ),
      this.#timestamps(candidates, range),
    ]);
    await this.cursor.confirm(range);

    for (const refused of checked.refused) this.#refuse(refused);
    for (const quoteId of checked.known) this.listener.onSettled(quoteId, null);
    await this.#enter(candidates, readings, timestamps, settlement);
    if (logs.length > 0 || to.blockNumber - this.#told >= this.options.tellEveryBlocks) {
      this.#told = to.blockNumber;
      await this.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('stream', to) });
    }
    this.cursor.advance(range, blocksOf(candidates.map(({ log }) => log)));
    this.#resumeAfter = null;
  }

  /**
   * Filled amounts and validity are those of the settlement block that the book shows; only later events apply to them.
   */
  async #enter(
    candidates: readonly Candidate[],
    readings: readonly QuoteReading[],
    timestamps: ReadonlyMap<number, number>,
    settlement: BlockId,
  ): Promise<void> {
    if (candidates.length > 0) await this.listener.beforeEntry();
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
      const early = this.early.take(quote);
      await this.submitter.submit({
        type: 'ENTER_QUOTE',
        quote: publishedQuote(quote, ts, originOf(log)),
        state: reading.state,
        settlementBlock: settlement.blockNumber,
        ...(early.length > 0 && { early }),
        position: positionAt('stream', log),
      });
      if (this.book.get(quoteId) !== undefined) this.listener.onSettled(quoteId, null);
      else {
        const why = reading.error === null ? 'EXPIRED' : 'NOT_FILLABLE';
        this.#refuse({ why, log, publication: { quoteId, reason: reading.error ?? 'QuoteOBExpired' } });
      }
    }
  }

  /** What a log says of its time counts where it can be so, and its block has not been seen. */
  async #timestamps(candidates: readonly Candidate[], { to }: BlockRange): Promise<ReadonlyMap<number, number>> {
    const timestamps = new Map<number, number>();
    for (const { log } of candidates) {
      if (log.timestamp !== null && log.timestamp <= to.timestamp) timestamps.set(log.blockNumber, log.timestamp);
    }
    timestamps.set(to.number, to.timestamp);
    const missing = blocksOf(candidates.map(({ log }) => log)).filter(
      ({ blockNumber }) => !timestamps.has(blockNumber),
    );
    await mapInFlight(missing, this.options.blocksInFlight, async (block) => {
      timestamps.set(block.blockNumber, (await this.reader.blockOf(block)).timestamp);
    });
    return timestamps;
  }

  #refuse({ why, log, publication }: RefusedEvent): void {
    this.listener.onRefused(why, log);
    if (publication !== null) this.listener.onSettled(publication.quoteId, publication.reason);
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
