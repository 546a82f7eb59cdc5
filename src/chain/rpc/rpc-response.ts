import type { Hex } from '../../engine/quote.js';
import { RpcError, RpcUnreachable } from './rpc-errors.js';

/** Some use the code of a rate limit for a query that matches too many logs, which the asker has to halve. */
export function isRangeTooLarge(method: string, { message }: RpcError): boolean {
  return method === 'eth_getLogs' && /results|range|response (size|is too big)|too large|query timeout/i.test(message);
}

/** Some say so with an HTTP status of a failure: QuickNode with 413, gateways with 500. Null: it says anything else. */
export function rangeErrorIn(text: string, method: string): RpcError | null {
  const refusal = refusalIn(parsed(text));
  return refusal !== null && isRangeTooLarge(method, refusal) ? refusal : null;
}

/** The result that answers the request of that id. Throws RpcError where it is refused, RpcUnreachable on anything else. */
export function readResponse(text: string, id: number, method: string): unknown {
  const answer = parsed(text);
  if (typeof answer !== 'object' || answer === null)
    throw new RpcUnreachable(`The answer to ${method} is no JSON object`);
  const { id: idOfAnswer = null } = answer as { id?: unknown };
  const refusal = refusalIn(answer);
  // Null where the request could not be read; with another id it is another request that is refused.
  if (refusal !== null && (idOfAnswer === null || idOfAnswer === id)) throw refusal;
  if (!('result' in answer) || idOfAnswer !== id) throw new RpcUnreachable(`The answer to ${method} is not JSON-RPC`);
  return answer.result;
}

/** Undefined where it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusalIn(answer: unknown): RpcError | null {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return null;
  if (answer.error === null || typeof answer.error !== 'object') return null;
  const { code, message, data } = answer.error as { code?: unknown; message?: unknown; data?: unknown };
  return new RpcError(Number(code), beginning(message) ?? 'Unknown error', beginning(data));
}

/** Both are logged: a node may echo what it was asked, or say megabytes. All errors of our contracts are shorter. */
const MOST_CHARS = 2_000;

function beginning(text: unknown): string | null {
  return typeof text === 'string' ? text.slice(0, MOST_CHARS) : null;
}

/** Lower-case hex digits of any number, as JSON-RPC has them (its DATA). Throws ChainAnswerError on anything else. */
export function readHex(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]*$/.test(value)) throw new ChainAnswerError('Hex digits expected');
  return value.toLowerCase() as Hex;
}

/** Of blocks and transactions; topics are as long. */
export const HASH_BYTES = 32;

/**
 * As `readHex`, of just so many bytes. Hashes and addresses go into the log, which has fixed places for them: one of
 * another length would end the process there.
 */
export function readBytes(value: unknown, bytes: number): Hex {
  const hex = readHex(value);
  if (hex.length !== 2 + 2 * bytes) throw new ChainAnswerError(`${bytes} bytes in hex expected`);
  return hex;
}

/** A whole number up to 2^53 - 1 (a QUANTITY). Throws ChainAnswerError on anything else. */
export function readQuantity(value: unknown): number {
  const number = Number(readHex(value));
  if (!Number.isSafeInteger(number)) throw new ChainAnswerError('A number is out of range');
  return number;
}

/** Of 2^256 - 1: no word of the EVM counts more. A node could fill an answer with one number, which takes seconds to print. */
const WORD_DIGITS = 64;

/** As `readQuantity`, up to 2^256 - 1: wei and gas. */
export function readWideQuantity(value: unknown): bigint {
  const digits = readHex(value);
  if (digits === '0x') throw new ChainAnswerError('A number has no digits');
  if (digits.length > 2 + WORD_DIGITS) throw new ChainAnswerError('A number is out of range');
  return BigInt(digits);
}

/** The year 9999 ends then: no date has a later one, and in milliseconds it is still a whole number. */
const LAST_SECOND = 253_402_300_799;

/** A block's time, Unix seconds: what engine time follows, and quotes are dated by. */
export function readTime(value: unknown): number {
  const seconds = readQuantity(value);
  if (seconds > LAST_SECOND) throw new ChainAnswerError('A time is out of range');
  return seconds;
}

/** Result of `decode` for a contract's answer. Throws ChainAnswerError if `decode` throws: the node's fault, no bug. */
export function decodeOrThrow<T>(decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    throw new ChainAnswerError('The answer of a contract is not of its form', { cause });
  }
}

/** A chain said something that cannot be: a null block, a log without its place. */
export class ChainAnswerError extends Error {
  override readonly name = 'ChainAnswerError';
}
