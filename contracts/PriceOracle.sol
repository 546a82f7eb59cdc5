// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {FixedPoint} from "./FixedPoint.sol";

/// @notice An oracle with prices that anyone may set: this is a local chain.
contract PriceOracle {
    using FixedPoint for uint256;

    error OracleAdapter__InvalidTarget(uint256 target, uint256 blockTimestamp);
    error OracleAdapter__PairCannotBeSupported(address tokenA, address tokenB);
    error OracleAdapter__PairNotSupported(address tokenA, address tokenB);

    /// @notice US dollars per token, 18 decimals.
    mapping(address token => uint256) public usdPrice;
    mapping(address tokenIn => mapping(address tokenOut => mapping(uint256 time => uint256))) private priceAt;

    function setUsdPrice(address token, uint256 price) external {
        usdPrice[token] = price;
    }

    /// @notice The prices of several tokens in one transaction, so that no block shows only some of them.
    function setUsdPrices(address[] calldata tokens, uint256[] calldata prices) external {
        require(tokens.length == prices.length, "PriceOracle: as many prices as tokens");
        for (uint256 i; i < tokens.length; ++i) usdPrice[tokens[i]] = prices[i];
    }

    /// @notice What the pair was worth at one moment: the settlement price of a pool that matured then.
    function setPriceAt(address tokenIn, address tokenOut, uint256 target, uint256 price) external {
        priceAt[tokenIn][tokenOut][target] = price;
    }

    /// @notice The factory calls it for each new pool. A pair needs nothing here but a price of each token.
    function upsertPair(address tokenA, address tokenB) external view {
        if (!hasPrices(tokenA, tokenB)) revert OracleAdapter__PairCannotBeSupported(tokenA, tokenB);
    }

    /// @notice Price of `tokenIn` in `tokenOut`, 18 decimals.
    function getPrice(address tokenIn, address tokenOut) public view returns (uint256) {
        if (!hasPrices(tokenIn, tokenOut)) revert OracleAdapter__PairNotSupported(tokenIn, tokenOut);
        return usdPrice[tokenIn].div(usdPrice[tokenOut]);
    }

    /// @notice The price that was set for that moment, else the price of now.
    function getPriceAt(address tokenIn, address tokenOut, uint256 target) external view returns (uint256) {
        if (target > block.timestamp) revert OracleAdapter__InvalidTarget(target, block.timestamp);
        uint256 set = priceAt[tokenIn][tokenOut][target];
        return set == 0 ? getPrice(tokenIn, tokenOut) : set;
    }

    function hasPrices(address tokenA, address tokenB) private view returns (bool) {
        return usdPrice[tokenA] != 0 && usdPrice[tokenB] != 0;
    }
}
