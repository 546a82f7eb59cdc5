import type {
  AuthorizeKey,
  CancelQuote,
  ChainPosition,
  Command,
  DeployPool,
  EarlyEvent,
  EnterQuote,
  ExpireQuotes,
  FillQuote,
  PublishRfq,
  QuoteState,
  RestoreQuotes,
  RewindSettlement,
  RewindStream,
  SetFillLimit,
  SetValidity,
  SignedNonce,
  WithdrawalReason,
  WithdrawQuotes,
} from './command.js';
import type { Cause, EngineEvent, QuoteRemoved } from './event.js';
import { type BookOrder, compareAge, dueSecond, type ListedOrder, NO_BLOCK } from './order-book.js';
import type { Hex, Order, Origin, Quote } from './quote.js';
import type { RfqChange } from './rfq-store.js';
import type { EngineParts } from './state-rows.js';
import { SpentNonce } from './withdrawals.js';

/** Applies each command to the parts of an engine, and returns the events of it. */
export class StateMachine {
  /** Number of the last event. */
  seq = 0;
  readonly #parts: EngineParts;
  #nowSeconds = 0;
  #events: EngineEvent[] = [];

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** `nowSeconds`: Unix seconds of engine time. All that is due expires first. */
  run(command: Command, nowSeconds: number): EngineEvent[] {
    this.#nowSeconds = nowSeconds;
    this.#events = [];
    this.#expire();
    this.#do(command);
    for (const change of this.#parts.rfqs.follow(this.#events, nowSeconds)) this.#rfqChanged(change);
    // Last, so that a command is judged by what was final before it.
    if ('position' in command) this.#advance(command.position);
    return this.#events;
  }

  #expire(): void {
    const { store, pools } = this.#parts;
    for (const order of store.takeDue(this.#nowSeconds)) this.#letGo(order, 'EXPIRED');
    pools.expire(this.#nowSeconds);
    store.withdrawals.expire(this.#nowSeconds);
    this.#parts.protections.expire(this.#nowSeconds);
  }

  #do(command: Command): void {
    switch (command.type) {
      case 'ENTER_QUOTE':
        return this.#enter(command);
      case 'FILL_QUOTE':
        return this.#fill(command);
      case 'CANCEL_QUOTE':
        return this.#cancel(command);
      case 'SET_VALIDITY':
        return this.#setValidity(command);
      case 'DEPLOY_POOL':
        return this.#deploy(command);
      case 'REWIND_STREAM':
        return this.#rewindStream(command);
      case 'REWIND_SETTLEMENT':
        return this.#rewindSettlement(command);
      case 'PUBLISH_RFQ':
        return this.#publishRfq(command);
      case 'CANCEL_RFQ': {
        const change = this.#parts.rfqs.cancel(command.rfqId, this.#nowSeconds);
        if (change !== undefined) this.#rfqChanged(change);
        return;
      }
      case 'EXPIRE_QUOTES':
        return this.#expireSome(command);
      case 'WITHDRAW_QUOTES':
        return this.#withdraw(command);
      case 'RESTORE_QUOTES':
        return this.#restore(command);
      case 'AUTHORIZE_KEY':
        return this.#authorize(command);
      case 'SET_TIMER': {
        const { provider, owner, kind, seconds } = command;
        return this.#parts.protections.setTimer(provider, owner, kind, seconds);
      }
      case 'SET_FILL_LIMIT':
        return this.#setFillLimit(command);
      case 'ADVANCE_POSITION':
      case 'TICK':
        return;
    }
  }

  #expireSome({ second, quoteIds }: ExpireQuotes): void {
    for (const quoteId of quoteIds) {
      const order = this.#parts.store.get(quoteId);
      if (order !== undefined && order.due <= second) this.#letGo(order, 'EXPIRED');
    }
  }

  #publishRfq({ rfq, terms }: PublishRfq): void {
    if (terms !== undefined && !this.#parts.rfqs.open(rfq, terms, this.#nowSeconds)) return;
    const published = { type: 'RFQ_PUBLISHED', seq: this.#next(), cause: null, rfq } as const;
    this.#events.push(terms === undefined ? published : { ...published, terms });
  }

  #rfqChanged({ state: { rfq, terms, progress }, cause }: RfqChange): void {
    const { poolAddress, side, size, taker } = rfq;
    this.#events.push({
      type: 'RFQ_CHANGED',
      seq: this.#next(),
      cause,
      rfqId: terms.rfqId,
      rfq: { poolAddress, side, size, taker },
      makers: terms.makers,
      taker: progress.status === 'filled' ? terms.taker : null,
      ...progress,
    });
  }

