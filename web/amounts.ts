const ONE = 10n ** 18n;

/** An amount in 1e-18 with so many decimals, cut off; with more of them where there would be only zeros. */
export function decimal(amount: bigint, digits: number): string {
  const shown = amount > 0n && amount < ONE / 10n ** BigInt(digits) ? MOST_DIGITS : digits;
  const whole = (amount / ONE).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
  const rest = (amount % ONE).toString().padStart(18, '0').slice(0, shown);
  return shown === 0 ? whole : `${whole}.${rest}`;
}

const MOST_DIGITS = 8;

/** Contracts, short enough for a narrow column. */
export function contracts(size: bigint): string {
  if (size >= 1_000_000n * ONE) return `${decimal(size / 1_000_000n, 1)}M`;
  if (size >= 10_000n * ONE) return `${decimal(size / 1_000n, 1)}k`;
  return decimal(size, size >= 100n * ONE ? 0 : 2);
}

/** For drawing alone: what is shown as text is never a float. */
export function drawn(amount: bigint): number {
  return Number(amount) / 1e18;
}
