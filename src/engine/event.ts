import type { ChainRole, RequestTerms, Rfq, WithdrawalReason } from './command.js';
import type { Hex, InvalidReason, Order, Origin, Pool, Trade } from './quote.js';

/** The log or block of a chain that caused it; null: time, or a sweep that found a change without its event. */
export interface Cause extends Origin {
  readonly chain: ChainRole;
}

interface Sequenced {
  /** Number of the event, from 1, gapless over the life of a log. */
  readonly seq: number;
  readonly cause: Cause | null;
}

interface OfOrder extends Sequenced {
  /** The engine's own object: read it in the tick that hands the event out, it changes afterwards. */
  readonly order: Order;
  /** `fillableSize` right after this event, 1e-18 contracts. */
  readonly fillableSize: bigint;
}

/** A quote enters the book, or what the book knows as invalid when `reason` is not null. */
export interface QuotePosted extends OfOrder {
  readonly type: 'QUOTE_POSTED';
  readonly reason: InvalidReason | null;
}

/**
 * `size` contracts were taken, at most what was fillable. A full fill is followed by QUOTE_REMOVED with why FILLED.
 * `valid`: it was in the book.
 */
export interface QuoteFilled extends OfOrder {
  readonly type: 'QUOTE_FILLED';
  readonly size: bigint;
  readonly valid: boolean;
}

/**
 * The quote is gone for good, unless a reorg restores it. `valid`: it was in the book (and not among the invalid).
 * REWOUND: a reorg undid its publication, or filled or cancelled it on the new branch of the settlement chain.
 * `fillableSize` is 0 except where it went with something left: EXPIRED, or its publication undone.
 */
export interface QuoteRemoved extends OfOrder {
  readonly type: 'QUOTE_REMOVED';
  readonly why: 'FILLED' | 'CANCELLED' | 'EXPIRED' | 'REWOUND';
  readonly valid: boolean;
}

/** It leaves the book for the invalid ones; it is still known. */
export interface QuoteInvalidated extends OfOrder {
  readonly type: 'QUOTE_INVALIDATED';
  readonly reason: InvalidReason;
}

/** It comes back into the book. */
export interface QuoteRevalidated extends OfOrder {
  readonly type: 'QUOTE_REVALIDATED';
}

/** A reorg changed what is filled, or brought a removed quote back. `wasValid`/`reason`: in the book before/after. */
export interface QuoteRestated extends OfOrder {
  readonly type: 'QUOTE_RESTATED';
  readonly wasValid: boolean;
  readonly reason: InvalidReason | null;
}

/** A pool that has not matured yet. `cause`: the log of its factory. */
export interface PoolDeployed extends Sequenced {
  readonly type: 'POOL_DEPLOYED';
  readonly pool: Pool;
}

/** A reorg undid its deployment; where the new branch deploys it too, POOL_DEPLOYED comes again. */
export interface PoolWithdrawn extends Sequenced {
  readonly type: 'POOL_WITHDRAWN';
  readonly pool: Pool;
}

/** A request for quotes to be passed on; it changes nothing in the book. */
export interface RfqPublished extends Sequenced {
  readonly type: 'RFQ_PUBLISHED';
  readonly rfq: Rfq;
  /** Absent: nothing follows it. */
  readonly terms?: RequestTerms;
}

export type RfqStatus = 'open' | 'quoted' | 'partly_filled' | 'filled' | 'cancelled' | 'expired';

/** Progress of a request so far. */
export interface RfqProgress {
  readonly status: RfqStatus;
  /** 1e-18 contracts that its taker took of quotes that answer it. */
  readonly filledSize: bigint;
  /** Quotes in the book that answer it. */
  readonly quotes: number;
  /** The best of them, or null. */
  readonly best: { readonly quoteId: Hex; readonly price: bigint; readonly fillableSize: bigint } | null;
}

/** Quotes, fills, its taker or time changed what became of a request. */
export interface RfqChanged extends Sequenced, RfqProgress {
  readonly type: 'RFQ_CHANGED';
  readonly rfqId: string;
  /** As makers see it, but for its body. */
  readonly rfq: Omit<Rfq, 'body'>;
  /** As in its terms. */
  readonly makers: readonly Hex[];
  /** Once it is filled, of a request whose taker makers do not see before; else null. */
  readonly taker: Hex | null;
}

/** A fill on the chain, also of a quote that the book does not know. It changes nothing in the book. */
export interface TradeRecorded extends Sequenced {
  readonly type: 'TRADE_RECORDED';
  readonly cause: Cause;
  readonly trade: Trade;
}

/** A reorg undid the trades of all blocks after `blockNumber`; those that were mined again follow as new ones. */
export interface TradesUndone extends Sequenced {
  readonly type: 'TRADES_UNDONE';
  readonly blockNumber: number;
}

/** Its provider hid it. `valid`: it was in the book (and not among the invalid). */
export interface QuoteWithdrawn extends OfOrder {
  readonly type: 'QUOTE_WITHDRAWN';
  readonly reason: WithdrawalReason;
  readonly valid: boolean;
}

/** Its provider shows it again: in the book, or among the invalid when `reason` is not null. */
export interface QuoteRestored extends OfOrder {
  readonly type: 'QUOTE_RESTORED';
  readonly reason: InvalidReason | null;
}

/**
 * `size` contracts of a withdrawn quote were taken on the chain, where it can still be filled. A full fill is followed by
 * QUOTE_REMOVED with why FILLED.
 */
export interface WithdrawnQuoteFilled extends OfOrder {
  readonly type: 'WITHDRAWN_QUOTE_FILLED';
  readonly size: bigint;
}

/** A reorg changed what is filled of a withdrawn quote, or brought one back that was filled or cancelled. */
export interface WithdrawnQuoteRestated extends OfOrder {
  readonly type: 'WITHDRAWN_QUOTE_RESTATED';
}

export type EngineEvent =
  | QuotePosted
  | QuoteFilled
  | QuoteRemoved
  | QuoteInvalidated
  | QuoteRevalidated
  | QuoteRestated
  | PoolDeployed
  | PoolWithdrawn
  | RfqPublished
  | RfqChanged
  | TradeRecorded
  | TradesUndone
  | QuoteWithdrawn
  | QuoteRestored
  | WithdrawnQuoteFilled
  | WithdrawnQuoteRestated;
