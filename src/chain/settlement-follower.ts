import type { ChainPosition, Command } from '../engine/command.js';
import type { Order } from '../engine/order.js';
import type { Hex } from '../engine/quote.js';
import type { BlockId, ChainCursor, CursorStep } from './chain-cursor.js';
import type { BlockHead, ChainLog, ChainReader } from './chain-reader.js';
import { isBefore, positionAt, wholeBlock, type FollowedBook, type PatientSubmitter } from './followed-book.js';
import type { QuoteReading, QuoteStates } from './quote-states.js';
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
    /** From before a restart: logs up to here were told already. */
    private readonly resumeAfter: ChainPosition | null,
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

  /** Asks for everything first and tells the book afterwards, so that a failed request leaves nothing half told. */
  async #read({ fromBlock, to }: CursorStep & { type: 'BLOCKS' }): Promise<void> {
    const [events, means] = await this.#logs(fromBlock, to);
    const changes = events.filter((event) => this.#counts(event));
    const touched = this.#touched(changes, means);
    const orders = [...touched.keys()];
    const [readings, deployedAt] = await Promise.all([
      this.states.read(
        orders.map(({ quote }) => quote),
        to.number,
      ),
      this.#deploymentTimes(changes),
    ]);
    for (const change of changes) await this.submitter.submit(toCommand(change, deployedAt));
    await this.#tellValidity(touched, readings, to);
    await this.#tell(to, changes.length > 0 || touched.size > 0);
    this.cursor.advance(to);
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
  #counts(event: SettlementEvent): boolean {
    const { log } = event;
    if (isBefore(log, this.resumeAfter)) return false;
    if (event.type === 'POOL') return log.address === this.poolFactory.toLowerCase();
    const quote = this.book.get(event.quoteId)?.quote;
    if (quote?.pool.poolAddress !== log.address) return false;
    return event.type === 'FILL' || event.provider === quote.provider;
  }

  /** Orders whose provider's means may have changed, each with the last log that says so. */
  #touched(changes: readonly SettlementEvent[], means: readonly MeansEvent[]): Map<Order, ChainLog> {
    const touched = new Map<Order, ChainLog>();
    for (const { log, accounts } of means) {
      for (const order of accounts.flatMap((account) => [...this.book.ordersOf(account)])) {
        const { quote } = order;
        if (quote.pool.poolAddress === log.address || collateralToken(quote) === log.address) touched.set(order, log);
      }
    }
    for (const change of changes) {
      if (change.type === 'POOL')
        for (const order of this.book.ordersIn(change.pool.poolAddress)) touched.set(order, change.log);
      const order = change.type === 'FILL' ? this.book.get(change.quoteId) : undefined;
      if (order !== undefined) touched.set(order, change.log);
    }
    return touched;
  }

  /** Timestamps of the blocks that deployed pools. */
  async #deploymentTimes(changes: readonly SettlementEvent[]): Promise<ReadonlyMap<number, number>> {
    const blocks = new Set(changes.flatMap(({ type, log }) => (type === 'POOL' ? [log.blockNumber] : [])));
    const times = new Map<number, number>();
    for (const number of blocks) times.set(number, (await this.reader.block(number)).timestamp);
    return times;
  }

  async #tellValidity(
    touched: ReadonlyMap<Order, ChainLog>,
    readings: readonly QuoteReading[],
    to: BlockHead,
  ): Promise<void> {
    const position = wholeBlock('settlement', { blockNumber: to.number, blockHash: to.hash });
    for (const [i, [order, log]] of [...touched].entries()) {
      const reason = readings[i]?.state.reason ?? null;
      const { quoteId } = order.quote;
      if (reason === order.reason || this.book.get(quoteId) !== order) continue;
      await this.submitter.submit({ type: 'SET_VALIDITY', quoteId, reason, origin: originOf(log), position });
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

function toCommand(event: SettlementEvent, deployedAt: ReadonlyMap<number, number>): Command {
  const { log } = event;
  const origin = originOf(log);
  const position = positionAt('settlement', log);
  switch (event.type) {
    case 'FILL':
      return { type: 'FILL_QUOTE', quoteId: event.quoteId, size: event.size, origin, position };
    case 'CANCEL':
      return { type: 'CANCEL_QUOTE', quoteId: event.quoteId, origin, position };
    case 'POOL': {
      const time = deployedAt.get(log.blockNumber);
      if (time === undefined) throw new Error('The time of a deployment was not asked for');
      return { type: 'DEPLOY_POOL', pool: event.pool, deployedAt: time, origin, position };
    }
  }
}
