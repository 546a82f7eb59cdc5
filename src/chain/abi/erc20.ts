import { parseAbi } from 'viem';

/** EIP-20 with its optional metadata; amounts are in the token's own decimals. */
export const erc20Abi = parseAbi([
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address holder, address spender) view returns (uint256)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address recipient, uint256 amount) returns (bool)',
  'function transferFrom(address holder, address recipient, uint256 amount) returns (bool)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'error ERC20Base__InsufficientAllowance()',
  'error ERC20Base__MintToZeroAddress()',
  'error ERC20Base__TransferExceedsBalance()',
  'error ERC20Base__TransferToZeroAddress()',
]);
