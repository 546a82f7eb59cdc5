/**
 * Answers of services to routes, before they become JSON. Clients get none of them: they have the engine's types, and
 * amounts as bigint.
 */
import type { Hex, Order, PoolKey, SignedQuote } from '../engine/quote.js';
import type { OptionTerms } from './options.js';

/** A reading of the chain. */
export type ChainRead<T> = { readonly type: 'READ'; readonly value: T } | { readonly type: 'CHAIN_UNREACHABLE' };

export type TokenBalance =
  | { readonly symbol: string; readonly address: Hex; readonly units: bigint; readonly decimals: number }
  /** The token did not answer. */
  | { readonly symbol: string; readonly reason: string };

export interface OptionBalance {
  readonly poolAddress: Hex;
  /** BASE-QUOTE-DDMMMYYYY-STRIKE-C|P. */
  readonly name: string;
  /** 1e-18 contracts, above 0. */
  readonly amount: bigint;
  readonly exposure: 'SHORT' | 'LONG';
  readonly isOpen: boolean;
}

/** The outcome of one option of POST /pools. */
export type DeployedItem =
  | { readonly type: 'CREATED' | 'EXISTED'; readonly poolAddress: Hex }
  | { readonly type: 'FAILED'; readonly reason: string };

/** The outcome of one position that is closed; `reason` is for people. */
export type SettledItem = { readonly type: 'SETTLED' } | { readonly type: 'FAILED'; readonly reason: string };

/** An amount of a token as its contract gives it: `units` of 10^-`decimals`. */
export interface TokenAmount {
  readonly units: bigint;
  readonly decimals: number;
}

export interface VaultTrade extends OptionTerms {
  /** 1e-18 contracts. */
  readonly size: bigint;
  /** True: the operator buys from the vault. */
  readonly isBuy: boolean;
}

export type VaultRefusalCode = 'invalid_expiration' | 'unknown_vault' | 'contract_refused';

export type VaultQuote =
  /** `quote` contains `fee`. */
  | { readonly type: 'QUOTED'; readonly vault: string; readonly quote: TokenAmount; readonly fee: TokenAmount }
  /** The trade is not possible: `message` says why, in the words of the date rules, or as a contract's error. */
  | { readonly type: 'REFUSED'; readonly code: VaultRefusalCode; readonly message: string }
  /** The vault gave no quote, for a reason that is not the client's. */
  | { readonly type: 'FAILED' }
  | { readonly type: 'CHAIN_UNREACHABLE' };

/** A price of one token in another, as the oracle gives it. */
export type OraclePrice =
  /** In 1e-18. */
  | { readonly type: 'PRICED'; readonly price: bigint }
  /** The oracle adapter does not support the pair. */
  | { readonly type: 'UNSUPPORTED' }
  /** It gave no price for a reason that may pass, such as a price that is too old. */
  | { readonly type: 'FAILED' };

export type VolatilityAnswer =
  /** In 1e-18 a year, in the order of the strikes. */
  | { readonly type: 'GIVEN'; readonly volatilities: readonly bigint[] }
  | { readonly type: 'FAILED' }
  /** The profile names no oracle of volatilities. */
  | { readonly type: 'NO_ORACLE' };

/** A posted quote as the service works with it: numbers read, letters lower, checked for its form alone. */
export interface QuoteToPublish extends Omit<SignedQuote, 'pool'> {
  readonly poolKey: PoolKey;
}

/** The outcome of one quote, in the order of the request. */
export type PublishedItem =
  | { readonly type: 'CREATED' | 'EXISTS'; readonly order: Order; readonly fillableSize: bigint }
  | { readonly type: 'FAILED'; readonly reason: string };

export type PublishAnswer =
  | { readonly type: 'ANSWERED'; readonly items: readonly PublishedItem[] }
  /** Time is up and nothing has landed; these may still enter. */
  | { readonly type: 'NOT_CONFIRMED'; readonly pending: readonly Hex[] }
  | { readonly type: 'NO_GAS_MONEY'; readonly wallet: Hex }
  | { readonly type: 'QUEUE_FULL' }
  | { readonly type: 'CHAIN_UNREACHABLE' };

/** A transaction that the taker sends: the contract, and its calldata. */
export interface FillCall {
  readonly to: Hex;
  readonly data: Hex;
}

/**
 * Costs of filling a part of a quote. Amounts are in the smallest units of the collateral token. `premium` goes to the
 * maker (the quote is an ask) or to the taker (a bid), `collateral` is locked by a taker who sells, `fee` is the
 * protocol's. `pays`: the most that leaves the taker's account; a taker who closes a position pays less.
 */
