import type { Hex } from 'viem';
import type { OrderbookQuote, PoolKeyJson } from '../../wire/orderbook.js';
import type { SideText } from '../../wire/primitives.js';
import { compareBestFirst } from '../level-book.js';

/** A fill as the taker wants it. */
export interface FillTerms {
  /** The book's side: `ask` to buy options, `bid` to sell them. */
  readonly side: SideText;
  /** 1e-18 contracts. */
  readonly size: bigint;
  /**
   * The worst acceptable price, 1e-18, as quotes have it: base tokens per contract of a call, quote tokens per contract
   * and unit of strike of a put. Fees come on top.
   */
  readonly limitPrice: bigint;
}

/** State that the amounts of a fill depend on besides the quotes. */
export interface TakerState {
  readonly taker: Hex;
  /** The taker's contracts in the pool, 1e-18: closing a position needs less collateral than opening one. */
  readonly longs: bigint;
  readonly shorts: bigint;
  /** The taker's fee as a share of the usual one, 1e-18: `ONE` without a discount. */
  readonly feeShare: bigint;
  /** Decimals of the collateral token. */
  readonly decimals: number;
  /** Quotes that end before this are left out, Unix seconds. */
  readonly notBefore: number;
}

/** A part of the plan: `size` of one quote. */
export interface PlannedFill {
  readonly quote: OrderbookQuote;
  /** 1e-18 contracts. */
  readonly size: bigint;
  /** 1e-18 of the collateral token. */
  readonly premium: bigint;
  readonly fee: bigint;
  /** Change of the taker's balance by the fill, in the token's own decimals; below 0: the taker pays. */
  readonly change: bigint;
}

export interface FillPlan {
  readonly terms: FillTerms;
  /** The book's best price first. */
  readonly fills: readonly PlannedFill[];
  /** 1e-18 contracts that `fills` cover, and that no quote within the limit covers. */
  readonly covered: bigint;
  readonly shortfall: bigint;
  /** 1e-18, null without fills; the average is rounded against the taker. */
  readonly averagePrice: bigint | null;
  readonly worstPrice: bigint | null;
  /** Of all fills, 1e-18 of the collateral token. */
  readonly premium: bigint;
  readonly fee: bigint;
  /** Of all fills together, in the token's own decimals; below 0: the taker pays. */
  readonly change: bigint;
  /** The balance that the fills need in their order, in the token's own decimals. */
  readonly neededBalance: bigint;
  /** Least allowance that the router needs, in the token's own decimals. */
  readonly neededAllowance: bigint;
}

/**
 * Which quotes cover the size best within the limit, and what the taker pays for it, by the contract's own formulas.
 * `quotes` are of one pool; those of the other side, for other takers, of the taker's own, or about to end are left out.
 */
export function planFill(terms: FillTerms, quotes: readonly OrderbookQuote[], state: TakerState): FillPlan {
  if (terms.size <= 0n || terms.limitPrice < 0n)
    throw new RangeError('The size is above 0, the limit price at least 0');
  const fills: PlannedFill[] = [];
  let position = { longs: state.longs, shorts: state.shorts };
  let left = terms.size;
  for (const quote of usable(terms, quotes, state)) {
    if (left === 0n) break;
    const size = min(BigInt(quote.fillableSize), left);
    const { fill, after } = fillOf(quote, size, position, state);
    fills.push(fill);
    position = after;
    left -= size;
  }
  return { terms, fills, ...totals(fills), covered: terms.size - left, shortfall: left };
}

function usable(terms: FillTerms, quotes: readonly OrderbookQuote[], state: TakerState): OrderbookQuote[] {
  const taker = state.taker.toLowerCase();
  const isWithin = (price: bigint): boolean => compareBestFirst(terms.side, price, terms.limitPrice) <= 0;
  return quotes
    .filter(
      (quote) =>
        quote.isBuy === (terms.side === 'bid') &&
        quote.provider.toLowerCase() !== taker &&
        [NO_TAKER, taker].includes(quote.taker.toLowerCase()) &&
        quote.deadline >= state.notBefore &&
        BigInt(quote.fillableSize) > 0n &&
        isWithin(BigInt(quote.price)),
    )
    .sort((a, b) => compareBestFirst(terms.side, BigInt(a.price), BigInt(b.price)) || a.ts - b.ts);
}

