import type { QuoteState } from '../engine/command.js';
import type { Hex, Order, Origin } from '../engine/quote.js';
import { type BlockId, idOf } from './block-head.js';
import type { ChainCursor } from './chain-cursor.js';
import type { BlockRange } from './cursor-step.js';
import { type FollowedBook, type PatientSubmitter, wholeBlock } from './followed-book.js';
import type { QuoteStates } from './quote-states.js';
import { RpcError } from './rpc-errors.js';

interface Restated {
  readonly quoteId: Hex;
  readonly state: QuoteState;
}

/** What the settlement chain says of the book's orders after a block, and telling the book of it. */
export class OrderStates {
  constructor(
    private readonly states: QuoteStates,
    private readonly cursor: Pick<ChainCursor, 'newestFarAbove'>,
    private readonly book: Pick<FollowedBook, 'get'>,
    private readonly submitter: PatientSubmitter,
    /** Quotes stated anew by one command. */
    private readonly restatedPerCommand: number,
  ) {}

  async read(orders: readonly Order[], at: BlockId): Promise<QuoteState[]> {
    const readings = await this.states.read(
      orders.map(({ quote }) => quote),
      at,
    );
    return readings.map(({ state }) => state);
  }

  /**
   * Null while the range is behind the newest block and the node lacks its end's state: nodes that are no archives keep
   * that of the last 128 blocks or so (geth, nitro). What has become of the orders is then seen where a later one ends.
   */
  async atEnd({ to, isLast }: BlockRange, orders: readonly Order[]): Promise<QuoteState[] | null> {
    try {
      return await this.read(orders, idOf(to));
    } catch (error) {
      if (isLast || !(error instanceof RpcError)) throw error;
      return null;
    }
  }

  /**
   * Those of the newest block where an outage has left the ancestor so far behind it that the node lacks its state. Then
   * they hold what happened up to there, and nothing of that counts again when it is read.
   */
  async toGoBackTo(
    ancestor: BlockId,
    orders: readonly Order[],
  ): Promise<{ readonly states: readonly QuoteState[]; readonly at: BlockId }> {
    try {
      return { states: await this.read(orders, ancestor), at: ancestor };
    } catch (error) {
      const newest = this.cursor.newestFarAbove(ancestor);
      if (newest === null || !(error instanceof RpcError)) throw error;
      return { states: await this.read(orders, newest), at: newest };
    }
  }

  /** Tells where the book differs from what the chain says after block `at`. */
  async tell(
    orders: readonly Order[],
    states: readonly QuoteState[],
    at: BlockId,
    originFor: (order: Order) => Origin | null,
  ): Promise<void> {
    const position = wholeBlock('settlement', at);
    const restated: Restated[] = [];
    for (const [i, order] of orders.entries()) {
      const state = states[i];
      const { quoteId } = order.quote;
      const isForgotten = order.state !== 'gone' && this.book.get(quoteId) !== order;
      if (state === undefined || isForgotten) continue;
      if (state.fillableSize !== order.fillableSize) restated.push({ quoteId, state });
      else if (state.reason !== order.reason) {
        const { reason } = state;
        await this.submitter.submit({ type: 'SET_VALIDITY', quoteId, reason, origin: originFor(order), position });
      }
    }
    // No event told of these: what the chain says counts, and what was counted does not.
    if (restated.length > 0) await this.restate(at, restated);
  }

  /**
   * The book goes back to block `at`, and these have the states of `settlementBlock`. To go back to the same block again
   * changes nothing, so many quotes are stated by several commands.
   */
  async restate(at: BlockId, all: readonly Restated[], settlementBlock = at.blockNumber): Promise<void> {
    const position = wholeBlock('settlement', at);
    const { restatedPerCommand } = this;
    for (let start = 0; start === 0 || start < all.length; start += restatedPerCommand) {
      const restated = all.slice(start, start + restatedPerCommand);
      await this.submitter.submit({ type: 'REWIND_SETTLEMENT', position, settlementBlock, restated });
    }
  }
}
