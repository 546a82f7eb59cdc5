import type { ChainPosition, QuoteState } from '../engine/command.js';
import type { Order } from '../engine/order.js';
import type { Hex, Origin } from '../engine/quote.js';
import type { BlockRange, ChainCursor } from './chain-cursor.js';
import type { BlockId, ChainLog, ChainReader } from './chain-reader.js';
import { blocksOf, isBefore, wholeBlock, type FollowedBook, type PatientSubmitter } from './followed-book.js';
import type { ForeseenStates } from './foreseen-states.js';
import { RpcError } from './http-rpc.js';
import { mapInFlight } from './in-flight.js';
import { readRange } from './log-range.js';
import type { QuoteStates } from './quote-states.js';
import { settlementCommand } from './settlement-commands.js';
import { touchedOrders, whyIgnored } from './settlement-effects.js';
import {
  originOf,
  readMeansEvents,
  readSettlementEvents,
  type Ignored,
  type IgnoredEvent,
  type MeansEvent,
  type SettlementEvent,
} from './settlement-events.js';

export interface SettlementFollowerOptions {
  readonly poolFactory: Hex;
  /** From before a restart: logs up to here were told already. */
  readonly resumeAfter: ChainPosition | null;
  /** Blocks without any command after which the position alone is told, so that a restart need not read them again. */
  readonly tellEveryBlocks: number;
  /** Quotes stated anew by one command. */
  readonly restatedPerCommand: number;
  /** Requests for the timestamps of blocks that are under way at once. */
  readonly blocksInFlight: number;
}

interface FoundEvents {
  readonly events: readonly SettlementEvent[];
  readonly ignored: readonly Ignored[];
}

/** Follows fills, cancels, deployments and the providers' means on the settlement chain. */
export class SettlementFollower {
  /** Block up to which positions were told to the book; the cursor may be ahead over blocks with nothing in them. */
  #told = -1;
  #resumeAfter: ChainPosition | null;
  readonly #poolFactory: Hex;
  /** A rewind that an earlier process began is finished, if there was one. */
  #isWhole = false;
  /**
   * Orders that are asked about where the next range ends, too. Those whose state could not be had where the last one
   * ended; and those that a reorg stated anew, gone ones too: in the middle of it a node may have told of the old
   * branch's state as the ancestor's, as anvil does for a moment.
   */
  #inDoubt: readonly Order[] = [];

  constructor(
    private readonly reader: ChainReader,
    private readonly cursor: ChainCursor,
    private readonly book: FollowedBook,
    private readonly submitter: PatientSubmitter,
    private readonly states: QuoteStates,
    private readonly foreseen: Pick<ForeseenStates, 'foresee'>,
    private readonly onIgnored: (why: IgnoredEvent, log: ChainLog) => void,
    private readonly options: SettlementFollowerOptions,
  ) {
    this.#resumeAfter = options.resumeAfter;
    this.#poolFactory = options.poolFactory.toLowerCase() as Hex;
  }

  /** The block whose state the book shows; null before the first. */
  get position(): BlockId | null {
    return this.cursor.position;
  }

