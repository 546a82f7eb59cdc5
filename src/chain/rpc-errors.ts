import { isBrokenCall } from './broken-call.js';

/** The node's own answer: a JSON-RPC error object (EIP-1474 codes). */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  constructor(
    /** NaN where the node gave none. */
    readonly code: number,
    message: string,
    readonly data: unknown,
  ) {
    super(message);
  }
}

/** No endpoint gave an answer: a connection, a timeout, an HTTP status, or something that is not JSON-RPC. */
export class RpcUnreachable extends Error {
  override readonly name: string = 'RpcUnreachable';
}

/** The endpoint is of another chain than it should be. */
export class WrongChain extends RpcUnreachable {
  override readonly name = 'WrongChain';
}

/** More was asked than the node answers just now (EIP-1474; some use the number of HTTP). */
const LIMIT_CODES = new Set([-32005, 429]);
/** Many have a code of their own for it: QuickNode, Ankr, proxyd; nodes pass on the words of whom they ask. */
const LIMIT_WORDS = /too many requests|rate.?limit|request limit reached|limited to \d+\/\w/i;
/** A node that is broken inside. Another try, perhaps elsewhere, may cure it, as it may a limit. */
const INTERNAL_ERROR = -32603;

/**
 * Whether the same request may be answered at another time. Some nodes give broken code the number of a fault of their
 * own.
 */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof RpcError) || isBrokenCall(error.message)) return false;
  return error.code === INTERNAL_ERROR || isLimit(error);
}

/**
 * The node gave no answer because it was asked too much: it may well know one. Any contract may revert with the words
 * of a limit, which no other node would answer otherwise.
 */
export function isLimit({ code, message }: RpcError): boolean {
  return LIMIT_CODES.has(code) || (LIMIT_WORDS.test(message) && !/revert/i.test(message));
}
