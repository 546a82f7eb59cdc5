import { getAbiItem, toFunctionSelector } from 'viem';
import type { Hex, SignedQuote } from '../engine/quote.js';
import { poolKeyWords, streamSignatureWords, termWords, uintWord } from './abi-words.js';
import { orderbookStreamAbi } from './abi/orderbook-stream.js';

/**
 * One quote in `add`'s calldata: 16 words; before them the selector, the array's offset and its length (ABI
 * specification).
 */
const QUOTE_BYTES = 16 * 32;
const CALL_BYTES = 4 + 2 * 32;
const HEX_PREFIX = '0x'.length;

/** How many quotes one call of `OrderbookStream.add` holds in so many bytes of calldata; one at least. */
export function quotesIn(bytes: number): number {
  return Math.max(1, Math.floor((bytes - CALL_BYTES) / QUOTE_BYTES));
}

const ADD_SELECTOR = toFunctionSelector(getAbiItem({ abi: orderbookStreamAbi, name: 'add' }));
/** Where the array begins, from behind the selector: after this one word. */
const ARRAY_OFFSET = uintWord(32);

/** Calldata of `OrderbookStream.add`. */
export function encodeAdd(quotes: readonly SignedQuote[]): Hex {
  return `${ADD_SELECTOR}${ARRAY_OFFSET}${uintWord(quotes.length)}${quotes.map(quoteDigits).join('')}`;
}

/** What such calldata has of this quote in it: hex digits, and the same in whatever company it is. */
export function quoteDigits(quote: SignedQuote): string {
  return poolKeyWords(quote.pool.poolKey) + termWords(quote) + streamSignatureWords(quote.signature);
}

/** Of each quote in such calldata; none where it is of another call. */
export function quotesDigits(data: Hex): string[] {
  if (!data.startsWith(ADD_SELECTOR)) return [];
  const start = HEX_PREFIX + 2 * CALL_BYTES;
  const each = 2 * QUOTE_BYTES;
  const count = Math.max(0, Math.floor((data.length - start) / each));
  return Array.from({ length: count }, (_, i) => data.slice(start + i * each, start + (i + 1) * each));
}