  /** One range of blocks, or one reorg. True when there is nothing left to be read for now. */
  async step(): Promise<boolean> {
    const step = await this.cursor.poll();
    if (step.type === 'IDLE' || step.type === 'BLOCKS') await this.#finishRewind();
    switch (step.type) {
      case 'IDLE':
        if (this.position !== null) this.foreseen.foresee(this.position);
        return true;
      case 'BEGIN':
        await this.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('settlement', step.at) });
        this.cursor.moveTo(step.at);
        return false;
      case 'BLOCKS':
        return (await this.#read(step)) && step.isLast;
      case 'REORG':
        await this.#rewind(step.ancestor);
        return false;
    }
  }

  /**
   * The book knows of the block whose state it shows. Before anything enters with that state: else a process that
   * starts anew would take it for what a rewind left undone, and tell of quotes that are long filled as they were before.
   */
  async tellBlock(): Promise<void> {
    const { position } = this;
    if (position !== null && position.blockNumber > this.#told) await this.#tellPosition(position, true);
  }

  /** Checks these orders at the cursor's block, and tells the book of every difference. */
  async check(orders: readonly Order[]): Promise<void> {
    const { position } = this;
    if (position === null || orders.length === 0) return;
    const states = await this.#readStates(orders, position);
    await this.#tellStates(orders, states, position, () => null);
  }

  /**
   * Asks for everything first and tells the book afterwards, so that a failed request leaves nothing half told. False:
   * the node refused the range.
   */
  async #read(range: BlockRange): Promise<boolean> {
    const to = { blockNumber: range.to.number, blockHash: range.to.hash };
    if (range.isLast) this.foreseen.foresee(to);
    const logs = await readRange(this.cursor, range, () => this.#logs(range));
    if (logs === null) return false;
    const [found, means] = logs;
    const { changes, ignored } = this.#sort(found);
    const touched = touchedOrders(changes, means, this.book);
    const orders = [...new Set([...touched.keys(), ...this.#inDoubt])];
    const [states, deployedAt] = await Promise.all([this.#statesAtEnd(range, orders), this.#deploymentTimes(changes)]);
    await this.cursor.confirm(range);

    for (const { why, log } of ignored) this.onIgnored(why, log);
    for (const change of changes) await this.submitter.submit(settlementCommand(change, deployedAt));
    if (states !== null) {
      await this.#tellStates(orders, states, to, (order) => {
        const log = touched.get(order);
        return log === undefined ? null : originOf(log);
      });
    }
    await this.#tellPosition(to, changes.length > 0 || orders.length > 0);
    this.#inDoubt = states === null ? orders : [];
    this.cursor.advance(range, blocksOf(changes.map(({ log }) => log)));
    this.#resumeAfter = null;
    return true;
  }

  #logs({ fromBlock, to: { number, hash } }: BlockRange): Promise<[FoundEvents, MeansEvent[]]> {
    const to = { blockNumber: number, blockHash: hash };
    const isKnown = (address: Hex): boolean => address === this.#poolFactory || !isEmpty(this.book.ordersIn(address));
    return Promise.all([
      readSettlementEvents(this.reader, fromBlock, to, isKnown),
      readMeansEvents(this.reader, fromBlock, to, [...this.book.providers()]),
    ]);
  }

  #sort({ events, ignored }: FoundEvents): { changes: SettlementEvent[]; ignored: Ignored[] } {
    const changes: SettlementEvent[] = [];
    const alsoIgnored: Ignored[] = [];
    for (const event of events) {
      if (isBefore(event.log, this.#resumeAfter)) continue;
      const why = whyIgnored(event, this.book, this.#poolFactory);
      if (why === null) changes.push(event);
      else alsoIgnored.push({ why, log: event.log });
    }
    return { changes, ignored: [...ignored, ...alsoIgnored] };
  }

  /** Timestamps of the blocks that deployed pools. */
  async #deploymentTimes(changes: readonly SettlementEvent[]): Promise<ReadonlyMap<number, number>> {
    const blocks = new Set(changes.flatMap(({ type, log }) => (type === 'POOL' ? [log.blockNumber] : [])));
    const times = await mapInFlight([...blocks], this.options.blocksInFlight, async (number) =>
      this.reader.block(number),
    );
    return new Map(times.map(({ number, timestamp }) => [number, timestamp]));
  }

  /**
   * Null while the range is behind the newest block and the node lacks its end's state: nodes that are no archives keep
   * that of the last 128 blocks or so (geth, nitro). What has become of the orders is then seen where a later one ends.
   */
  async #statesAtEnd({ to, isLast }: BlockRange, orders: readonly Order[]): Promise<QuoteState[] | null> {
    try {
      return await this.#readStates(orders, { blockNumber: to.number, blockHash: to.hash });
    } catch (error) {
      if (isLast || !(error instanceof RpcError)) throw error;
      return null;
    }
  }

  /**
   * Those of the newest block where an outage has left the ancestor so far behind it that the node lacks its state. Then
   * they hold what happened up to there, and nothing of that counts again when it is read.
   */
  async #statesToGoBackTo(
    ancestor: BlockId,
    orders: readonly Order[],
  ): Promise<{ readonly states: readonly QuoteState[]; readonly at: BlockId }> {
    try {
      return { states: await this.#readStates(orders, ancestor), at: ancestor };
    } catch (error) {
      const newest = this.cursor.newestFarAbove(ancestor);
      if (newest === null || !(error instanceof RpcError)) throw error;
      return { states: await this.#readStates(orders, newest), at: newest };
    }
  }

  async #readStates(orders: readonly Order[], at: BlockId): Promise<QuoteState[]> {
    const readings = await this.states.read(
      orders.map(({ quote }) => quote),
      at,
    );
    return readings.map(({ state }) => state);
  }

  /** Tells where the book differs from what the chain says after block `at`. */
  async #tellStates(
    orders: readonly Order[],
    states: readonly QuoteState[],
    at: BlockId,
    originFor: (order: Order) => Origin | null,
  ): Promise<void> {
    const position = wholeBlock('settlement', at);
    const restated: { quoteId: Hex; state: QuoteState }[] = [];
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
    if (restated.length > 0) await this.#restate(at, restated);
  }

  async #tellPosition(to: BlockId, somethingHappened: boolean): Promise<void> {
    if (!somethingHappened && to.blockNumber - this.#told < this.options.tellEveryBlocks) return;
    this.#told = to.blockNumber;
    await this.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('settlement', to) });
  }

  /** The book goes back to what the common ancestor says, and the new branch is then read like any blocks. */
  async #rewind(ancestor: BlockId): Promise<void> {
    const orders = this.book.touchedSince(ancestor.blockNumber);
    const { states, at } = await this.#statesToGoBackTo(ancestor, orders);
    const restated = orders.flatMap(({ quote: { quoteId } }, i) => {
      const state = states[i];
      return state === undefined ? [] : [{ quoteId, state }];
    });
    await this.#restate(ancestor, restated, at.blockNumber);
    this.#inDoubt = [...new Set([...this.#inDoubt, ...orders])];
    this.cursor.moveTo(ancestor);
    this.#resumeAfter = null;
    this.#told = ancestor.blockNumber;
  }

  /**
   * A rewind by several commands moves the book's position with the first: a process that ended before the last leaves
   * orders that blocks above that position touched, which nothing else does.
   */
  async #finishRewind(): Promise<void> {
    const { position } = this;
    if (this.#isWhole || position === null) return;
    if (this.book.touchedSince(position.blockNumber).length > 0) await this.#rewind(position);
    this.#isWhole = true;
  }

  /**
   * To go back to the same block again changes nothing, so many quotes are stated by several commands.
   * `settlementBlock`: whose states they are.
   */
  async #restate(
    at: BlockId,
    all: readonly { readonly quoteId: Hex; readonly state: QuoteState }[],
    settlementBlock = at.blockNumber,
  ): Promise<void> {
    const position = wholeBlock('settlement', at);
    const { restatedPerCommand } = this.options;
    for (let start = 0; start === 0 || start < all.length; start += restatedPerCommand) {
      const restated = all.slice(start, start + restatedPerCommand);
      await this.submitter.submit({ type: 'REWIND_SETTLEMENT', position, settlementBlock, restated });
    }
  }
}

function isEmpty(items: Iterable<unknown>): boolean {
  return items[Symbol.iterator]().next().done === true;
}
