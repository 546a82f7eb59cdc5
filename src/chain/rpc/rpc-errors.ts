const OUT_OF_GAS = 'out ?of ?gas|gas required exceeds|gas uint64 overflow|execution aborted|execution timeout';
const BAD_CODE = 'invalid opcode|invalid code|invalid jump|stack underflow|stack limit|max call depth';
const BAD_ACCESS =
  'write protection|return data out of bounds|insufficient balance for transfer|EVM error|VM execution error';
const EXECUTION_ERROR = new RegExp(`${OUT_OF_GAS}|${BAD_CODE}|${BAD_ACCESS}`, 'i');

/** In place of an answer to a call that would be longer than is read of one. */
export const RETURN_TOO_LONG = 'more was returned than is read';

/**
 * Whether a node's error says that the code which was called broke: an answer of the chain, the same from every node,
 * and no trouble of this one's. Neither geth nor anvil gives it a code of its own: the words are those of geth's
 * `core/vm/errors.go`, anvil's "EVM error" and older Nethermind's "VM execution error".
 */
export function isExecutionError(message: string): boolean {
  return message === RETURN_TOO_LONG || EXECUTION_ERROR.test(message);
}

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
export function isTransient(error: unknown): boolean {
  if (!(error instanceof RpcError) || isExecutionError(error.message)) return false;
  return error.code === INTERNAL_ERROR || isRateLimit(error);
}

/**
 * The node gave no answer because it was asked too much: it may well know one. Any contract may revert with the words
 * of a limit, which no other node would answer otherwise.
 */
export function isRateLimit({ code, message }: RpcError): boolean {
  return LIMIT_CODES.has(code) || (LIMIT_WORDS.test(message) && !/revert/i.test(message));
}
