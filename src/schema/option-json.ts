import { formatDecimal, parseDecimal } from './decimal.js';
import type { Option } from './options.js';

/** One option series as it is asked for, with its strike read. */
export interface OptionTerms {
  readonly base: string;
  readonly quote: string;
  /** As written: DDMMMYY. */
  readonly expiration: string;
  /** 1e-18 of a quote token per base token. */
  readonly strike: bigint;
  readonly type: 'C' | 'P';
}

/** `option` has passed its schema. */
export function readOption(option: Option): OptionTerms {
  return { ...option, strike: readAmount(String(option.strike)) };
}

/** In units of 1e-18; the schema has let no other text pass. */
export function readAmount(text: string): bigint {
  const units = parseDecimal(text, 18);
  if (typeof units !== 'bigint') throw new Error(`${text} is no amount, and its schema let it pass`);
  return units;
}

/**
 * JSON text of a pool. The strike is written digit by digit, so that it is exact whatever its size; readers that keep
 * numbers as floats round it themselves.
 */
export function poolJson({ base, quote, expiration, strike, type }: OptionTerms, poolAddress: string): string {
  const before = JSON.stringify({ base, quote, expiration }).slice(0, -1);
  const after = JSON.stringify({ type, poolAddress }).slice(1);
  return `${before},"strike":${formatDecimal(strike, 18)},${after}`;
}
