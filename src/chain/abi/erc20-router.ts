import { parseAbi } from 'viem';

/** Settlement chain: the one spender that users approve; it moves tokens for pools alone. */
export const erc20RouterAbi = parseAbi([
  'function safeTransferFrom(address token, address from, address to, uint256 amount)',
  'error ERC20Router__NotAuthorized()',
]);
