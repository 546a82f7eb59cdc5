import { parseAbi } from 'viem';
import { POOL_ERRORS } from '../../wire/pool-errors.js';

/** Settlement chain: the one spender that users approve; it moves tokens for pools alone. */
export const erc20RouterAbi = parseAbi([
  'function safeTransferFrom(address token, address from, address to, uint256 amount)',
  'error ERC20Router__NotAuthorized()',
]);

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

/**
 * Errors of libraries that are linked into the contracts: they surface from a pool, a vault or the factory, although
 * no interface of theirs declares them.
 */
const libraryErrorsAbi = parseAbi([
  'error ECDSA__InvalidS()',
  'error ECDSA__InvalidSignature()',
  'error ECDSA__InvalidV()',
  'error OptionMath__NonPositiveVol()',
  'error OptionMath__OutOfBoundsPrice(uint256 min, uint256 max, uint256 price)',
  'error OptionMath__Underflow()',
]);

/** The ERC-1155 part of a pool: id 0 is SHORT, id 1 is LONG, amounts in 1e-18 contracts. */
export const optionTokenAbi = parseAbi([
  'function balanceOf(address account, uint256 id) view returns (uint256)',
  'function balanceOfBatch(address[] accounts, uint256[] ids) view returns (uint256[])',
  'function totalSupply(uint256 id) view returns (uint256)',
  'function isApprovedForAll(address account, address operator) view returns (bool)',
  'function setApprovalForAll(address operator, bool status)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
  'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)',
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
  'event ApprovalForAll(address indexed account, address indexed operator, bool approved)',
  'error ERC1155Base__ArrayLengthMismatch()',
  'error ERC1155Base__BalanceQueryZeroAddress()',
  'error ERC1155Base__BurnExceedsBalance()',
  'error ERC1155Base__ERC1155ReceiverNotImplemented()',
  'error ERC1155Base__ERC1155ReceiverRejected()',
  'error ERC1155Base__MintToZeroAddress()',
  'error ERC1155Base__NotOwnerOrApproved()',
  'error ERC1155Base__SelfApproval()',
  'error ERC1155Base__TransferExceedsBalance()',
  'error ERC1155Base__TransferToZeroAddress()',
]);

export const SHORT = 0n;
export const LONG = 1n;

/** Settlement chain: prices of one token in another, 18 decimals whatever the tokens' own are. */
export const oracleAdapterAbi = parseAbi([
  'function getPrice(address tokenIn, address tokenOut) view returns (uint256)',
  'function getPriceAt(address tokenIn, address tokenOut, uint256 target) view returns (uint256)',
  'error OracleAdapter__InvalidTarget(uint256 target, uint256 blockTimestamp)',
  'error OracleAdapter__PairCannotBeSupported(address tokenA, address tokenB)',
  'error OracleAdapter__PairNotSupported(address tokenA, address tokenB)',
]);

/** Settlement chain: implied volatilities, 18 decimals; times in years of 365 days, 18 decimals. */
export const volatilityOracleAbi = parseAbi([
  'function getVolatility(address token, uint256 spot, uint256 strike, uint256 timeToMaturity) view returns (uint256)',
  'function getVolatility(address token, uint256 spot, uint256[] strike, uint256[] timeToMaturity) view returns (uint256[])',
  'error VolatilityOracle__ArrayLengthMismatch()',
  'error VolatilityOracle__OutOfBounds(int256 value)',
  'error VolatilityOracle__SpotIsZero()',
  'error VolatilityOracle__StrikeIsZero()',
  'error VolatilityOracle__TimeToMaturityIsZero()',
]);

/** Structs that several contracts share, in viem's human-readable form. Field order is part of the encoding. */
const poolKeyStruct =
  'struct PoolKey { address base; address quote; address oracleAdapter; uint256 strike; uint256 maturity; bool isCallPool; }';

/** Signed by a maker; the EIP-712 type `FillQuoteOB` has the same fields in the same order. */
const quoteObStruct =
  'struct QuoteOB { address provider; address taker; uint256 price; uint256 size; bool isBuy; uint256 deadline; uint256 salt; }';

/** The pool's order of the signature's parts, which is not the stream's. */
const poolSignatureStruct = 'struct PoolSignature { uint8 v; bytes32 r; bytes32 s; }';

/** The stream's order of the signature's parts, which is not the pool's. */
const streamSignatureStruct = 'struct StreamSignature { bytes32 r; bytes32 s; uint8 v; }';

/**
 * Changes of one party's funds by a fill: collateral in 18 decimals whatever the token's own are, contracts in 1e-18.
 */
const deltaStruct = 'struct Delta { int256 collateral; int256 longs; int256 shorts; }';

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

