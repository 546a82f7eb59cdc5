const ONE = 10n ** 18n;

/** An amount in 1e-18 with so many decimals, rounded up or down. */
export function decimal(amount: bigint, digits: number, rounding: 'UP' | 'DOWN'): string {
  const unit = 10n ** BigInt(MOST_DIGITS - digits);
  const units = (rounding === 'UP' ? amount + unit - 1n : amount) / unit;
  const scale = 10n ** BigInt(digits);
  const whole = (units / scale).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
  return digits === 0 ? whole : `${whole}.${(units % scale).toString().padStart(digits, '0')}`;
}

/** Decimals that show so many significant digits of an amount in 1e-18. */
export function decimalsOf(amount: bigint, significantDigits: number): number {
  const missing = MOST_DIGITS + significantDigits - amount.toString().length;
  return Math.min(MOST_DIGITS, Math.max(0, missing));
}

/** All that an amount in 1e-18 can have. */
const MOST_DIGITS = 18;
const SMALL_SIZE_DIGITS = 8;

/** Contracts, short enough for a narrow column; never more than there are. */
export function contracts(size: bigint): string {
  if (size >= 1_000_000n * ONE) return `${decimal(size / 1_000_000n, 1, 'DOWN')}M`;
  if (size >= 10_000n * ONE) return `${decimal(size / 1_000n, 1, 'DOWN')}k`;
  if (size >= 100n * ONE) return decimal(size, 0, 'DOWN');
  return decimal(size, size > 0n && size < ONE / 100n ? SMALL_SIZE_DIGITS : 2, 'DOWN');
}

/** For drawing alone: what is shown as text is never a float. */
export function drawn(amount: bigint): number {
  return Number(amount) / 1e18;
}

/** A decimal number as typed, in 1e-18; null: not a number, or more than 18 decimals. */
export function parseDecimal(text: string): bigint | null {
  const [, whole = '', fraction = ''] = /^\s*(\d{1,30})(?:[.,](\d{0,18}))?\s*$/.exec(text) ?? [];
  return whole === '' ? null : BigInt(whole) * ONE + BigInt(fraction.padEnd(MOST_DIGITS, '0'));
}

/** An amount in 1e-18 as an input has it: all its decimals, and no more. */
export function plainDecimal(amount: bigint): string {
  const digits = amount.toString().padStart(MOST_DIGITS + 1, '0');
  return `${digits.slice(0, -MOST_DIGITS)}.${digits.slice(-MOST_DIGITS)}`.replace(/\.?0+$/, '');
}
