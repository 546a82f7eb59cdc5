import { encodeFunctionData } from 'viem';
import type { Hex } from '../../engine/quote.js';
import { erc20Abi, optionTokenAbi } from './abi.js';
import type { ContractCall } from './abi-encoding.js';

/** Balance of an ERC-20 token, in its smallest units. */
export function balanceCall(to: Hex, account: Hex): ContractCall {
  return { to, data: encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [account] }) };
}

/** Allowance of a spender over the holder's ERC-20 tokens, in their smallest units. */
export function allowanceCall(to: Hex, holder: Hex, spender: Hex): ContractCall {
  return { to, data: encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args: [holder, spender] }) };
}

/** Decimals of an ERC-20 token. */
export function decimalsCall(to: Hex): ContractCall {
  return { to, data: encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' }) };
}

/** Contracts that the account holds in a pool, 1e-18. `id`: LONG or SHORT. */
export function positionCall(pool: Hex, account: Hex, id: bigint): ContractCall {
  return {
    to: pool,
    data: encodeFunctionData({ abi: optionTokenAbi, functionName: 'balanceOf', args: [account, id] }),
  };
}