interface Position {
  readonly longs: bigint;
  readonly shorts: bigint;
}

/** As `fillQuoteOB` counts: buying gives back shorts before it adds longs, selling gives back longs before shorts. */
function fillOf(quote: OrderbookQuote, size: bigint, { longs, shorts }: Position, { feeShare, decimals }: TakerState) {
  const { poolKey, isBuy } = quote;
  const normalized = mul(BigInt(quote.price), size);
  const fee = takerFee(normalized, size, feeShare, poolKey);
  const premium = toCollateral(normalized, poolKey);
  const takerBuys = !isBuy;
  const closing = min(takerBuys ? shorts : longs, size);
  const collateral = takerBuys
    ? toCollateral(closing, poolKey) - (premium + fee)
    : premium - fee - toCollateral(size - closing, poolKey);
  const after = takerBuys
    ? { shorts: shorts - closing, longs: longs + size - closing }
    : { longs: longs - closing, shorts: shorts + size - closing };
  return { fill: { quote, size, premium, fee, change: floorToUnit(collateral, decimals) }, after };
}

/**
 * The taker's fee for a fill, 1e-18 of the collateral token: 12.5 % of the premium, at most 0.08 % of the size, less the
 * taker's discount. `normalizedPremium`: price times size, 1e-18.
 */
export function takerFee(
  normalizedPremium: bigint,
  size: bigint,
  feeShare: bigint,
  poolKey: Pick<PoolKeyJson, 'isCallPool' | 'strike'>,
): bigint {
  const fee = min(mul(normalizedPremium, MOST_OF_PREMIUM), mul(size, OF_SIZE));
  return toCollateral(mul(fee, feeShare), poolKey);
}

/** A call is covered by one base token a contract, a put by its strike in quote tokens. */
function toCollateral(contracts: bigint, { isCallPool, strike }: Pick<PoolKeyJson, 'isCallPool' | 'strike'>): bigint {
  return isCallPool ? contracts : mul(contracts, BigInt(strike));
}

function totals(fills: readonly PlannedFill[]) {
  let [premium, fee, change, lowest, neededAllowance, size, value] = [0n, 0n, 0n, 0n, 0n, 0n, 0n];
  for (const fill of fills) {
    premium += fill.premium;
    fee += fill.fee;
    change += fill.change;
    if (change < lowest) lowest = change;
    if (fill.change < 0n) neededAllowance -= fill.change;
    size += fill.size;
    value += fill.size * BigInt(fill.quote.price);
  }
  const last = fills.at(-1)?.quote;
  return {
    premium,
    fee,
    change,
    neededBalance: -lowest,
    neededAllowance,
    // A buyer's average is rounded up, a seller's down.
    averagePrice: last === undefined ? null : last.isBuy ? value / size : (value + size - 1n) / size,
    worstPrice: last === undefined ? null : BigInt(last.price),
  };
}

export const ONE = 10n ** 18n;
const MOST_OF_PREMIUM = 125n * 10n ** 15n;
const OF_SIZE = 8n * 10n ** 14n;
const NO_TAKER = '0x0000000000000000000000000000000000000000';

function mul(a: bigint, b: bigint): bigint {
  return (a * b) / ONE;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** 18 decimals to the token's own, towards minus infinity: a payer pays the rest of a unit, a receiver leaves it. */
function floorToUnit(amount: bigint, decimals: number): bigint {
  const unit = 10n ** BigInt(18 - decimals);
  const whole = amount / unit;
  return whole * unit > amount ? whole - 1n : whole;
}
