/** Why a text is no amount: not a number at all, more decimals than the unit has, or above 2^256 - 1 units. */
export type DecimalRefusal = 'NOT_A_NUMBER' | 'TOO_PRECISE' | 'TOO_LARGE';

export const MAX_UINT256 = 2n ** 256n - 1n;

/** Digits of 2^256 - 1: no longer number is ever built, whatever exponent it was written with. */
export const UINT256_DIGITS = 78;

const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * Reads a decimal number, with or without an exponent, as a whole number of units of 10^-`decimals`. Digit by digit:
 * no float is involved, so what was written is what is meant. Decimals count as written, trailing zeros too.
 */
export function parseDecimal(text: string, decimals: number): bigint | DecimalRefusal {
  const match = NUMBER.exec(text);
  if (match === null) return 'NOT_A_NUMBER';
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const shift = decimals + Number(exponent) - fraction.length;
  if (shift < 0) return 'TOO_PRECISE';
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  if (digits.length + shift > UINT256_DIGITS) return 'TOO_LARGE';
  const units = BigInt(digits) * 10n ** BigInt(shift);
  if (units > MAX_UINT256) return 'TOO_LARGE';
  return sign === '-' ? -units : units;
}

/** The exact decimal text of `units` of 10^-`decimals`: no exponent, no trailing zeros, valid as a JSON number. */
export function formatDecimal(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? sign + whole : `${sign}${whole}.${fraction}`;
}