export interface FillCosts {
  readonly premium: bigint;
  readonly fee: bigint;
  readonly collateral: bigint;
  readonly pays: bigint;
  readonly call: FillCall;
}

/** How a taker fills the parts of a cover, in their order. */
export interface CoverPlan {
  readonly legs: readonly FillCosts[];
  /** The taker approves `spender` for `amount`, in units of 10^-`decimals` of `token`, first. Null: there is no leg. */
  readonly approval: {
    readonly token: Hex;
    readonly decimals: number;
    readonly spender: Hex;
    readonly amount: bigint;
  } | null;
  /** All legs in one transaction, which fills all of them or none. Null: there are fewer than two. */
  readonly bundle: FillCall | null;
}

/** A quote to fill; `size` in 1e-18 contracts. */
export interface FillRequest {
  /** In lower case, with `0x`. */
  readonly quoteId: Hex;
  readonly size: bigint;
}

/** The outcome of one quote; `reason` is for the text log. */
export type TradeItem =
  | { readonly type: 'DONE' }
  | { readonly type: 'FAILED'; readonly reason: string }
  /** Its transaction was sent, and may still be mined. */
  | { readonly type: 'PENDING' };

/** OMITTED: the quote is not in the book. */
export type CancelItem = TradeItem | { readonly type: 'OMITTED' };

/** In the order of the request. */
export interface Traded<Item> {
  readonly type: 'ANSWERED';
  readonly items: readonly Item[];
}

export type FillAnswer =
  | Traded<TradeItem>
  /** A token does not tell its balance. Nothing was sent, as in all that follow. */
  | { readonly type: 'NO_BALANCES'; readonly tokens: readonly { readonly token: string; readonly reason: string }[] }
  /** The wallet can pay for none of the orders: it has too little, or has not let the router take enough. */
  | { readonly type: 'NOT_ENOUGH'; readonly what: 'collateral' | 'allowance'; readonly symbol: string }
  | { readonly type: 'CHAIN_UNREACHABLE' };

export type CancelAnswer = Traded<CancelItem> | { readonly type: 'CHAIN_UNREACHABLE' };

/** The router's new allowance of a token; `amount` is a decimal text of whole tokens, or `max`: all there can be. */
export interface ApprovalRequest {
  readonly symbol: string;
  readonly amount: string;
}

export type ApprovalItem = { readonly type: 'APPROVED' } | { readonly type: 'FAILED'; readonly error: string };

export type ApprovalAnswer = Traded<ApprovalItem> | { readonly type: 'CHAIN_UNREACHABLE' };

export interface VaultOrder extends VaultTrade {
  /** Decimal text of whole tokens of the vault's asset, fee included: at most on a buy, at least on a sell. */
  readonly premiumLimit: string;
}

export type VaultTradeAnswer =
  | {
      readonly type: 'TRADED';
      readonly vault: string;
      readonly txHash: Hex;
      /** The amount that was paid or came in, and the fee in it; null where the chain does not say it just now. */
      readonly paid: { readonly quote: TokenAmount; readonly fee: TokenAmount } | null;
    }
  /** The requested trade is not possible; nothing was sent. */
  | {
      readonly type: 'REFUSED';
      readonly code: VaultRefusalCode | 'invalid_parameter' | 'insufficient_balance' | 'insufficient_allowance';
      readonly message: string;
    }
  | { readonly type: 'FAILED' }
  /** The transaction was sent, and may still be mined. */
  | { readonly type: 'NOT_CONFIRMED' }
  /** Earlier transactions about the same token were not confirmed in time; nothing was sent, nor will be. */
  | { readonly type: 'WAITED' }
  | { readonly type: 'CHAIN_UNREACHABLE' };

/** An order that the operator offers. Amounts in 1e-18. */
export interface NewQuote extends OptionTerms {
  readonly isBuy: boolean;
  readonly size: bigint;
  readonly price: bigint;
  /** Seconds from now. */
  readonly lifeSeconds: number;
  /** In lower case; the zero address: anyone may fill it. */
  readonly taker: Hex;
}

/** The first quote that cannot be signed, by its place; nothing was signed. `poolKey`: where its pool is the reason. */
export interface SigningRefusal {
  readonly type: 'REFUSED';
  readonly index: number;
  readonly code: 'invalid_parameter' | 'invalid_expiration' | 'invalid_pool_key' | 'pool_not_deployed';
  readonly message: string;
  readonly poolKey: PoolKey | null;
}

export type SigningResult =
  | { readonly type: 'SIGNED'; readonly quotes: readonly SignedQuote[] }
  | SigningRefusal
  | { readonly type: 'CHAIN_UNREACHABLE' };
