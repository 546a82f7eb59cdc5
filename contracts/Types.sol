// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// @notice What identifies a pool. The pool's address follows from it alone.
struct PoolKey {
    address base;
    address quote;
    address oracleAdapter;
    uint256 strike; // 1e-18 quote tokens per base token
    uint256 maturity; // Unix seconds
    bool isCallPool;
}

/// @notice What a maker signs (EIP-712 type `FillQuoteOB`).
struct QuoteOB {
    address provider;
    address taker; // zero: anyone may fill
    uint256 price; // 1e-18, normalised: base per contract for calls, premium per strike for puts
    uint256 size; // 1e-18 contracts
    bool isBuy; // the provider's side
    uint256 deadline; // Unix seconds, the last second in which the quote can be filled
    uint256 salt;
}

struct Signature {
    uint8 v;
    bytes32 r;
    bytes32 s;
}

/// @notice What a trade changes for one party; collateral has 18 decimals whatever the token's own are.
struct Delta {
    int256 collateral;
    int256 longs;
    int256 shorts;
}

/// @notice Why a quote can't be filled. The numbers are read outside, so their order is fixed.
enum InvalidQuoteOBError {
    None,
    QuoteOBExpired,
    QuoteOBCancelled,
    QuoteOBOverfilled,
    OutOfBoundsPrice,
    InvalidQuoteOBTaker,
    InvalidQuoteOBSignature,
    InvalidAssetUpdate,
    InsufficientCollateralAllowance,
    InsufficientCollateralBalance,
    InsufficientLongBalance,
    InsufficientShortBalance
}
