// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {FixedPoint} from "./FixedPoint.sol";

/// @notice Implied volatilities by token, strike and time to maturity. Anyone may set them: this is a local chain.
/// @dev A smile around the spot price: the volatility at the money, plus a share of the distance of the strike.
contract VolatilityOracle {
    using FixedPoint for uint256;

    error VolatilityOracle__ArrayLengthMismatch();
    error VolatilityOracle__OutOfBounds(int256 value);
    error VolatilityOracle__SpotIsZero();
    error VolatilityOracle__StrikeIsZero();
    error VolatilityOracle__TimeToMaturityIsZero();

    /// @dev A strike at double the spot price has a volatility 30 percentage points above that at the money.
    uint256 private constant SMILE = 0.3e18;
    /// @dev Beyond this distance from the spot price the smile is flat.
    uint256 private constant MAX_DISTANCE = 1e18;

    /// @notice Volatility at the money, 18 decimals, a year: 0.6e18 is 60 %. 0: the token is not supported.
    mapping(address token => uint256) public atTheMoney;

    function setAtTheMoney(address[] calldata tokens, uint256[] calldata volatilities) external {
        if (tokens.length != volatilities.length) revert VolatilityOracle__ArrayLengthMismatch();
        for (uint256 i; i < tokens.length; ++i) atTheMoney[tokens[i]] = volatilities[i];
    }

    /// @param timeToMaturity Years of 365 days. All amounts have 18 decimals.
    function getVolatility(address token, uint256 spot, uint256 strike, uint256 timeToMaturity)
        public
        view
        returns (uint256)
    {
        if (spot == 0) revert VolatilityOracle__SpotIsZero();
        if (strike == 0) revert VolatilityOracle__StrikeIsZero();
        if (timeToMaturity == 0) revert VolatilityOracle__TimeToMaturityIsZero();
        uint256 atm = atTheMoney[token];
        if (atm == 0) revert VolatilityOracle__OutOfBounds(0);
        uint256 distance = (strike > spot ? strike - spot : spot - strike).div(spot);
        return atm + SMILE.mul(distance > MAX_DISTANCE ? MAX_DISTANCE : distance);
    }

    function getVolatility(
        address token,
        uint256 spot,
        uint256[] calldata strike,
        uint256[] calldata timeToMaturity
    ) external view returns (uint256[] memory volatilities) {
        if (strike.length != timeToMaturity.length) revert VolatilityOracle__ArrayLengthMismatch();
        volatilities = new uint256[](strike.length);
        for (uint256 i; i < strike.length; ++i) {
            volatilities[i] = getVolatility(token, spot, strike[i], timeToMaturity[i]);
        }
    }
}
