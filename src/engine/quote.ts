/** `0x` and lower-case hex digits, except where a field says that it is an EIP-55 checksum. */
export type Hex = `0x${string}`;

/** The pool's identity on chain (`PoolKey` of the pool contracts). The three addresses are EIP-55 checksums. */
export interface PoolKey {
  readonly base: Hex;
  readonly quote: Hex;
  readonly oracleAdapter: Hex;
  /** 1e-18 of a quote token per base token. */
  readonly strike: bigint;
  /** Unix seconds, at 08:00 UTC. */
  readonly maturity: number;
  readonly isCallPool: boolean;
}

/** One option series. The address follows from the key alone, so a pool has one before it is deployed. */
export interface Pool {
  readonly poolAddress: Hex;
  readonly poolKey: PoolKey;
}

/** `StreamSignature` of the stream contract: secp256k1, `s` in the lower half, `v` 27 or 28. */
export interface Signature {
  readonly r: Hex;
  readonly s: Hex;
  readonly v: number;
}

export const ZERO_ADDRESS: Hex = '0x0000000000000000000000000000000000000000';

/** Prices are normalised: at most one base token a contract (calls), or one strike a contract (puts). */
export const MAX_PRICE = 10n ** 18n;

export type Side = 'bid' | 'ask';

/** A quote just as its maker signed it (EIP-712 type `FillQuoteOB`), with the pool that the signature is bound to. */
export interface SignedQuote {
  readonly pool: Pool;
  readonly provider: Hex;
  /** Zero address: public, anyone may fill. */
  readonly taker: Hex;
  /** 1e-18, from 0 to MAX_PRICE. */
  readonly price: bigint;
  /** 1e-18 contracts, from 1 to 2^256 - 1. */
  readonly size: bigint;
  readonly isBuy: boolean;
  /** Unix seconds, the last second in which the quote can be filled. */
  readonly deadline: number;
  readonly salt: number;
  readonly signature: Signature;
}

/** Where on a chain something happened. */
export interface Origin {
  readonly blockNumber: number;
  readonly txHash: Hex;
  readonly logIndex: number;
}

/** Terms in the `FillQuoteOB` of a fill besides the quote and its size. */
export interface TradeTerms {
  readonly pool: Pool;
  readonly provider: Hex;
  /** The account that took the quote. */
  readonly taker: Hex;
  /** Normalised as a quote's, 1e-18. Of a quote that the book does not know: the premium by the size, rounded down. */
  readonly price: bigint;
  /** Paid by the taker beyond the premium, 1e-18 of the pool's collateral token. */
  readonly fee: bigint;
  /** The taker bought. */
  readonly isBuy: boolean;
  /** Unix seconds: timestamp of its block. */
  readonly time: number;
}

/** A fill on the chain. (blockHash, logIndex of its cause) tells it from every other. */
export interface Trade extends TradeTerms {
  readonly quoteId: Hex;
  /** 1e-18 contracts. */
  readonly size: bigint;
  readonly blockHash: Hex;
}

/** A quote whose event is on the stream chain. */
export interface Quote extends SignedQuote {
  /** The EIP-712 digest: the hash that was signed is the id. */
  readonly quoteId: Hex;
  /** Unix seconds: timestamp of the block of the first canonical `PublishQuote`. */
  readonly ts: number;
  /** The first canonical `PublishQuote`; (blockNumber, logIndex) is the age order. */
  readonly origin: Origin;
}

/**
 * Why a quote that is neither expired, cancelled nor filled can't be filled now. The numbers are the contract's; the
 * first stands for a chain that gives no verdict: the collateral token does not answer, or the pool cannot be deployed
 * yet.
 */
export const InvalidReason = {
  InvalidAssetUpdate: 7,
  InsufficientCollateralAllowance: 8,
  InsufficientCollateralBalance: 9,
  InsufficientLongBalance: 10,
  InsufficientShortBalance: 11,
} as const;
export type InvalidReason = (typeof InvalidReason)[keyof typeof InvalidReason];

const REASON_NAMES = Object.fromEntries(Object.entries(InvalidReason).map(([name, code]) => [code, name])) as Record<
  InvalidReason,
  keyof typeof InvalidReason
>;

/** The name that clients get. */
export function reasonName(reason: InvalidReason): keyof typeof InvalidReason {
  return REASON_NAMES[reason];
}

export function sideOf(quote: Pick<SignedQuote, 'isBuy'>): Side {
  return quote.isBuy ? 'bid' : 'ask';
}

export function isPrivate(quote: Pick<SignedQuote, 'taker'>): boolean {
  return quote.taker !== ZERO_ADDRESS;
}

/** A quote as the engine keeps it: what was signed, and what the chain has made of it since. */
export interface Order {
  readonly quote: Quote;
  /** 1e-18 contracts; 0 once it is filled or cancelled. */
  readonly fillableSize: bigint;
  /**
   * `live`: in the book; `invalid`: known, waiting for its provider's funds; `withdrawn`: hidden by its provider, though
   * the contract still lets it be filled; `gone`: kept only for a reorg to restore.
   */
  readonly state: 'live' | 'invalid' | 'withdrawn' | 'gone';
  readonly reason: InvalidReason | null;
}
