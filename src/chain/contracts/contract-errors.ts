import { decodeErrorResult, parseAbiItem, toFunctionSelector } from 'viem';
import { formatAbiItem } from 'viem/utils';
import type { Hex } from '../../engine/quote.js';
import { RpcError, RpcUnreachable } from '../rpc/rpc-errors.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';
import { contractErrorsAbi } from './abi.js';

const ERROR_STRING = parseAbiItem('error Error(string)');
const PANIC = parseAbiItem('error Panic(uint256)');
const SELECTOR_DIGITS = '0x12345678'.length;

/** Names by selectors: viem hashes the whole ABI for each revert, and strangers can cause reverts by the thousand. */
const NAMES: ReadonlyMap<string, string> = new Map(
  [...contractErrorsAbi, ERROR_STRING, PANIC].map((error) => [toFunctionSelector(formatAbiItem(error)), error.name]),
);

/** Name of the error that a contract reverted with; null when it has none that is known. */
export function revertName(data: Hex): string | null {
  return NAMES.get(data.slice(0, SELECTOR_DIGITS)) ?? null;
}

/** A revert in words: its name, or Solidity's own text (`require` with a message), or that it said nothing. */
export function revertText(data: Hex): string {
  if (data === '0x') return 'Reverted without a reason';
  const name = revertName(data) ?? `Reverted with the unknown error ${data.slice(0, SELECTOR_DIGITS)}`;
  return name === ERROR_STRING.name ? (requireText(data) ?? name) : name;
}

/** Null where it is not of its form. */
function requireText(data: Hex): string | null {
  try {
    return decodeErrorResult({ abi: [ERROR_STRING], data }).args[0];
  } catch {
    return null;
  }
}

/** The chain gave no answer that can be used, which says nothing of what was asked. */
export function isChainFailure(error: unknown): error is Error {
  return error instanceof RpcUnreachable || error instanceof RpcError || error instanceof ChainAnswerError;
}

/** Does the work; `otherwise` if the chain fails. */
export async function unlessChainFails<T, const F>(work: () => Promise<T>, otherwise: F): Promise<T | F> {
  try {
    return await work();
  } catch (error) {
    if (isChainFailure(error)) return otherwise;
    throw error;
  }
}

/** A failure of the chain in words for clients; any other error is a bug and is thrown again. */
export function chainFailureText(error: unknown): string {
  if (error instanceof RpcUnreachable) return 'The chain does not answer';
  if (isChainFailure(error)) return `The chain refuses: ${failureSummary(error)}`;
  throw error;
}

/**
 * Text of a failure without a node's own words, which are for the operator: they may name his account with a provider,
 * or the key to it, and be of any length.
 */
export function failureSummary(failure: Error): string {
  if (!(failure instanceof RpcError)) return failure.message;
  return Number.isNaN(failure.code) ? 'a node gave an error' : `a node gave error ${failure.code}`;
}
