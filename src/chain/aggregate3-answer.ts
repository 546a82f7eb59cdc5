import type { Hex } from '../engine/quote.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { CallResult } from './chain-reader.js';

const WORD_DIGITS = 64;
const WHOLE_BYTES = /^0x(?:[0-9a-f]{2})*$/i;

/**
 * What Multicall3's `aggregate3` returned: an array of `(bool success, bytes returnData)`, each behind an offset. Read
 * by hand, because viem reads it byte by byte: 160 answers take it 10 ms, in which nobody else has a turn. Throws
 * ChainAnswerError where it is anything else than such an array.
 */
export function decodeAggregate3(data: Hex): CallResult[] {
  if (!WHOLE_BYTES.test(data)) throw new ChainAnswerError('An answer of Multicall3 is not in hex');
  const digits = data.slice(2);
  const array = placeAt(digits, 0);
  const count = numberAt(digits, array);
  const items = array + WORD_DIGITS;
  // Each has a word of its own at least, so that no count makes us read beyond the end for long.
  if (items + count * WORD_DIGITS > digits.length) throw cut();
  return Array.from({ length: count }, (_, i) => {
    const item = items + placeAt(digits, items + i * WORD_DIGITS);
    const bytes = item + placeAt(digits, item + WORD_DIGITS);
    const start = bytes + WORD_DIGITS;
    const end = start + 2 * numberAt(digits, bytes);
    if (end > digits.length) throw cut();
    return { reverted: numberAt(digits, item) === 0, data: `0x${digits.slice(start, end)}` as const };
  });
}

/** An offset in bytes, as a count of digits. */
function placeAt(digits: string, at: number): number {
  return 2 * numberAt(digits, at);
}

/** A word that counts something within the answer, or is a flag: more than the answer's length is no such number. */
function numberAt(digits: string, at: number): number {
  if (at + WORD_DIGITS > digits.length) throw cut();
  const value = Number(`0x${digits.slice(at, at + WORD_DIGITS)}`);
  if (value > digits.length) throw cut();
  return value;
}

function cut(): ChainAnswerError {
  return new ChainAnswerError('An answer of Multicall3 ends before what it tells of');
}
