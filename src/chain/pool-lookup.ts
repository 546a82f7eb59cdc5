import type { Hex, PoolKey } from '../engine/quote.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { CallResult, ChainReader } from './chain-reader.js';
import { revertText } from './contract-errors.js';
import { decodeGetPoolAddress, encodeGetPoolAddress } from './pool-addresses.js';

/** What the factory says of a key now. */
export type FoundPool =
  | { readonly type: 'FOUND'; readonly poolAddress: Hex; readonly isDeployed: boolean }
  /** There is no such pool and none can be deployed; the factory's error by name. */
  | { readonly type: 'IMPOSSIBLE'; readonly reason: string };

/**
 * By the very objects of `keys`. A pool that exists is found whatever its date: the factory judges only keys of new
 * ones.
 */
export async function lookUpPools(
  reader: Pick<ChainReader, 'multicall'>,
  poolFactory: Hex,
  keys: readonly PoolKey[],
): Promise<Map<PoolKey, FoundPool>> {
  const answers = await reader.multicall(keys.map((key) => ({ to: poolFactory, data: encodeGetPoolAddress(key) })));
  return new Map(keys.map((key, i) => [key, readAnswer(answers[i], poolFactory)]));
}

function readAnswer(answer: CallResult | undefined, poolFactory: Hex): FoundPool {
  if (answer === undefined) throw new ChainAnswerError('Fewer answers came than were asked for');
  const { reverted, data } = answer;
  if (reverted) return { type: 'IMPOSSIBLE', reason: revertText(data) };
  return { type: 'FOUND', ...decodeGetPoolAddress(data, poolFactory) };
}
