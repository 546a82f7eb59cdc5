import type { Hex, InvalidReason, Origin, Pool, Quote, Side, Signature, TradeTerms } from './quote.js';

/** The two chains a book depends on; in a test set-up they may be one and the same. */
export type ChainRole = 'stream' | 'settlement';

/** A block that was read completely, or, with `logIndex`, up to and including that log. */
export interface ChainPosition {
  readonly chain: ChainRole;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  /** Last log of the block that is accounted for; null: the whole block. */
  readonly logIndex: number | null;
}

/** State of one quote on the settlement chain at one block. */
export interface QuoteState {
  /** 1e-18 contracts still fillable: size less filled. 0: nothing left, or cancelled. */
  readonly fillableSize: bigint;
  readonly reason: InvalidReason | null;
}

/**
 * A `PublishQuote` event that passed every check; its state was read at the end of `settlementBlock`, which is the
 * block that the settlement reader is at. With nothing left to fill it does not enter, but a reorg may bring it in.
 */
export interface EnterQuote {
  readonly type: 'ENTER_QUOTE';
  readonly quote: Quote;
  readonly state: QuoteState;
  readonly settlementBlock: number;
  /**
   * Events of the quote that the settlement reader saw before the stream reader saw its publication, in chain order.
   * `state` includes all of them. Absent: none.
   */
  readonly early?: readonly EarlyEvent[];
  readonly position: ChainPosition;
}

/** A fill or a cancel of a quote that was not known yet. */
export interface EarlyEvent {
  /** 1e-18 contracts taken by this fill; null: the cancel. */
  readonly size: bigint | null;
  readonly origin: Origin;
}

/**
 * A `FillQuoteOB` of the quote's own pool. With `trade` it may also be of a quote that the book does not know, or no
 * longer: then the trade alone counts.
 */
export interface FillQuote {
  readonly type: 'FILL_QUOTE';
  readonly quoteId: Hex;
  /** 1e-18 contracts taken by this fill. */
  readonly size: bigint;
  /** Absent: the log is of a version that did not record trades. */
  readonly trade?: TradeTerms;
  readonly origin: Origin;
  readonly position: ChainPosition;
}

/** A `CancelQuoteOB` of the quote's own pool by the quote's own provider. */
export interface CancelQuote {
  readonly type: 'CANCEL_QUOTE';
  readonly quoteId: Hex;
  readonly origin: Origin;
  readonly position: ChainPosition;
}

/**
 * The provider's allowance or balance changed what can be filled; `origin` is null when a sweep found it. The answer is
 * that of `position`'s block: it changes nothing when a later block has touched the quote since.
 */
export interface SetValidity {
  readonly type: 'SET_VALIDITY';
  readonly quoteId: Hex;
  readonly reason: InvalidReason | null;
  readonly origin: Origin | null;
  readonly position: ChainPosition;
}

/** A `PoolDeployed` of the factory. `deployedAt`: Unix seconds, timestamp of its block. */
export interface DeployPool {
  readonly type: 'DEPLOY_POOL';
  readonly pool: Pool;
  readonly deployedAt: number;
  readonly origin: Origin;
  readonly position: ChainPosition;
}

/** The stream chain reorganised: what it published after `position` never happened. */
export interface RewindStream {
  readonly type: 'REWIND_STREAM';
  readonly position: ChainPosition;
}

/**
 * The settlement chain reorganised to `position`'s block as the common ancestor; `restated` says what its new branch,
 * read to `settlementBlock`, makes of every quote that a block after the ancestor had touched. Pools deployed after it
 * are forgotten (the new branch's own events follow). A follower that read states ahead of the ancestor reads the blocks
 * up to there next: their fills count as included, and the engine knows no block in between to notice another reorg by.
 */
export interface RewindSettlement {
  readonly type: 'REWIND_SETTLEMENT';
  readonly position: ChainPosition;
  readonly settlementBlock: number;
  readonly restated: readonly { readonly quoteId: Hex; readonly state: QuoteState }[];
  /**
   * Trades of blocks after `position` are undone. Absent: there is no such block, an earlier command has said so, or the
   * log is of a version that did not record trades.
   */
  readonly undoesTrades?: true;
}

/** Blocks without anything in them were read: only the position moves. */
export interface AdvancePosition {
  readonly type: 'ADVANCE_POSITION';
  readonly position: ChainPosition;
}

/** A taker asks makers for a private quote. Passed on as it is; outside the state hash. */
export interface PublishRfq {
  readonly type: 'PUBLISH_RFQ';
  readonly rfq: Rfq;
  /** Absent: it is passed on and forgotten, as every request of a log of a version without them. */
  readonly terms?: RequestTerms;
}

/** Its taker no longer wants quotes. Nothing happens when it is not live. */
export interface CancelRfq {
  readonly type: 'CANCEL_RFQ';
  readonly rfqId: string;
}

/** Terms with which a request is followed until it is filled, cancelled or expired. */
export interface RequestTerms {
  /** 32 hex digits. */
  readonly rfqId: string;
  /** Id of the API key that sent it, which may cancel it. */
  readonly owner: string;
  /** The client's own name for it. */
  readonly clientId: string | null;
  /** Unix seconds: quotes that come from then on are no answers. */
  readonly validUntil: number;
  /** The taker, where the request as makers see it has the zero address instead; null: they see the taker. */
  readonly taker: Hex | null;
  /** Quotes that there have to be before the taker is shown the best. */
  readonly minQuotes: number;
  /** Only quotes of these count, in lower case; empty: every maker's do. */
  readonly makers: readonly Hex[];
  /** Of a request of several legs, each of which is a request; null: it stands alone. */
  readonly leg: RfqLeg | null;
}

