import type { ChainPosition, ChainRole, Command } from '../engine/command.js';
import type { Order } from '../engine/order.js';
import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { BlockId } from './chain-cursor.js';
import type { ChainLog } from './chain-reader.js';

/** The book as those who read the chains see it. Commands are its only way in. */
export interface FollowedBook {
  /** False: the log takes nothing now (the disk is full or too slow); nothing happened. */
  submit(command: Command): boolean;
  /** A known order: live or invalid. */
  get(quoteId: Hex): Order | undefined;
  /** Live and invalid orders of a provider. */
  ordersOf(provider: Hex): Iterable<Order>;
  /** Live and invalid orders in a pool. */
  ordersIn(poolAddress: Hex): Iterable<Order>;
  /** Providers with live or invalid orders. */
  providers(): Iterable<Hex>;
  /** Live, invalid and gone orders that a settlement block above `blockNumber` touched. */
  touchedSince(blockNumber: number): readonly Order[];
}

/** Commands handed over in one go before the event loop gets its turn. */
const SLICE = 200;

/** Hands commands over one after the other: waits while the log takes none, and lets others run between slices. */
export class PatientSubmitter {
  #sinceYield = 0;

  constructor(
    private readonly book: FollowedBook,
    private readonly clock: Clock,
    /** Pause before a refused command is offered again. */
    private readonly retryMs: number,
  ) {}

  async submit(command: Command): Promise<void> {
    while (!this.book.submit(command)) await this.#pause(this.retryMs);
    if (++this.#sinceYield >= SLICE) await this.#pause(0);
  }

  async #pause(delayMs: number): Promise<void> {
    this.#sinceYield = 0;
    await new Promise<void>((resolve) => this.clock.after(delayMs, resolve));
  }
}

/** Where a reader goes on after a restart: the blocks it has read to their end, and the last log of the one after them. */
export interface ResumePoint {
  readonly trail: readonly BlockId[];
  /** Logs up to and including this one are accounted for; null: whole blocks are. */
  readonly after: ChainPosition | null;
}

/** From what the engine remembers of a chain. */
export function resumePoint(position: ChainPosition | null, trail: readonly BlockId[]): ResumePoint {
  if (position?.logIndex == null) return { trail, after: null };
  return { trail: trail.filter(({ blockNumber }) => blockNumber < position.blockNumber), after: position };
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

/** The whole block. */
export function wholeBlock(chain: ChainRole, { blockNumber, blockHash }: BlockId): ChainPosition {
  return { chain, blockNumber, blockHash, logIndex: null };
}
