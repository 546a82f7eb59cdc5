import type { ChainPosition } from '../engine/command.js';
import type { Order } from '../engine/order.js';
import type { Hex } from '../engine/quote.js';
import type { BlockId, ChainCursor, CursorStep } from './chain-cursor.js';
import type { BlockHead, ChainLog, ChainReader } from './chain-reader.js';
import { wholeBlock, type FollowedBook, type PatientSubmitter } from './followed-book.js';
import type { QuoteStates } from './quote-states.js';
import {
  originOf,
  readMeansEvents,
  readSettlementEvents,
  type MeansEvent,
  type SettlementEvent,
} from './settlement-events.js';
import { collateralToken } from './undeployed-pools.js';

/** Follows fills, cancels, deployments and the providers' means on the settlement chain. */
export class SettlementFollower {
  /** Block up to which positions were told to the book; the cursor may be ahead over blocks with nothing in them. */
  #told = -1;

  constructor(
    private readonly reader: ChainReader,
    private readonly cursor: ChainCursor,
    private readonly book: FollowedBook,
    private readonly submitter: PatientSubmitter,
    private readonly states: QuoteStates,
    private readonly poolFactory: Hex,
    /** Blocks without any command after which the position alone is told, so that a restart need not read them again. */
    private readonly tellEveryBlocks: number,
  ) {}

  /** The block whose state the book shows; null before the first. */
  get position(): BlockId | null {
    return this.cursor.position;
  }

  /** One range of blocks, or one reorg. True when there is nothing left to be read for now. */
  async step(): Promise<boolean> {
    const step = await this.cursor.poll();
    switch (step.type) {
      case 'IDLE':
        return true;
      case 'BLOCKS':
        await this.#read(step);
        return step.isLast;
      case 'REORG':
        await this.#rewind(step.ancestor);
        return false;
    }
  }

  /** Checks these orders at the cursor's block, and tells the book of every difference. */
  async check(orders: readonly Order[]): Promise<void> {
    const position = this.cursor.position;
    if (position === null || orders.length === 0) return;
    const readings = await this.states.read(
      orders.map(({ quote }) => quote),
      position.blockNumber,
    );
    for (const [i, order] of orders.entries()) {
      const reading = readings[i];
      if (reading === undefined || this.book.get(order.quote.quoteId) !== order) continue;
      const { quoteId } = order.quote;
      const at = wholeBlock('settlement', position);
      if (reading.state.fillableSize !== order.fillableSize) {
        const restated = [{ quoteId, state: reading.state }];
        const settlementBlock = position.blockNumber;
        await this.submitter.submit({ type: 'REWIND_SETTLEMENT', position: at, settlementBlock, restated });
      } else if (reading.state.reason !== order.reason) {
        const { reason } = reading.state;
        await this.submitter.submit({ type: 'SET_VALIDITY', quoteId, reason, origin: null, position: at });
      }
    }
  }

  async #read({ fromBlock, to }: CursorStep & { type: 'BLOCKS' }): Promise<void> {
    const [events, means] = await this.#logs(fromBlock, to);
    const touched = new Map<Order, ChainLog>();
    for (const event of events) await this.#apply(event, touched);
    this.cursor.advance(to);
    for (const { log, accounts } of means) this.#touch(log, accounts, touched);
    await this.#revalidate(touched, to);
    await this.#tell(to, events.length > 0 || touched.size > 0);
  }

  /** A node that refuses the range gets half of it asked next time. */
  async #logs(fromBlock: number, { number }: BlockHead): Promise<[SettlementEvent[], MeansEvent[]]> {
    try {
      return await Promise.all([
        readSettlementEvents(this.reader, fromBlock, number),
        readMeansEvents(this.reader, fromBlock, number, [...this.book.providers()]),
      ]);
    } catch (error) {
      this.cursor.narrow();
      throw error;
    }
  }

  /** Hostile events count for nothing: each must come from the quote's own pool, a cancel from its own provider. */
  async #apply(event: SettlementEvent, touched: Map<Order, ChainLog>): Promise<void> {
    const { log } = event;
    const origin = originOf(log);
    const position = positionOf(log);
    if (event.type === 'POOL') {
      if (log.address !== this.poolFactory.toLowerCase()) return;
      const deployedAt = (await this.reader.block(log.blockNumber)).timestamp;
      await this.submitter.submit({ type: 'DEPLOY_POOL', pool: event.pool, deployedAt, origin, position });
      return;
    }
    const { quoteId } = event;
    const order = this.book.get(quoteId);
    if (order?.quote.pool.poolAddress !== log.address) return;
    if (event.type === 'FILL') {
      await this.submitter.submit({ type: 'FILL_QUOTE', quoteId, size: event.size, origin, position });
      touched.set(order, log);
    } else if (event.provider === order.quote.provider) {
      await this.submitter.submit({ type: 'CANCEL_QUOTE', quoteId, origin, position });
    }
  }

  /** A token moves what its collateral backs; a pool's own balances move what is quoted in that pool. */
  #touch(log: ChainLog, accounts: readonly Hex[], touched: Map<Order, ChainLog>): void {
    for (const account of accounts) {
      for (const order of this.book.ordersOf(account)) {
        const { quote } = order;
        if (quote.pool.poolAddress === log.address || collateralToken(quote) === log.address) touched.set(order, log);
      }
    }
  }

  async #revalidate(touched: ReadonlyMap<Order, ChainLog>, to: BlockHead): Promise<void> {
    const orders = [...touched.keys()].filter((order) => this.book.get(order.quote.quoteId) === order);
    if (orders.length === 0) return;
    const readings = await this.states.read(
      orders.map(({ quote }) => quote),
      to.number,
    );
    const at = wholeBlock('settlement', { blockNumber: to.number, blockHash: to.hash });
    for (const [i, order] of orders.entries()) {
      const reason = readings[i]?.state.reason ?? null;
      const log = touched.get(order);
      if (reason === order.reason || log === undefined) continue;
      const { quoteId } = order.quote;
      await this.submitter.submit({ type: 'SET_VALIDITY', quoteId, reason, origin: originOf(log), position: at });
    }
  }

  async #tell(to: BlockHead, somethingHappened: boolean): Promise<void> {
    if (!somethingHappened && to.number - this.#told < this.tellEveryBlocks) return;
    this.#told = to.number;
    const position = wholeBlock('settlement', { blockNumber: to.number, blockHash: to.hash });
    await this.submitter.submit({ type: 'ADVANCE_POSITION', position });
  }

  /** The book goes back to what the common ancestor says, and the new branch is then read like any blocks. */
  async #rewind(ancestor: BlockId): Promise<void> {
    const orders = this.book.touchedSince(ancestor.blockNumber);
    const readings = await this.states.read(
      orders.map(({ quote }) => quote),
      Math.max(ancestor.blockNumber, 0),
    );
    const restated = orders.flatMap(({ quote: { quoteId } }, i) => {
      const reading = readings[i];
      return reading === undefined ? [] : [{ quoteId, state: reading.state }];
    });
    const position = wholeBlock('settlement', ancestor);
    const settlementBlock = ancestor.blockNumber;
    await this.submitter.submit({ type: 'REWIND_SETTLEMENT', position, settlementBlock, restated });
    this.cursor.rewind(ancestor);
    this.#told = ancestor.blockNumber;
  }
}

function positionOf({ blockNumber, blockHash, logIndex }: ChainLog): ChainPosition {
  return { chain: 'settlement', blockNumber, blockHash, logIndex };
}