/** Settlement chain: one contract a pool key. `_takerFeeLowLevel` is answered by the pools' shared diamond too. */
export const poolAbi = parseAbi([
  quoteObStruct,
  poolSignatureStruct,
  deltaStruct,
  'function getPoolSettings() view returns (address base, address quote, address oracleAdapter, uint256 strike, uint256 maturity, bool isCallPool)',
  'function isQuoteOBValid(address user, QuoteOB quoteOB, uint256 size, PoolSignature sig) view returns (bool, uint8)',
  'function getQuoteOBFilledAmount(address provider, bytes32 quoteOBHash) view returns (uint256)',
  'function fillQuoteOB(QuoteOB quoteOB, uint256 size, PoolSignature signature, address referrer) returns (uint256 premiumTaker, Delta delta)',
  'function cancelQuotesOB(bytes32[] hashes)',
  'function multicall(bytes[] data) returns (bytes[] results)',
  'function takerFee(address taker, uint256 size, uint256 premium, bool isPremiumNormalized, bool isOrderbook) view returns (uint256)',
  'function _takerFeeLowLevel(address taker, uint256 size, uint256 premium, bool isPremiumNormalized, bool isOrderbook, uint256 strike, bool isCallPool) view returns (uint256)',
  'function writeFrom(address underwriter, address longReceiver, uint256 size, address referrer)',
  'function annihilate(uint256 size)',
  'function exercise() returns (uint256 exerciseValue, uint256 exerciseFee)',
  'function settle() returns (uint256 collateral)',
  'function getSettlementPrice() view returns (uint256)',
  'event FillQuoteOB(bytes32 indexed quoteOBHash, address indexed user, address indexed provider, uint256 contractSize, Delta deltaMaker, Delta deltaTaker, uint256 premium, uint256 protocolFee, uint256 totalReferralRebate, bool isBuy)',
  'event CancelQuoteOB(address indexed provider, bytes32 quoteOBHash)',
  'event WriteFrom(address indexed underwriter, address indexed longReceiver, address indexed taker, uint256 contractSize, uint256 collateral, uint256 protocolFee)',
  'event Annihilate(address indexed owner, uint256 contractSize, uint256 fee)',
  'event Exercise(address indexed operator, address indexed holder, uint256 contractSize, uint256 exerciseValue, uint256 settlementPrice, uint256 fee, uint256 operatorCost)',
  'event Settle(address indexed operator, address indexed holder, uint256 contractSize, uint256 exerciseValue, uint256 settlementPrice, uint256 fee, uint256 operatorCost)',
  'event SettlementPriceCached(uint256 settlementPrice)',
  'event ClaimProtocolFees(address indexed feeReceiver, uint256 feesClaimed)',
  ...POOL_ERRORS,
  'error Pool__ActionNotAuthorized(address user, address sender, uint8 action)',
  'error Pool__CostExceedsPayout(uint256 cost, uint256 payout)',
  'error Pool__InsufficientFunds()',
  'error Pool__NotEnoughTokens(uint256 balance, uint256 size)',
  'error Pool__OperatorNotAuthorized(address sender)',
  'error Pool__SettlementFailed()',
]);

/** Settlement chain: prices options against its own funds. Premiums are in the vault asset's own decimals. */
export const vaultAbi = parseAbi([
  poolKeyStruct,
  'function name() view returns (string)',
  'function asset() view returns (address)',
  'function totalAssets() view returns (uint256)',
  'function getQuote(PoolKey poolKey, uint256 size, bool isBuy, address taker) view returns (uint256 premium)',
  'function trade(PoolKey poolKey, uint256 size, bool isBuy, uint256 premiumLimit, address referrer)',
  'event Trade(address indexed user, address indexed pool, uint256 contractSize, bool isBuy, uint256 premium, uint256 takerFee, uint256 makerRebate, uint256 vaultFee)',
  'event UpdateQuotes()',
  'error Vault__AboveMaxSlippage(uint256 totalPremium, uint256 premiumLimit)',
  'error Vault__AddressZero()',
  'error Vault__InsufficientFunds()',
  'error Vault__InsufficientShorts()',
  'error Vault__InvalidSettingsUpdate()',
  'error Vault__InvariantViolated()',
  'error Vault__MaximumAmountExceeded(uint256 maximum, uint256 amount)',
  'error Vault__NotAuthorized()',
  'error Vault__OptionExpired(uint256 timestamp, uint256 maturity)',
  'error Vault__OptionPoolNotListed()',
  'error Vault__OptionTypeMismatchWithVault()',
  'error Vault__OutOfDTEBounds()',
  'error Vault__OutOfDeltaBounds()',
  'error Vault__SellDisabled()',
  'error Vault__SettingsNotFromRegistry()',
  'error Vault__SettingsUpdateIsEmpty()',
  'error Vault__StrikeZero()',
  'error Vault__TradeMustBeBuy()',
  'error Vault__TransferExceedsBalance(uint256 balance, uint256 amount)',
  'error Vault__UtilisationOutOfBounds()',
  'error Vault__ZeroAsset()',
  'error Vault__ZeroShares()',
  'error Vault__ZeroSize()',
]);

/** Every named error that a call of ours can come back with, whichever contract further down raised it. */
export const contractErrorsAbi = [
  ...poolAbi,
  ...optionTokenAbi,
  ...poolFactoryAbi,
  ...vaultAbi,
  ...erc20Abi,
  ...erc20RouterAbi,
  ...oracleAdapterAbi,
  ...volatilityOracleAbi,
  ...libraryErrorsAbi,
].filter((item) => item.type === 'error');

/** Multicall3 (https://www.multicall3.com): many view calls in one `eth_call`, each allowed to fail alone. */
export const multicall3Abi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
  'function getBlockNumber() view returns (uint256 blockNumber)',
  'function getCurrentBlockTimestamp() view returns (uint256 timestamp)',
]);

/** Stream chain: publishing a quote is calling `add`; anyone may call it, with anything in it. */
export const orderbookStreamAbi = parseAbi([
  poolKeyStruct,
  streamSignatureStruct,
  'struct StreamQuote { PoolKey poolKey; address provider; address taker; uint256 price; uint256 size; bool isBuy; uint256 deadline; uint256 salt; StreamSignature signature; }',
  'function add(StreamQuote[] quote)',
  'event PublishQuote(PoolKey indexed poolKeyHash, address indexed provider, address taker, uint256 price, uint256 size, bool isBuy, uint256 deadline, uint256 salt, StreamSignature signature, PoolKey poolKey)',
]);
