import type { ChainPosition } from '../../engine/command.js';
import { type Hex, InvalidReason, type Order, type Origin, type Pool } from '../../engine/quote.js';
import { mapLimit } from '../../system/timers.js';
import { type BlockId, type ChainLog, idOf } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { collateralToken } from '../contracts/quote-types.js';
import { dependsOn, takeRoundRobin, OrderStates, affectedOrders, validateEvent } from './affected-orders.js';
import { blocksOf, type BookPort, isBefore, type CommandSubmitter, wholeBlock } from './book-port.js';
import type { ContractBreaker } from './contract-breaker.js';
import type { BlockRange, ChainCursor } from './cursor.js';
import type { EarlyEvents } from './early-events.js';
import { readRange } from './log-query.js';
import type { LogReading, LogWindow, WatchedLogs } from './log-window.js';
import type { QuoteStates } from './quote-states.js';
import {
  type IgnoredLog,
  type IgnoredEvent,
  isSettlementLog,
  mayHoldFundsLogs,
  mayHoldSettlementEvents,
  fundsEvent,
  fundsLogsAmong,
  originOf,
  readFundsLogs,
  readSettlementLogs,
  settlementCommand,
  tradeOf,
  type SettlementEvent,
  settlementEvents,
} from './settlement-events.js';
import type { StatePrefetch } from './state-prefetch.js';

export interface SettlementFollowerParts {
  readonly reader: Pick<ChainReader, 'blockOf'>;
  readonly cursor: ChainCursor;
  readonly book: BookPort;
  readonly submitter: CommandSubmitter;
  readonly window: Pick<LogWindow, 'mayWait' | 'read' | 'readOld' | 'accept' | 'goBackTo' | 'isBeforeMemory'>;
  readonly states: QuoteStates;
  readonly prefetch: Pick<StatePrefetch, 'prefetch'>;
  readonly breaker: Pick<ContractBreaker, 'isOpen'>;
  readonly early: Pick<EarlyEvents, 'remember' | 'rewind'>;
  readonly onIgnored: (why: IgnoredEvent, log: ChainLog) => void;
  readonly poolFactory: Hex;
  /** Logs up to here were applied before the restart. */
  readonly resumeAfter: ChainPosition | null;
  /** After so many blocks without a command the position alone is submitted, so that a restart does not read them again. */
  readonly reportEveryBlocks: number;
  /** Blocks for which the book remembers the states that its orders had. */
  readonly reorgDepth: number;
  /** Quotes stated anew by one command. */
  readonly restatedPerCommand: number;
  /** Touched orders that are asked about at once. */
  readonly touchedSlice: number;
  /** Requests for the timestamps of blocks that are under way at once. */
  readonly blocksInFlight: number;
}

/** Which option a fill traded, and the price of its quote; null: the book does not know the quote. */
interface TradedQuote {
  readonly pool: Pool;
  readonly price: bigint | null;
}

/** Events of the logs that were read: those that take effect, and those that do not. */
interface SortedEvents {
  readonly changes: readonly SettlementEvent[];
  /** Each fill among them as a trade, but for its time. */
  readonly trades: ReadonlyMap<SettlementEvent, TradedQuote>;
  /** Fills that came so late that the book does not remember whether it counts them: their orders are asked about. */
  readonly old: readonly SettlementEvent[];
  /** They may be of quotes whose publication is read later. */
  readonly unknown: readonly SettlementEvent[];
  readonly ignored: readonly IgnoredLog[];
}

