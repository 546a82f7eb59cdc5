const OUT_OF_GAS = 'out ?of ?gas|gas required exceeds|gas uint64 overflow|execution aborted|execution timeout';
const BAD_CODE = 'invalid opcode|invalid code|invalid jump|stack underflow|stack limit|max call depth';
const BAD_DEED =
  'write protection|return data out of bounds|insufficient balance for transfer|EVM error|VM execution error';
const BROKE = new RegExp(`${OUT_OF_GAS}|${BAD_CODE}|${BAD_DEED}`, 'i');

/** In place of an answer to a call that would be longer than is read of one. */
export const RETURN_TOO_LONG = 'more was returned than is read';

/**
 * Whether a node's error says that the code which was called broke: an answer of the chain, the same from every node,
 * and no trouble of this one's. Neither geth nor anvil gives it a code of its own: the words are those of geth's
 * `core/vm/errors.go`, anvil's "EVM error" and older Nethermind's "VM execution error".
 */
export function isBrokenCall(message: string): boolean {
  return message === RETURN_TOO_LONG || BROKE.test(message);
}
