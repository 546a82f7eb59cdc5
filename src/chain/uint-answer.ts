import type { CallResult } from './chain-reader.js';

/** The one uint256 that a call gave; null from a revert, or from where no contract answers. */
export function readUint(answer: CallResult | undefined): bigint | null {
  return answer === undefined || answer.reverted || answer.data.length !== 66 ? null : BigInt(answer.data);
}