/** Follows fills, cancels, deployments and the providers' funds on the settlement chain. */
export class SettlementFollower {
  /** Block of the last position that was submitted to the book; the cursor may be ahead over blocks with nothing in them. */
  #reportedBlock = -1;
  #resumeAfter: ChainPosition | null;
  readonly #states: OrderStates;
  readonly #poolFactory: Hex;
  /** A rewind that an earlier process began is finished, if there was one. */
  #isWhole = false;
  /** An empty log reads what is long past: trades of then are not published as new ones. */
  #isFirstReading = false;
  /**
   * Orders whose state is read at the end of the next range, whether or not that touches them:
   * - those whose state could not be read at the end of the last range;
   * - those whose state a reorg reset, gone ones too: during a reorg a node, such as anvil, may answer with the old
   *   branch's state for the ancestor's block;
   * - all orders, if it is not known which differ there.
   */
  #inDoubt: readonly Order[] = [];
  /**
   * Touched, and not asked about yet, each with the last log that says so, if one does. One small transfer touches all
   * that a maker has, however many: nothing else would be read while all of them are asked about.
   */
  readonly #waiting = new Map<Order, ChainLog | null>();
  /**
   * The last block at whose end orders were checked because of an earlier block. The book has not shown every order as it
   * was at the end of the blocks before it: a change that the next block took back touched nothing.
   */
  #askedLateAt = -1;

  constructor(private readonly parts: SettlementFollowerParts) {
    const { states, cursor, book, submitter, restatedPerCommand } = parts;
    this.#states = new OrderStates(states, cursor, book, submitter, restatedPerCommand);
    this.#resumeAfter = parts.resumeAfter;
    this.#poolFactory = parts.poolFactory.toLowerCase() as Hex;
  }

  /** The block whose state the book shows; null before the first. */
  get position(): BlockId | null {
    return this.parts.cursor.position;
  }

  /** Passes on `ChainCursor.askAgain`. */
  askAgain(): boolean {
    return this.parts.cursor.askAgain();
  }