  #enter({ quote, state, settlementBlock, early = [] }: EnterQuote): void {
    const { store } = this.#parts;
    if (store.get(quote.quoteId) !== undefined || dueSecond(quote) <= this.#nowSeconds) return;
    const order = store.add(quote);
    // With nothing left to fill it is gone from the start, and known while a reorg could undo what filled or cancelled
    // it.
    store.set(order, state.fillableSize, state.reason, settlementBlock, true);
    if (order.isWithdrawn) return;
    if (early.length > 0) this.#postWithPast(order, early);
    else if (state.fillableSize > 0n) this.#posted(order, state.fillableSize, order.reason);
  }

  /**
   * Publishes the quote as it was before the early events, and then these one by one, so that a listener sees every
   * trade. The events end at the order's own state, which includes every early event already: the size that they show
   * never falls below it.
   */
  #postWithPast(order: BookOrder, early: readonly EarlyEvent[]): void {
    const { fillableSize: finalSize, quote } = order;
    const isCancelled = finalSize === 0n && early.some(({ size }) => size === null);
    // The pool forgets what was filled of a quote when it is cancelled.
    const sizeBefore = isCancelled ? quote.size : early.reduce((sum, { size }) => sum + (size ?? 0n), finalSize);
    let shownSize = sizeBefore < quote.size ? sizeBefore : quote.size;
    if (shownSize === 0n) return;
    this.#posted(order, shownSize, null);
    for (const { size, origin } of early) {
      const cause = causeOf(origin);
      if (size === null) {
        if (isCancelled) return this.#removed(order, 'CANCELLED', true, cause);
        continue;
      }
      const taken = size < shownSize - finalSize ? size : shownSize - finalSize;
      if (taken <= 0n) continue;
      shownSize -= taken;
      const fill = { cause, order, fillableSize: shownSize, size: taken, valid: true };
      this.#events.push({ type: 'QUOTE_FILLED', seq: this.#next(), ...fill });
      if (shownSize === 0n) return this.#removed(order, 'FILLED', true, cause);
    }
    this.#validityChanged(order, 'live', null);
  }

  #posted(order: BookOrder, fillableSize: bigint, reason: Order['reason']): void {
    const cause = new Publication(order.quote);
    this.#events.push({ type: 'QUOTE_POSTED', seq: this.#next(), cause, order, fillableSize, reason });
  }

  #fill(command: FillQuote): void {
    this.#fillOne(command);
    const { size, trade, origin } = command;
    if (trade === undefined) return;
    const { provider, time } = trade;
    const { poolAddress } = trade.pool;
    const { blockNumber } = origin;
    if (this.#parts.protections.filled({ provider, poolAddress, size, blockNumber, time })) {
      this.#withdrawAllIn(provider, poolAddress, causeOf(origin));
    }
  }

  /** The provider's fill limit of the pool was reached. Gone quotes are hidden, too: a reorg may bring them back. */
  #withdrawAllIn(provider: Hex, poolAddress: Hex, cause: Cause): void {
    const { store } = this.#parts;
    const own = [...(store.book.provider(provider) ?? []), ...store.goneAfter(NO_BLOCK)].filter(
      ({ quote, isWithdrawn }) => {
        return !isWithdrawn && quote.provider === provider && quote.pool.poolAddress === poolAddress;
      },
    );
    for (const order of own.sort(compareAge)) this.#hide(order, 'FILL_LIMIT', cause);
  }

  #fillOne({ quoteId, size, trade, origin, position }: FillQuote): void {
    if (trade !== undefined) {
      const recorded = { ...trade, quoteId, size, blockHash: position.blockHash };
      this.#events.push({
        type: 'TRADE_RECORDED',
        seq: this.#next(),
        cause: causeOf(origin),
        trade: recorded,
      });
    }
    const order = this.#parts.store.get(quoteId);
    if (order === undefined || order.state === 'gone' || origin.blockNumber <= order.readBlock) return;
    const taken = size < order.fillableSize ? size : order.fillableSize;
    if (taken <= 0n) return;
    const valid = order.state === 'live';
    const cause = causeOf(origin);
    const fillableSize = order.fillableSize - taken;
    this.#parts.store.set(order, fillableSize, order.reason, origin.blockNumber, false);
    const filled = { cause, order, fillableSize, size: taken };
    if (order.isWithdrawn) this.#events.push({ type: 'WITHDRAWN_QUOTE_FILLED', seq: this.#next(), ...filled });
    else this.#events.push({ type: 'QUOTE_FILLED', seq: this.#next(), ...filled, valid });
    if (fillableSize === 0n) this.#removed(order, 'FILLED', valid, cause);
  }

  #cancel({ quoteId, origin }: CancelQuote): void {
    const order = this.#parts.store.get(quoteId);
    if (order === undefined || order.state === 'gone') return;
    const valid = order.state === 'live';
    this.#parts.store.set(order, 0n, null, origin.blockNumber, false);
    this.#removed(order, 'CANCELLED', valid, causeOf(origin));
  }

  #setValidity({ quoteId, reason, origin, position }: SetValidity): void {
    const order = this.#parts.store.get(quoteId);
    if (order === undefined || order.state === 'gone') return;
    // A sweep may have asked before something else happened; what was asked last is right.
    if (position.blockNumber < order.touchedBlock) return;
    const before = order.state;
    this.#parts.store.set(order, order.fillableSize, reason, position.blockNumber, false);
    this.#validityChanged(order, before, origin && causeOf(origin));
  }

  #deploy({ pool, deployedAt, origin }: DeployPool): void {
    if (pool.poolKey.maturity <= this.#nowSeconds || !this.#parts.pools.add({ pool, deployedAt, origin })) return;
    const cause = causeOf(origin);
    this.#events.push({ type: 'POOL_DEPLOYED', seq: this.#next(), cause, pool });
  }

  #rewindStream({ position }: RewindStream): void {
    const { store, stream } = this.#parts;
    stream.rewind(position);
    // Its publication may come again on the new branch, so unlike a filled or cancelled quote it leaves nothing behind.
    for (const order of store.publishedAfter(position.blockNumber)) this.#letGo(order, 'REWOUND');
  }

  #rewindSettlement({ position, settlementBlock, restated, undoesTrades }: RewindSettlement): void {
    const { settlement, pools, store } = this.#parts;
    settlement.rewind(position);
    this.#parts.protections.rewind(position.blockNumber);
    if (undoesTrades === true) {
      const { blockNumber } = position;
      this.#events.push({ type: 'TRADES_UNDONE', seq: this.#next(), cause: null, blockNumber });
    }
    for (const pool of pools.rewind(position.blockNumber)) {
      this.#events.push({ type: 'POOL_WITHDRAWN', seq: this.#next(), cause: null, pool });
    }
    for (const { quoteId, state } of restated) {
      const order = store.get(quoteId);
      if (order !== undefined) this.#restate(order, state, settlementBlock);
    }
  }

  #restate(order: BookOrder, { fillableSize, reason }: QuoteState, settlementBlock: number): void {
    const before = order.state;
    const wasValid = before === 'live';
    const isChanged = before === 'gone' || fillableSize !== order.fillableSize;
    this.#parts.store.set(order, fillableSize, reason, settlementBlock, true);
    if (order.state === 'gone') {
      if (before !== 'gone') this.#removed(order, 'REWOUND', wasValid, null);
    } else if (isChanged) {
      const restated = { cause: null, order, fillableSize };
      if (order.isWithdrawn) this.#events.push({ type: 'WITHDRAWN_QUOTE_RESTATED', seq: this.#next(), ...restated });
      else this.#events.push({ type: 'QUOTE_RESTATED', seq: this.#next(), ...restated, wasValid, reason });
    } else this.#validityChanged(order, before, null);
  }

  #withdraw({ provider, quoteIds, reason, signed }: WithdrawQuotes): void {
    if (signed !== null && !this.#spend(provider, signed)) return;
    const { store } = this.#parts;
    for (const quoteId of quoteIds) {
      const order = store.get(quoteId);
      if (order?.quote.provider !== provider || order.isWithdrawn) continue;
      this.#hide(order, reason, null);
    }
  }

  #hide(order: ListedOrder, reason: WithdrawalReason, cause: Cause | null): void {
    const { state: before, fillableSize } = order;
    this.#parts.store.withdraw(order);
    // A gone one that a reorg brings back comes back withdrawn.
    if (before === 'gone') return;
    const withdrawn = { cause, order, fillableSize, reason, valid: before === 'live' };
    this.#events.push({ type: 'QUOTE_WITHDRAWN', seq: this.#next(), ...withdrawn });
  }

  #authorize({ provider, owner, until, signed }: AuthorizeKey): void {
    if (signed !== null && !this.#spend(provider, signed)) return;
    this.#parts.protections.authorize(provider, owner, until, this.#nowSeconds);
  }

  #setFillLimit({ provider, poolAddress, until, bounds, signed }: SetFillLimit): void {
    if (signed !== null && !this.#spend(provider, signed)) return;
    if (until > this.#nowSeconds) this.#parts.protections.setLimit(provider, poolAddress, until, bounds);
  }

  #restore({ provider, quoteIds, signed }: RestoreQuotes): void {
    if (signed !== null && !this.#spend(provider, signed)) return;
    const { store } = this.#parts;
    for (const quoteId of quoteIds) {
      if (store.withdrawals.get(quoteId)?.provider !== provider) continue;
      const order = store.get(quoteId);
      if (order === undefined) store.withdrawals.remove(quoteId);
      else {
        store.show(order);
        const { state, fillableSize, reason } = order;
        if (state === 'gone') continue;
        this.#events.push({ type: 'QUOTE_RESTORED', seq: this.#next(), cause: null, order, fillableSize, reason });
      }
    }
  }

  /** False when what was signed with the nonce does not count, or no more. */
  #spend(provider: Hex, signed: SignedNonce): boolean {
    const { withdrawals } = this.#parts.store;
    if (signed.deadline < this.#nowSeconds || withdrawals.isSpent(provider, signed.nonce)) return false;
    withdrawals.spend(new SpentNonce(provider, signed));
    return true;
  }

  #advance(position: ChainPosition): void {
    const { store, stream, settlement } = this.#parts;
    if (position.chain === 'stream') {
      stream.advance(position);
      store.finalizeStream(stream.floor);
    } else {
      settlement.advance(position);
      store.finalizeSettlement(settlement.floor);
    }
  }

  /**
   * Publishes QUOTE_INVALIDATED or QUOTE_REVALIDATED if the order crossed between live and invalid. A changed reason alone
   * gives no event.
   */
  #validityChanged(order: BookOrder, before: Order['state'], cause: Cause | null): void {
    if (order.state === before || order.isWithdrawn) return;
    const { fillableSize, reason } = order;
    if (reason === null) {
      this.#events.push({ type: 'QUOTE_REVALIDATED', seq: this.#next(), cause, order, fillableSize });
    } else this.#events.push({ type: 'QUOTE_INVALIDATED', seq: this.#next(), cause, order, fillableSize, reason });
  }

  /**
   * Forgets an order that no fill or cancel removed. QUOTE_REMOVED carries the size that was left; a gone order gives no
   * event.
   */
  #letGo(order: BookOrder, why: QuoteRemoved['why']): void {
    const { state } = order;
    this.#parts.store.forget(order);
    if (state !== 'gone') this.#removed(order, why, state === 'live', null);
  }

  #removed(order: BookOrder, why: QuoteRemoved['why'], valid: boolean, cause: Cause | null): void {
    const { fillableSize } = order;
    this.#events.push({ type: 'QUOTE_REMOVED', seq: this.#next(), cause, order, fillableSize, why, valid });
  }

  #next(): number {
    this.seq += 1;
    return this.seq;
  }
}

function causeOf({ blockNumber, txHash, logIndex }: Origin): Cause {
  return { chain: 'settlement', blockNumber, txHash, logIndex };
}

/**
 * The publication of a quote. Its event is kept for a while, and the hash of its transaction is text only for those who
 * read it.
 */
class Publication implements Cause {
  readonly chain = 'stream';
  readonly #quote: Quote;

  constructor(quote: Quote) {
    this.#quote = quote;
  }

  get blockNumber(): number {
    return this.#quote.origin.blockNumber;
  }

  get txHash(): Hex {
    return this.#quote.origin.txHash;
  }

  get logIndex(): number {
    return this.#quote.origin.logIndex;
  }
}
