import type { ChainPosition, ChainRole, Command } from '../../engine/command.js';
import type { Clock } from '../../engine/ports.js';
import type { Hex, Order, Pool } from '../../engine/quote.js';
import type { BlockId, ChainLog } from '../contracts/blocks-and-logs.js';
import { pause } from '../../system/timers.js';
import type { CursorStart } from './cursor.js';

/** The book as those who read the chains see it. Commands are its only way in. */
export interface BookPort {
  /** False: the log takes nothing now (the disk is full or too slow); nothing happened. */
  submit(command: Command): boolean;
  /** A known order: live or invalid. */
  get(quoteId: Hex): Order | undefined;
  /** Also an order that is gone, while a reorg could bring it back. */
  isKnown(quoteId: Hex): boolean;
  /** Whether the book has the pool as deployed. */
  hasPool(poolAddress: Hex): boolean;
  /** A pool that is deployed, or that a quote of the book names. */
  pool(poolAddress: Hex): Pool | undefined;
  /** Live and invalid orders of a provider. */
  ordersOf(provider: Hex): Iterable<Order>;
  /** Live and invalid orders in a pool. */
  ordersIn(poolAddress: Hex): Iterable<Order>;
  /** Pools with live or invalid orders. */
  quotedPools(): Iterable<Pool>;
  /** Providers with live or invalid orders. */
  providers(): Iterable<Hex>;
  /** Live, invalid and gone orders that a settlement block above `blockNumber` touched. */
  touchedSince(blockNumber: number): readonly Order[];
  /** Of these, the ones that are gone. */
  goneSince(blockNumber: number): readonly Order[];
}

/** Commands handed over in one go before the event loop gets its turn. */
const SLICE = 200;

/** No command is taken any more: the service is stopping. */
export class SubmitterStopped extends Error {
  override readonly name = 'SubmitterStopped';
}

/** Hands commands over one after the other: waits while the log takes none, and lets others run between slices. */
export class CommandSubmitter {
  #sinceYield = 0;
  #stopped = false;

  constructor(
    private readonly book: BookPort,
    private readonly clock: Clock,
    /** Pause before a refused command is offered again. */
    private readonly retryMs: number,
  ) {}

  /** Rejects with SubmitterStopped after `stop`. */
  async submit(command: Command): Promise<void> {
    this.#checkRunning();
    while (!this.book.submit(command)) {
      await this.#pause(this.retryMs);
      this.#checkRunning();
    }
    if (++this.#sinceYield >= SLICE) await this.#pause(0);
  }

  stop(): void {
    this.#stopped = true;
  }

  #checkRunning(): void {
    if (this.#stopped) throw new SubmitterStopped('The service is stopping');
  }

  async #pause(delayMs: number): Promise<void> {
    this.#sinceYield = 0;
    await pause(this.clock, delayMs);
  }
}

/** From what the engine remembers of a chain. */
export function resumeFrom(position: ChainPosition | null, trail: readonly BlockId[]): CursorStart {
  return { trail, isPartial: position !== null && position.logIndex !== null };
}

/** The last applied log of a block that is applied in part; null if only whole blocks are. */
export function resumeAfter(position: ChainPosition | null): ChainPosition | null {
  return position?.logIndex == null ? null : position;
}

/** Whether a log was accounted for before a restart. */
export function isBefore({ blockNumber, logIndex }: ChainLog, after: ChainPosition | null): boolean {
  if (after === null || blockNumber > after.blockNumber) return false;
  return blockNumber < after.blockNumber || logIndex <= (after.logIndex ?? Infinity);
}

/** Just after this log. */
export function positionAt(chain: ChainRole, { blockNumber, blockHash, logIndex }: ChainLog): ChainPosition {
  return { chain, blockNumber, blockHash, logIndex };
}

/** The blocks of these logs, each once, in order. */
export function blocksOf(logs: readonly ChainLog[]): BlockId[] {
  const blocks = new Map(logs.map(({ blockNumber, blockHash }) => [blockNumber, { blockNumber, blockHash }]));
  return [...blocks.values()].sort((a, b) => a.blockNumber - b.blockNumber);
}

/** The whole block. */
export function wholeBlock(chain: ChainRole, { blockNumber, blockHash }: BlockId): ChainPosition {
  return { chain, blockNumber, blockHash, logIndex: null };
}
