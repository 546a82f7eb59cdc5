import type { Pool } from 'quotebook/client';
import { decimal } from './amounts.js';

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

/** 1e-18 tokens per contract. On the wire the price of a put is per unit of strike. */
function premium(pool: Pool, price: bigint): bigint {
  if (pool.type === 'C') return price;
  // Nine decimals of a strike are more than the contracts allow it.
  const strike = BigInt(Math.round(pool.strike * 1e9)) * 10n ** 9n;
  return (price * strike) / ONE;
}

export function premiumText(pool: Pool, price: bigint): string {
  return decimal(premium(pool, price), pool.type === 'C' ? 4 : 2);
}

/** For sorting expirations such as 27NOV26. */
export function expiryOrder(expiration: string): number {
  const [day, month, year] = [expiration.slice(0, 2), expiration.slice(2, 5), expiration.slice(5)];
  return Number(year) * 10_000 + MONTHS.indexOf(month.toUpperCase()) * 100 + Number(day);
}
