import type { Hex } from '../engine/quote.js';
import { ChainAnswerError } from './chain-answer-error.js';

/** Lower-case hex digits of any number, as JSON-RPC has them (its DATA). Throws ChainAnswerError on anything else. */
export function readHex(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]*$/.test(value)) throw new ChainAnswerError('Hex digits expected');
  return value.toLowerCase() as Hex;
}

/** A whole number up to 2^53 - 1 (a QUANTITY). Throws ChainAnswerError on anything else. */
export function readQuantity(value: unknown): number {
  const number = Number(readHex(value));
  if (!Number.isSafeInteger(number)) throw new ChainAnswerError('A number is out of range');
  return number;
}

/** As `readQuantity`, of any size: wei and gas. */
export function readWideQuantity(value: unknown): bigint {
  const digits = readHex(value);
  if (digits === '0x') throw new ChainAnswerError('A number has no digits');
  return BigInt(digits);
}
