import { BaseError, decodeErrorResult, isHex } from 'viem';
import { contractErrorsAbi } from '../../src/chain/contracts/abi.js';

/** Name of the error that a call to a contract reverts with; `Panic` for overflows. Throws when it does not revert. */
export async function refusal(attempt: Promise<unknown>): Promise<string> {
  const outcome = await attempt.then(
    () => null,
    (error: unknown) => error,
  );
  if (outcome === null) throw new Error('the call was expected to revert, and did not');
  const data = revertData(outcome);
  if (data === null) throw new Error('the call failed without a revert', { cause: outcome });
  return decodeErrorResult({ abi: contractErrorsAbi, data }).errorName;
}

/** The node's answer is the innermost error, and carries what the contract returned. */
function revertData(error: unknown): `0x${string}` | null {
  if (!(error instanceof BaseError)) return null;
  const source = error.walk((cause) => cause instanceof Error && 'data' in cause && isHex(cause.data));
  return source !== null && 'data' in source && isHex(source.data) ? source.data : null;
}
