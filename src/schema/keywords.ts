import { MAX_UINT256, UINT256_DIGITS, formatDecimal, parseDecimal } from './decimal.js';

/** What a keyword of our own says of a value that breaks it, in the shape of AJV's errors. */
export interface KeywordRefusal {
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export const KEYWORD_NAMES = ['uint256', 'fixed18', 'positive', 'safeUint'] as const;
export type KeywordName = (typeof KEYWORD_NAMES)[number];

/**
 * Keywords beyond JSON Schema's own. They judge only what the schema's other keywords let pass (a text that is no
 * number at all is the pattern's business) and answer null when there is nothing to say.
 */
export const keywords: Readonly<Record<KeywordName, (value: string | number) => KeywordRefusal | null>> = {
  /** A whole number in decimal digits, at most 2^256 - 1. */
  uint256(value) {
    const text = String(value);
    if (text.length < UINT256_DIGITS) return null;
    const units = parseDecimal(text, 0);
    return units === 'TOO_LARGE' ? tooLarge(MAX_UINT256.toString()) : null;
  },
  /**
   * A decimal number that is a whole number of 1e-18 units and fits in 256 bits. For a JSON number stands its shortest
   * text (ECMAScript `Number::toString`, which reads back as the same number): so 0.1 is a tenth, and no float is
   * computed with.
   */
  fixed18(value) {
    const units = parseDecimal(String(value), 18);
    if (units === 'TOO_LARGE') return tooLarge(formatDecimal(MAX_UINT256, 18));
    if (units === 'TOO_PRECISE') return { params: { limit: 18 }, message: 'must NOT have more than 18 decimals' };
    return null;
  },
  /** A decimal text that says a number above zero: some digit of it is not 0. */
  positive(value) {
    return /^[0.]+$/.test(String(value)) ? { params: { comparison: '>', limit: 0 }, message: 'must be > 0' } : null;
  },
  /** A whole number in decimal digits, at most 2^53 - 1: it becomes a JSON number, which is not exact above that. */
  safeUint(value) {
    return Number(value) > Number.MAX_SAFE_INTEGER ? tooLarge(String(Number.MAX_SAFE_INTEGER)) : null;
  },
};

function tooLarge(limit: string): KeywordRefusal {
  return { params: { comparison: '<=', limit }, message: `must be <= ${limit}` };
}
