import type { Pool } from 'quotebook/client';
import { decimal, decimalsOf, parseDecimal, plainDecimal } from './amounts.js';

const ONE = 10n ** 18n;
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];

/** Such as "testWETH/USDC". */
export function pairOf({ base, quote }: Pool): string {
  return `${base}/${quote}`;
}

/** Such as "testWETH 27NOV26 1800 C". */
export function nameOf({ base, expiration, strike, type }: Pool): string {
  return `${base} ${expiration} ${strike} ${type}`;
}

/** The token that a contract's premium is paid in: the base of calls, the quote of puts. */
export function premiumToken({ base, quote, type }: Pool): string {
  return type === 'C' ? base : quote;
}

/**
 * Decimals that all prices of a pool are shown with, so that they line up: enough for the significant digits of the
 * lower one of its best prices.
 */
export function priceDigits(pool: Pool, best: readonly (bigint | undefined)[]): number {
  const premiums = best.filter((price) => price !== undefined).map((price) => premium(pool, price, 'DOWN'));
  const digits = premiums.filter((each) => each > 0n).map((each) => decimalsOf(each, SIGNIFICANT_DIGITS));
  return Math.max(pool.type === 'C' ? 4 : 2, ...digits);
}

/**
 * Cost of a contract at an ask, or proceeds at a bid, rounded against the taker. A bid that would round to
 * 0 is shown with more decimals.
 */
export function premiumText(pool: Pool, price: bigint, side: 'bid' | 'ask', digits: number): string {
  return premiumDecimal(premiumOf(pool, price, side), side, digits);
}

/** As `premiumText`, of a premium in 1e-18 tokens per contract. */
export function premiumDecimal(exact: bigint, side: 'bid' | 'ask', digits: number): string {
  const rounding = side === 'ask' ? 'UP' : 'DOWN';
  const isTooSmall = exact > 0n && decimalsOf(exact, 1) > digits;
  return decimal(exact, isTooSmall ? decimalsOf(exact, SIGNIFICANT_DIGITS) : digits, rounding);
}

/**
 * A premium per contract as typed, as the wire's price; null: no number. Rounded so that a premium that is shown,
 * typed in again as a limit, takes in the price that it was shown for.
 */
export function normalizedPrice(pool: Pool, text: string, side: 'bid' | 'ask'): bigint | null {
  const typed = parseDecimal(text);
  if (typed === null || pool.type === 'C') return typed;
  const strike = strikeOf(pool);
  return (typed * ONE + (side === 'bid' ? strike - 1n : 0n)) / strike;
}

/** How far apart the best prices are; of a crossed book how far the best bid is above the best ask. */
export function spreadText(pool: Pool, bid: bigint, ask: bigint): string {
  const apart = bid > ask ? bid - ask : ask - bid;
  const text = premiumText(pool, apart, 'ask', priceDigits(pool, [bid, ask]));
  return bid > ask ? `crossed by ${text}` : `spread ${text}`;
}

/** A price of the wire as a premium for an input, rounded towards the maker's better side. */
export function typedPremium(pool: Pool, price: bigint, side: 'bid' | 'ask'): string {
  return plainDecimal(premium(pool, price, side === 'ask' ? 'UP' : 'DOWN'));
}

/** 1e-18 tokens per contract for a price of the wire, rounded against the taker. */
export function premiumOf(pool: Pool, price: bigint, side: 'bid' | 'ask'): bigint {
  return premium(pool, price, side === 'ask' ? 'UP' : 'DOWN');
}

const SIGNIFICANT_DIGITS = 4;

/** 1e-18 tokens per contract. On the wire the price of a put is per unit of strike. */
function premium(pool: Pool, price: bigint, rounding: 'UP' | 'DOWN'): bigint {
  if (pool.type === 'C') return price;
  return (price * strikeOf(pool) + (rounding === 'UP' ? ONE - 1n : 0n)) / ONE;
}

/** 1e-18. Nine decimals of a strike are more than the contracts allow it. */
function strikeOf({ strike }: Pool): bigint {
  return BigInt(Math.round(strike * 1e9)) * 10n ** 9n;
}

/** Unix milliseconds of an expiration such as 27NOV26: 08:00 UTC on that day. */
export function expiryTime(expiration: string): number {
  const [day, month, year] = [expiration.slice(0, 2), expiration.slice(2, 5), expiration.slice(5)];
  return Date.UTC(2000 + Number(year), MONTHS.indexOf(month.toUpperCase()), Number(day), 8);
}