  /** Touched orders are still to be asked about. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** One range of blocks, or one reorg. True when there is nothing left to be read for now. */
  async step(): Promise<boolean> {
    const step = await this.parts.cursor.poll();
    if (step.type === 'IDLE' || step.type === 'BLOCKS') await this.#finishRewind();
    switch (step.type) {
      case 'IDLE':
        if (this.position !== null) this.parts.prefetch.prefetch(this.position);
        await this.#enterLate(await this.parts.window.readOld());
        return true;
      case 'BEGIN':
        await this.parts.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('settlement', step.at) });
        this.parts.cursor.moveTo(step.at);
        this.#isFirstReading = true;
        this.parts.window.goBackTo(step.at, true);
        return false;
      case 'BLOCKS':
        return this.#read(step);
      case 'REORG':
        await this.#rewind(step.ancestor);
        return false;
    }
  }

  /**
   * Tells the book of the block whose state it shows, if it does not know of that yet; to be called before anything
   * enters with that state. Else the next process would find orders touched above the book's position, take them for what
   * a rewind left undone, and put quotes that are long filled back to what they were.
   */
  async reportBlock(): Promise<void> {
    const { position } = this;
    if (position !== null && position.blockNumber > this.#reportedBlock) await this.#reportPosition(position, true);
  }

  /** Checks these orders at the cursor's block, and tells the book of every difference. */
  async check(orders: readonly Order[]): Promise<void> {
    const { position } = this;
    const due = orders.filter((order) => !this.#isHeld(order));
    if (position === null || due.length === 0) return;
    const states = await this.#states.read(due, position);
    await this.#states.reportChanges(due, states, position, () => null);
  }

  /** The pool or token is answering again: all orders that depend on it wait for their turn to be asked about. */
  recheck(contract: Hex): void {
    for (const order of this.#knownOrders()) {
      if (!dependsOn(order, contract) || this.#waiting.has(order)) continue;
      this.#waiting.set(order, null);
    }
  }

  /** Asks about more of the touched orders, at the cursor's block. True: none of them is left. */
  async checkWaiting(): Promise<boolean> {
    const { position } = this;
    if (position === null || this.#waiting.size === 0) return true;
    const orders = takeRoundRobin(this.#waiting, this.parts.touchedSlice);
    const states = await this.#states.read(orders, position);
    await this.#states.reportChanges(orders, states, position, (order) => this.#originFor(order));
    for (const order of orders) this.#waiting.delete(order);
    return this.#waiting.size === 0;
  }

  /**
   * Asks for everything first and tells the book afterwards, so that a failed request leaves the book unchanged. True:
   * there is nothing left to be read for now.
   */
  async #read(step: BlockRange): Promise<boolean> {
    const { position } = this;
    if (step.isHeard && position !== null && this.parts.window.mayWait(step)) {
      this.parts.prefetch.prefetch(position);
      return true;
    }
    if (step.isLast) this.parts.prefetch.prefetch(idOf(step.to));
    const reading = await readRange(this.parts.cursor, step, () => this.parts.window.read(step));
    if (reading === 'AWAITED') return true;
    const range = reading?.range ?? null;
    if (reading === null || range === null) return false;
    const to = idOf(range.to);
    const { changes, trades, old, unknown, ignored } = this.#sort(reading);
    const touched = this.#touched([...changes, ...old], reading);
    const due = takeRoundRobin(new Map([...this.#waiting, ...touched]), this.parts.touchedSlice);
    const orders = [...new Set([...due, ...this.#inDoubt, ...this.#goneAtEnd()])];
    const [states, times] = await Promise.all([this.#states.atEnd(range, orders), this.#blockTimes(changes)]);
    if (!reading.isProven) await this.parts.cursor.confirm(range);

    if (changes.some(({ log }) => reading.late.includes(log))) await this.reportBlock();
    for (const { why, log } of ignored) this.parts.onIgnored(why, log);
    if (!this.#isFirstReading) for (const event of unknown) this.parts.early.remember(event);
    await this.#submit(changes, trades, times);
    this.#noteLate(reading, range.fromBlock, to.blockNumber);
    for (const [order, log] of touched) this.#waiting.set(order, log);
    if (states !== null) await this.#states.reportChanges(orders, states, to, (order) => this.#originFor(order));
    for (const order of orders) this.#waiting.delete(order);
    await this.#reportPosition(to, changes.length > 0 || orders.length > 0);
    this.#inDoubt = states === null ? orders : [];
    if (range.isLast) this.#isFirstReading = false;
    this.parts.cursor.advance(range, blocksOf(changes.map(({ log }) => log)));
    this.#resumeAfter = null;
    this.parts.window.accept(reading);
    return range.isLast;
  }

  /** The position does not move. The follower reads the states of the orders concerned at it, as of all that wait. */
  async #enterLate(reading: LogReading): Promise<void> {
    if (reading.late.length > 0 || reading.hints.length > 0) {
      const { changes, trades, old, unknown, ignored } = this.#sort(reading);
      const times = await this.#blockTimes(changes);
      if (changes.length > 0) await this.reportBlock();
      const position = this.position?.blockNumber ?? -1;
      this.#noteLate(reading, position, position);
      for (const { why, log } of ignored) this.parts.onIgnored(why, log);
      for (const event of unknown) this.parts.early.remember(event);
      await this.#submit(changes, trades, times);
      for (const [order, log] of this.#touched([...changes, ...old], reading)) this.#waiting.set(order, log);
    }
    this.parts.window.accept(reading);
  }

  /**
   * Orders that became gone in the last block are asked about once more. A node may answer for a block with the state of
   * the next one while it is mining that (measured with anvil), and no sweep asks about what is gone.
   */
  #goneAtEnd(): readonly Order[] {
    const { position } = this;
    return position === null ? [] : this.parts.book.goneSince(position.blockNumber - 1);
  }

  #touched(changes: readonly SettlementEvent[], { hints }: LogReading): Map<Order, ChainLog> {
    const touched = affectedOrders(changes, hints.map(fundsEvent), this.parts.book);
    for (const order of touched.keys()) if (this.#isHeld(order)) touched.delete(order);
    return touched;
  }

  #sort({ fresh, late }: LogReading): SortedEvents {
    const logs = [...late, ...fresh.filter((log) => !isBefore(log, this.#resumeAfter))];
    const { events, others, ignored } = settlementEvents(logs, this.#poolFactory, [...this.parts.book.quotedPools()]);
    const lowest = (this.position?.blockNumber ?? -Infinity) - this.parts.reorgDepth;
    const changes: SettlementEvent[] = [];
    const old: SettlementEvent[] = [];
    const unknown = others.filter(({ log }) => !this.parts.window.isBeforeMemory(log));
    // Of quotes that the book does not know, or no longer: published elsewhere, say, or expired before they were read.
    const strays = [...unknown];
    const alsoIgnored: IgnoredLog[] = [];
    for (const event of events) {
      const { log, type } = event;
      // An earlier process may have applied it, and all orders were checked since this one began.
      const isApplied = type !== 'POOL' || this.parts.book.hasPool(event.pool.poolAddress);
      if (isApplied && this.parts.window.isBeforeMemory(log)) continue;
      const why = validateEvent(event, this.parts.book, this.#poolFactory);
      if (why !== null) alsoIgnored.push({ why, log });
      else if (type === 'FILL' && log.blockNumber <= lowest) old.push(event);
      else changes.push(event);
      if (why === 'UNKNOWN_QUOTE' && !this.parts.window.isBeforeMemory(log)) strays.push(event);
      if (type !== 'POOL' && !this.parts.book.isKnown(event.quoteId)) unknown.push(event);
    }
    const deployed = new Map(
      events.flatMap((event) => (event.type === 'POOL' ? [[event.pool.poolAddress, event.pool] as const] : [])),
    );
    const trades = new Map<SettlementEvent, TradedQuote>();
    for (const event of [...changes, ...strays]) {
      if (event.type !== 'FILL' || event.size === 0n) continue;
      const quote = this.parts.book.get(event.quoteId)?.quote;
      const pool = quote?.pool ?? this.parts.book.pool(event.log.address) ?? deployed.get(event.log.address);
      // A contract of anyone's may emit such a log, and name a quote of another pool.
      if (pool?.poolAddress === event.log.address) trades.set(event, { pool, price: quote?.price ?? null });
    }
    const traded = strays.filter((event) => trades.has(event));
    if (traded.length > 0) {
      changes.push(...traded);
      changes.sort(({ log: a }, { log: b }) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    }
    const all = [...ignored, ...alsoIgnored];
    return {
      changes,
      trades,
      old,
      unknown,
      ignored: all.filter(({ log }) => !this.parts.window.isBeforeMemory(log)),
    };
  }

  async #submit(
    changes: readonly SettlementEvent[],
    trades: ReadonlyMap<SettlementEvent, TradedQuote>,
    times: ReadonlyMap<number, number>,
  ): Promise<void> {
    for (const change of changes) {
      const traded = trades.get(change);
      const time = change.log.timestamp ?? times.get(change.log.blockNumber);
      const isTrade = change.type === 'FILL' && traded !== undefined && time !== undefined;
      const trade = isTrade ? tradeOf(change, traded.pool, traded.price, time) : undefined;
      await this.parts.submitter.submit(settlementCommand(change, times, trade));
    }
  }

  /** Timestamps of the blocks that deployed pools, and of those with fills whose logs do not say it. */
  async #blockTimes(changes: readonly SettlementEvent[]): Promise<ReadonlyMap<number, number>> {
    const isUntimed = ({ type, log }: SettlementEvent): boolean =>
      type === 'POOL' || (type === 'FILL' && log.timestamp === null);
    const blocks = blocksOf(changes.filter(isUntimed).map(({ log }) => log));
    const times = await mapLimit(blocks, this.parts.blocksInFlight, (block) => this.parts.reader.blockOf(block));
    return new Map(times.map(({ number, timestamp }) => [number, timestamp]));
  }

  async #reportPosition(to: BlockId, somethingHappened: boolean): Promise<void> {
    if (!somethingHappened && to.blockNumber - this.#reportedBlock < this.parts.reportEveryBlocks) return;
    this.#reportedBlock = to.blockNumber;
    await this.parts.submitter.submit({ type: 'ADVANCE_POSITION', position: wholeBlock('settlement', to) });
  }

  /** The book goes back to what the common ancestor says, and the new branch is then read like any blocks. */
  async #rewind(ancestor: BlockId): Promise<void> {
    const orders = this.parts.book.touchedSince(ancestor.blockNumber);
    const { states, at } = await this.#states.toGoBackTo(ancestor, orders);
    const restated = orders.flatMap(({ quote: { quoteId } }, i) => {
      const state = states[i];
      return state === undefined ? [] : [{ quoteId, state }];
    });
    await this.#states.rewind(ancestor, restated, at.blockNumber);
    // Nothing touched those whose funds left before the ancestor and came back in a block that is gone.
    const wasShownWhole = this.parts.cursor.isEnd(ancestor) && ancestor.blockNumber >= this.#askedLateAt;
    const others = wasShownWhole ? [] : this.#knownOrders();
    this.#inDoubt = [...new Set([...this.#inDoubt, ...this.#waiting.keys(), ...orders, ...others])];
    this.#waiting.clear(); // the logs may be gone
    this.parts.early.rewind(ancestor.blockNumber);
    this.parts.cursor.moveTo(ancestor);
    this.parts.window.goBackTo(ancestor, false);
    this.#resumeAfter = null;
    this.#reportedBlock = ancestor.blockNumber;
  }

  /** Orders are checked at the end of `blockNumber`, and blocks before `fromBlock` may be why. */
  #noteLate({ late, hints }: LogReading, fromBlock: number, blockNumber: number): void {
    const isLate = [...late, ...hints].some((log) => log.blockNumber < fromBlock);
    if (isLate || this.#waiting.size > 0 || this.#inDoubt.length > 0) this.#askedLateAt = blockNumber;
  }

  #originFor(order: Order): Origin | null {
    const log = this.#waiting.get(order);
    return log == null ? null : originOf(log);
  }

  /** Not to be read now: the breaker of its pool or token is open, and the book shows the order as invalid already. */
  #isHeld({ quote, reason }: Order): boolean {
    if (reason !== InvalidReason.InvalidAssetUpdate) return false;
    return this.parts.breaker.isOpen(quote.pool.poolAddress) || this.parts.breaker.isOpen(collateralToken(quote));
  }

  #knownOrders(): Order[] {
    return [...this.parts.book.providers()].flatMap((provider) => [...this.parts.book.ordersOf(provider)]);
  }

  /**
   * A rewind by several commands moves the book's position with the first: a process that ended before the last leaves
   * orders that blocks above that position touched, which nothing else does.
   */
  async #finishRewind(): Promise<void> {
    const { position } = this;
    if (this.#isWhole || position === null) return;
    if (this.parts.book.touchedSince(position.blockNumber).length > 0) await this.#rewind(position);
    this.#isWhole = true;
  }
}

/** Fills, cancels and deployments; hints are the changes of the makers' funds. */
export function watchedSettlement(book: BookPort, factory: Hex): WatchedLogs {
  const poolFactory = factory.toLowerCase() as Hex;
  return {
    mayHold: mayHoldSettlementEvents,
    mayHoldHints: (bloom) => mayHoldFundsLogs(bloom, book.providers(), book.quotedPools()),
    isEvent: isSettlementLog,
    hintsAmong: (logs) => fundsLogsAmong(logs, book.providers()),
    events: (reader, fromBlock, to) => readSettlementLogs(reader, fromBlock, to, poolFactory, [...book.quotedPools()]),
    hints: (reader, fromBlock, to) =>
      readFundsLogs(reader, fromBlock, to, [...book.providers()], [...book.quotedPools()]),
  };
}
