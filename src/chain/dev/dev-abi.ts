import { parseAbi } from 'viem';

/** What only the local chain's contracts have: whatever anyone may set there, and nobody on a real chain. */
export const testTokenAbi = parseAbi([
  'function mint(address to, uint256 amount)',
  'function mintAll(address[] to, uint256 amount)',
]);

export const priceOracleAbi = parseAbi([
  'function usdPrice(address token) view returns (uint256)',
  'function setUsdPrice(address token, uint256 price)',
  'function setPriceAt(address tokenIn, address tokenOut, uint256 target, uint256 price)',
]);

export const discountsAbi = parseAbi([
  'function getDiscount(address taker) view returns (uint256)',
  'function setDiscount(address taker, uint256 discount)',
]);

export const lockableAbi = parseAbi(['function setLocked(address account, uint256 id, uint256 amount)']);
