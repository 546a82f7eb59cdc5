/** Structs that several contracts share, in viem's human-readable form. Field order is part of the encoding. */
export const poolKeyStruct =
  'struct PoolKey { address base; address quote; address oracleAdapter; uint256 strike; uint256 maturity; bool isCallPool; }';

/** What a maker signs; the EIP-712 type `FillQuoteOB` has the same fields in the same order. */
export const quoteObStruct =
  'struct QuoteOB { address provider; address taker; uint256 price; uint256 size; bool isBuy; uint256 deadline; uint256 salt; }';

/** The pool's order of the signature's parts, which is not the stream's. */
export const poolSignatureStruct = 'struct PoolSignature { uint8 v; bytes32 r; bytes32 s; }';

/** The stream's order of the signature's parts, which is not the pool's. */
export const streamSignatureStruct = 'struct StreamSignature { bytes32 r; bytes32 s; uint8 v; }';

/**
 * Changes of one party's means by a fill: collateral in 18 decimals whatever the token's own are, contracts in 1e-18.
 */
export const deltaStruct = 'struct Delta { int256 collateral; int256 longs; int256 shorts; }';
