import { parseAbi } from 'viem';
import { poolKeyStruct } from './structs.js';

/** Settlement chain: from a pool's key to its address, and the pool's deployment. */
export const poolFactoryAbi = parseAbi([
  poolKeyStruct,
  'function getPoolAddress(PoolKey k) view returns (address pool, bool isDeployed)',
  'function deployPool(PoolKey k) payable returns (address poolAddress)',
  'function initializationFee(PoolKey k) view returns (uint256)',
  'function isPool(address contractAddress) view returns (bool)',
  'event PoolDeployed(address indexed base, address indexed quote, address oracleAdapter, uint256 strike, uint256 maturity, bool isCallPool, address poolAddress)',
  'error PoolFactory__IdenticalAddresses()',
  'error PoolFactory__OptionExpired(uint256 maturity)',
  'error PoolFactory__OptionMaturityExceedsMax(uint256 maturity)',
  'error PoolFactory__OptionMaturityNot8UTC(uint256 maturity)',
  'error PoolFactory__OptionMaturityNotFriday(uint256 maturity)',
  'error PoolFactory__OptionMaturityNotLastFriday(uint256 maturity)',
  'error PoolFactory__OptionStrikeEqualsZero()',
  'error PoolFactory__OptionStrikeInvalid(uint256 strike, uint256 strikeInterval)',
  'error PoolFactory__PoolAlreadyDeployed(address poolAddress)',
  'error PoolFactory__TransferNativeTokenFailed()',
  'error PoolFactory__ZeroAddress()',
]);
