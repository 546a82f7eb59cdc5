import { parseAbi } from 'viem';

/** Settlement chain: prices of one token in another, 18 decimals whatever the tokens' own are. */
export const oracleAdapterAbi = parseAbi([
  'function getPrice(address tokenIn, address tokenOut) view returns (uint256)',
  'function getPriceAt(address tokenIn, address tokenOut, uint256 target) view returns (uint256)',
  'error OracleAdapter__InvalidTarget(uint256 target, uint256 blockTimestamp)',
  'error OracleAdapter__PairCannotBeSupported(address tokenA, address tokenB)',
  'error OracleAdapter__PairNotSupported(address tokenA, address tokenB)',
]);
