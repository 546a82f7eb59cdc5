// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

uint256 constant ONE = 1e18;

/// @notice Arithmetic with 18 decimals, rounded down; numbers that overflow revert.
library FixedPoint {
    error FixedPoint__Overflow(uint256 value);

    function mul(uint256 a, uint256 b) internal pure returns (uint256) {
        return (a * b) / ONE;
    }

    function div(uint256 a, uint256 b) internal pure returns (uint256) {
        return (a * ONE) / b;
    }

    function min(uint256 a, uint256 b) internal pure returns (uint256) {
        return a < b ? a : b;
    }

    function max(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a : b;
    }

    function signed(uint256 a) internal pure returns (int256) {
        if (a > uint256(type(int256).max)) revert FixedPoint__Overflow(a);
        return int256(a);
    }

    /// @notice Square root of an 18-decimals number, by Newton's method.
    function sqrt(uint256 a) internal pure returns (uint256 root) {
        uint256 square = a * ONE;
        if (square == 0) return 0;
        root = square;
        uint256 next = (square + 1) / 2;
        while (next < root) {
            root = next;
            next = (square / root + root) / 2;
        }
    }

    /// @notice 18 decimals to a token's own, rounded down.
    function toTokenDown(uint256 amount, uint8 decimals) internal pure returns (uint256) {
        return amount / unit(decimals);
    }

    /// @notice 18 decimals to a token's own, rounded up.
    function toTokenUp(uint256 amount, uint8 decimals) internal pure returns (uint256) {
        uint256 u = unit(decimals);
        return amount / u + (amount % u == 0 ? 0 : 1);
    }

    function fromToken(uint256 amount, uint8 decimals) internal pure returns (uint256) {
        return amount * unit(decimals);
    }

    /// @notice The multiple of the token's unit next to `amount` towards minus infinity: who pays, pays the rest of a
    /// unit; who receives, leaves it.
    function floorToUnit(int256 amount, uint8 decimals) internal pure returns (int256) {
        int256 u = int256(unit(decimals));
        int256 whole = (amount / u) * u;
        return whole > amount ? whole - u : whole;
    }

    /// @notice The token's smallest unit in 18 decimals. Tokens have 18 decimals at most.
    function unit(uint8 decimals) internal pure returns (uint256) {
        return 10 ** (18 - decimals);
    }
}
