import { decodeFunctionData, encodeErrorResult, encodeFunctionResult } from 'viem';
import type { CallResult, ContractCall } from '../../src/chain/contracts/abi-encoding.js';
import { contractErrorsAbi, poolFactoryAbi } from '../../src/chain/contracts/abi.js';
import type { Hex } from '../../src/engine/quote.js';

type ErrorName = (typeof contractErrorsAbi)[number]['name'];

/** A revert with an error that has no arguments. */
export function revertWith(errorName: ErrorName): Hex {
  return encodeErrorResult({ abi: contractErrorsAbi, errorName });
}

/** The address that the fake factory gives a strike: any would do, but each its own. */
export function addressOfStrike(strike: bigint): Hex {
  return `0x${strike.toString(16).padStart(40, '0')}`;
}

/** `getPoolAddress` of a factory that knows which strikes are deployed, and which are impossible. */
export function answerAsFactory({ data }: ContractCall, deployed: readonly bigint[], impossible: bigint): CallResult {
  const { functionName, args } = decodeFunctionData({ abi: poolFactoryAbi, data });
  if (functionName !== 'getPoolAddress') throw new Error(`the factory was asked for ${functionName}`);
  const [{ strike }] = args;
  if (strike === impossible) return { reverted: true, data: revertWith('PoolFactory__OptionStrikeEqualsZero') };
  const result = [addressOfStrike(strike), deployed.includes(strike)] as const;
  return { reverted: false, data: encodeFunctionResult({ abi: poolFactoryAbi, functionName, result }) };
}
