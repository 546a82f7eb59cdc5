import type { Hex } from '../engine/quote.js';
import type { Fees } from './fees.js';

/** A transaction of EIP-1559 that sends no money and names no storage. */
export interface TxTerms extends Fees {
  readonly chainId: number;
  readonly nonce: number;
  readonly to: Hex;
  readonly data: Hex;
  /** Gas limit. */
  readonly gas: bigint;
}

export interface TxSignature {
  readonly r: Hex;
  readonly s: Hex;
  /** 0 or 1. */
  readonly yParity: number;
}

/** EIP-2718 type of EIP-1559's transactions. */
const TX_TYPE = 2;
/** Strings and lists of up to so many bytes have their length in their first byte (RLP: Yellow Paper, appendix B). */
const SHORT_BYTES = 55;
const STRING = 0x80;
const LIST = 0xc0;
const NOTHING = Buffer.alloc(0);

/**
 * The fields that are signed, which both forms below have at their head. As bytes: viem puts a transaction together out
 * of pieces of hex, which takes 4 ms for one of 90 KB, twice, and leaves some of the longest turns' garbage; this takes
 * 0.1 ms. A test compares both.
 */
export function txFields({ chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, data }: TxTerms): Buffer {
  const numbers = [chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas].map((number) => string(digits(number)));
  const accessList = list(NOTHING);
  return Buffer.concat([...numbers, string(bytesOf(to)), string(NOTHING), string(bytesOf(data)), accessList]);
}

/** What the signature is over. */
export function unsignedTx(fields: Buffer): Buffer {
  return typed(fields);
}

/** What nodes take. */
export function signedTx(fields: Buffer, { yParity, r, s }: TxSignature): Buffer {
  const numbers = [yParity, BigInt(r), BigInt(s)].map((number) => string(digits(number)));
  return typed(Buffer.concat([fields, ...numbers]));
}

function typed(fields: Buffer): Buffer {
  return Buffer.concat([Buffer.of(TX_TYPE), list(fields)]);
}

function string(bytes: Buffer): Buffer {
  const [first] = bytes;
  const isItself = bytes.length === 1 && first !== undefined && first < STRING;
  return isItself ? bytes : Buffer.concat([head(STRING, bytes.length), bytes]);
}

function list(items: Buffer): Buffer {
  return Buffer.concat([head(LIST, items.length), items]);
}

function head(kind: number, length: number): Buffer {
  if (length <= SHORT_BYTES) return Buffer.of(kind + length);
  const size = digits(length);
  return Buffer.concat([Buffer.of(kind + SHORT_BYTES + size.length), size]);
}

/** The shortest there is: 0 has none. */
function digits(number: number | bigint): Buffer {
  if (BigInt(number) === 0n) return NOTHING;
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
}

function bytesOf(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}
