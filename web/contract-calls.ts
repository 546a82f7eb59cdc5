import { decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem';
import type { CoverTerms } from 'quotebook/client';
import type { Call, Wallet } from './wallet.js';

const tokenAbi = parseAbi([
  'function allowance(address holder, address spender) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function approve(address spender, uint256 amount) returns (bool)',
]);
const poolAbi = parseAbi([
  'function cancelQuotesOB(bytes32[] hashes)',
  'function getQuoteOBFilledAmount(address provider, bytes32 quoteOBHash) view returns (uint256)',
  'function exercise() returns (uint256 exerciseValue, uint256 exerciseFee)',
  'function settle() returns (uint256 collateral)',
]);

/** In the token's smallest units. */
export async function allowanceOf(wallet: Wallet, token: Hex, spender: Hex): Promise<bigint> {
  const args = [wallet.address, spender] as const;
  const data = await wallet.read({
    to: token,
    data: encodeFunctionData({ abi: tokenAbi, functionName: 'allowance', args }),
  });
  return decodeFunctionResult({ abi: tokenAbi, functionName: 'allowance', data });
}

/** Of the token's amounts. */
export async function tokenDecimals(wallet: Wallet, token: Hex): Promise<number> {
  const data = await wallet.read({
    to: token,
    data: encodeFunctionData({ abi: tokenAbi, functionName: 'decimals' }),
  });
  return decodeFunctionResult({ abi: tokenAbi, functionName: 'decimals', data });
}

export function approveCall(token: Hex, spender: Hex, amount: bigint): Call {
  return { to: token, data: encodeFunctionData({ abi: tokenAbi, functionName: 'approve', args: [spender, amount] }) };
}

/** Fills a cover, all of it or nothing, in one transaction; before, approves what it takes where the allowance is less. */
export async function fillCover(
  wallet: Wallet,
  { approval, bundle, legs }: CoverTerms,
  onSent: (hash: Hex) => void,
): Promise<Hex> {
  const call = bundle ?? legs[0]?.call;
  if (approval === null || call === undefined) throw new Error('Nothing in the book covers it');
  const { token, spender, amount } = approval;
  if ((await allowanceOf(wallet, token, spender)) < BigInt(amount)) {
    await wallet.send(approveCall(token, spender, BigInt(amount)), onSent);
  }
  return wallet.send(call, onSent);
}

/** 1e-18 contracts that are filled of a quote of the wallet; 2^256 - 1: it is cancelled. */
export async function takenOf(wallet: Wallet, poolAddress: Hex, quoteId: Hex): Promise<bigint> {
  const functionName = 'getQuoteOBFilledAmount';
  const args = [wallet.address, quoteId] as const;
  const data = await wallet.read({ to: poolAddress, data: encodeFunctionData({ abi: poolAbi, functionName, args }) });
  // The pool is not deployed: nothing of it can have been filled.
  return data === '0x' ? 0n : decodeFunctionResult({ abi: poolAbi, functionName, data });
}

/** Any id of the wallet's own quotes may be named, also of one that nobody can fill any more. */
export function cancelCall(poolAddress: string, quoteIds: readonly Hex[]): Call {
  return {
    to: poolAddress,
    data: encodeFunctionData({ abi: poolAbi, functionName: 'cancelQuotesOB', args: [quoteIds] }),
  };
}

/** Ends a position of an expired option: longs are exercised, shorts are settled. */
export function closeCall(poolAddress: string, exposure: 'LONG' | 'SHORT'): Call {
  const functionName = exposure === 'LONG' ? ('exercise' as const) : ('settle' as const);
  return { to: poolAddress, data: encodeFunctionData({ abi: poolAbi, functionName }) };
}

/** The largest allowance. */
export const ANY_AMOUNT = 2n ** 256n - 1n;
