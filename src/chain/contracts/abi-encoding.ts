import { createKeccak } from 'hash-wasm';
import { encodeFunctionData, getAbiItem, toFunctionSelector } from 'viem';
import type { Hex, PoolKey, Signature, SignedQuote } from '../../engine/quote.js';
import { orderbookStreamAbi, poolFactoryAbi } from './abi.js';

/** One read of a contract, encoded. */
export interface ContractCall {
  readonly to: Hex;
  readonly data: Hex;
  /** It runs code that anyone may have written, such as a token's: its gas is capped, and `ContractBreaker` watches it. */
  readonly runsForeignCode?: true;
  /**
   * A client chose the contract and its arguments: no `ContractBreaker` watches the call, since a client could make it
   * fail and so close the contract to the checks of quotes.
   */
  readonly isOfClient?: true;
}

/** Answer of a call: the return data (empty where there is no code), or the revert's own data. */
export interface CallResult {
  readonly reverted: boolean;
  readonly data: Hex;
}

/**
 * The ABI encoding of what is sent by the thousand, put together by hand: all of it is static words, and viem, which
 * walks the types and looks at every address's checksum anew, takes fifty times as long (measured: 75 us a quote).
 * Tests compare each with viem's.
 */
const WORD_DIGITS = 64;
const ADDRESS_PADDING = '0'.repeat(24);
const FALSE = '0'.repeat(WORD_DIGITS);
const TRUE = `${'0'.repeat(WORD_DIGITS - 1)}1`;

export function addressWord(address: Hex): string {
  return ADDRESS_PADDING + address.slice(2).toLowerCase();
}

/** Of a number from 0 to 2^256 - 1. */
export function uintWord(value: bigint | number): string {
  return value.toString(16).padStart(WORD_DIGITS, '0');
}

export function boolWord(value: boolean): string {
  return value ? TRUE : FALSE;
}

/** Of 32 bytes. */
export function bytes32Word(value: Hex): string {
  return value.slice(2);
}

/** `PoolKey`: six words. */
export function poolKeyWords({ base, quote, oracleAdapter, strike, maturity, isCallPool }: PoolKey): string {
  return (
    addressWord(base) +
    addressWord(quote) +
    addressWord(oracleAdapter) +
    uintWord(strike) +
    uintWord(maturity) +
    boolWord(isCallPool)
  );
}

/** The seven words that a maker signs, as `QuoteOB` and the stream's `Quote` have them. */
export function termWords(quote: Omit<SignedQuote, 'pool' | 'signature'>): string {
  const { provider, taker, price, size, isBuy, deadline, salt } = quote;
  return (
    addressWord(provider) +
    addressWord(taker) +
    uintWord(price) +
    uintWord(size) +
    boolWord(isBuy) +
    uintWord(deadline) +
    uintWord(salt)
  );
}

/** The stream's order of a signature's parts. */
export function streamSignatureWords({ r, s, v }: Signature): string {
  return bytes32Word(r) + bytes32Word(s) + uintWord(v);
}

/** The pool's order of a signature's parts. */
export function poolSignatureWords({ r, s, v }: Signature): string {
  return uintWord(v) + bytes32Word(r) + bytes32Word(s);
}

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

/** This quote's part of such calldata, as hex digits; it does not depend on the other quotes. */
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

/** Calldata of `PoolFactory.deployPool`. */
export function encodeDeployPool(key: PoolKey): Hex {
  const args = [{ ...key, maturity: BigInt(key.maturity) }] as const;
  return encodeFunctionData({ abi: poolFactoryAbi, functionName: 'deployPool', args });
}

/** The one uint256 that a call gave; null from a revert, or from where no contract answers. */
export function readUint(answer: CallResult | undefined): bigint | null {
  return answer === undefined || answer.reverted || answer.data.length !== 66 ? null : BigInt(answer.data);
}

const keccak = await createKeccak(256);

/** viem's own takes five times as long, which shows in transactions of 90 KB. */
export function keccak256(bytes: Uint8Array): Hex {
  return `0x${keccak.init().update(bytes).digest('hex')}`;
}