export interface RfqLeg {
  /** The same for all legs. */
  readonly packageId: string;
  /** From 0 to `legs` - 1. */
  readonly place: number;
  readonly legs: number;
}

/** The fields of a request for quote that the service reads: enough to route it. */
export interface Rfq {
  readonly poolAddress: Hex;
  readonly side: Side;
  /** 1e-18 contracts, from 1 to 2^256 - 1. */
  readonly size: bigint;
  readonly taker: Hex;
  /**
   * JSON text of the request in the taker's own words (pool by key or by address, any letter case): makers get it so.
   */
  readonly body: string;
}

/**
 * Time has come to `second`, and more is due than one record is to hold: these go first. Orders that are not known, or
 * not due by then, stay as they are.
 */
export interface ExpireQuotes {
  readonly type: 'EXPIRE_QUOTES';
  /** Unix seconds. The record's own stamp is still from before anything was due, or all of it would go with it. */
  readonly second: number;
  readonly quoteIds: readonly Hex[];
}

/** A nonce that a provider signed with. It is spent until its deadline, and worth nothing after it. */
export interface SignedNonce {
  /** From 0 to 2^256 - 1. */
  readonly nonce: bigint;
  /** Unix seconds, the last one in which the signature counts. */
  readonly deadline: number;
}

/** The rest of what a provider signed: kept as evidence, on which no state depends. */
export interface SignedIds {
  /** All ids, as they were signed: also those of quotes that are not known, and repeated ones. */
  readonly quoteIds: readonly Hex[];
  readonly signature: Signature;
}

/**
 * The cause of a withdrawal: the provider itself, its connection or its heartbeats that ended, or fills beyond the limit
 * that it set.
 */
export type WithdrawalReason = 'REQUESTED' | 'DISCONNECTED' | 'HEARTBEAT_MISSED' | 'FILL_LIMIT';

/**
 * A provider hides its quotes. Quotes that are not known, or of another provider, stay as they are. Nothing happens when
 * the nonce is spent or past its deadline.
 */
export interface WithdrawQuotes {
  readonly type: 'WITHDRAW_QUOTES';
  readonly provider: Hex;
  readonly quoteIds: readonly Hex[];
  readonly reason: WithdrawalReason;
  /** Null: no signature was needed. */
  readonly signed: SignedNonce | null;
  /** Absent: nothing was signed, or the log is of a version that did not record it. */
  readonly message?: SignedIds;
}

/** A provider shows again what it had withdrawn; otherwise as WithdrawQuotes. */
export interface RestoreQuotes {
  readonly type: 'RESTORE_QUOTES';
  readonly provider: Hex;
  readonly quoteIds: readonly Hex[];
  readonly signed: SignedNonce | null;
  readonly message?: SignedIds;
}

/**
 * A provider lets an API key act for it until then; `until` 0 revokes that. Nothing happens when the nonce is spent or
 * past its deadline.
 */
export interface AuthorizeKey {
  readonly type: 'AUTHORIZE_KEY';
  readonly provider: Hex;
  /** Id of the key. */
  readonly owner: string;
  /** Unix seconds: the last one in which the key may. */
  readonly until: number;
  /** Null: no signature was needed. */
  readonly signed: SignedNonce | null;
}

/** A timer waits for heartbeats that a key sends, or connections that it keeps open. */
export type TimerKind = 'HEARTBEAT' | 'CONNECTION';

/**
 * An authorised key sets a timer that withdraws the provider's quotes, or stops it with 0. The timer runs where the log is
 * written: the log has only that there is one, and the withdrawal that it leads to.
 */
export interface SetTimer {
  readonly type: 'SET_TIMER';
  readonly provider: Hex;
  readonly owner: string;
  readonly kind: TimerKind;
  readonly seconds: number;
}

/** More than that within `seconds` of the settlement chain's blocks is beyond the limit. 0: any amount, or any number. */
export interface FillBounds {
  /** 1e-18 contracts. */
  readonly contracts: bigint;
  readonly fills: number;
  readonly seconds: number;
}

/** A provider limits what may be filled of its quotes in a pool before all of them are withdrawn. */
export interface SetFillLimit {
  readonly type: 'SET_FILL_LIMIT';
  readonly provider: Hex;
  readonly poolAddress: Hex;
  /** Unix seconds: the pool's maturity, at which the limit is forgotten. */
  readonly until: number;
  /** Null: no limit. */
  readonly bounds: FillBounds | null;
  /** Null: a key that the provider has authorised asked for it. */
  readonly signed: SignedNonce | null;
}

/** Nothing but time passed: quotes past their deadline and pools past their maturity go. */
export interface Tick {
  readonly type: 'TICK';
}

export type Command =
  | EnterQuote
  | FillQuote
  | CancelQuote
  | SetValidity
  | DeployPool
  | RewindStream
  | RewindSettlement
  | AdvancePosition
  | PublishRfq
  | CancelRfq
  | Tick
  | ExpireQuotes
  | WithdrawQuotes
  | RestoreQuotes
  | AuthorizeKey
  | SetTimer
  | SetFillLimit;

/** Number and time that the sequencer gives every command before the engine sees it. */
export interface Stamp {
  /** Number of the record in the log, from 1, gapless. */
  readonly index: number;
  /** Engine time in milliseconds: never goes back. Expiry compares whole seconds of it, rounded down. */
  readonly tsMs: number;
}
