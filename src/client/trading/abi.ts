import { parseAbi } from 'viem';
import { POOL_ERRORS } from '../../wire/pool-errors.js';

/** The part of a pool's interface that the kit uses. Tests compare it with the service's own declarations. */
export const tradedPoolAbi = parseAbi([
  'struct QuoteOB { address provider; address taker; uint256 price; uint256 size; bool isBuy; uint256 deadline; uint256 salt; }',
  'struct PoolSignature { uint8 v; bytes32 r; bytes32 s; }',
  'struct Delta { int256 collateral; int256 longs; int256 shorts; }',
  'function fillQuoteOB(QuoteOB quoteOB, uint256 size, PoolSignature signature, address referrer) returns (uint256 premiumTaker, Delta delta)',
  'function cancelQuotesOB(bytes32[] hashes)',
  'function getQuoteOBFilledAmount(address provider, bytes32 quoteOBHash) view returns (uint256)',
  'function _takerFeeLowLevel(address taker, uint256 size, uint256 premium, bool isPremiumNormalized, bool isOrderbook, uint256 strike, bool isCallPool) view returns (uint256)',
  'function exercise() returns (uint256 exerciseValue, uint256 exerciseFee)',
  'function settle() returns (uint256 collateral)',
  'function balanceOf(address account, uint256 id) view returns (uint256)',
  'function getPoolSettings() view returns (address base, address quote, address oracleAdapter, uint256 strike, uint256 maturity, bool isCallPool)',
  'event FillQuoteOB(bytes32 indexed quoteOBHash, address indexed user, address indexed provider, uint256 contractSize, Delta deltaMaker, Delta deltaTaker, uint256 premium, uint256 protocolFee, uint256 totalReferralRebate, bool isBuy)',
  'event Exercise(address indexed operator, address indexed holder, uint256 contractSize, uint256 exerciseValue, uint256 settlementPrice, uint256 fee, uint256 operatorCost)',
  'event Settle(address indexed operator, address indexed holder, uint256 contractSize, uint256 exerciseValue, uint256 settlementPrice, uint256 fee, uint256 operatorCost)',
  ...POOL_ERRORS,
  'error ERC20Base__InsufficientAllowance()',
  'error ERC20Base__TransferExceedsBalance()',
  'error ERC1155Base__BurnExceedsBalance()',
]);

/** EIP-20; amounts are in the token's own decimals. */
export const collateralTokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address holder, address spender) view returns (uint256)',
  'function approve(address spender, uint256 amount) returns (bool)',
]);

/** Ids of a pool's ERC-1155 tokens. */
export const SHORT_ID = 0n;
export const LONG_ID = 1n;

/** The one spender that takers and makers approve, by settlement chain. A local chain has its own, in its ready file. */
export const ERC20_ROUTERS = {
  '42161': '0xDEfBBAc44F2088a70b648E1231b2cA9683774c48',
  '421613': '0x0Aa81977BC19A11abe7eC61016A629f989b85513',
} as const;
