// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {PoolKey} from "./Types.sol";

/// @notice Which keys a new pool may have. A pool that exists is not judged again.
library PoolKeyRules {
    error PoolFactory__IdenticalAddresses();
    error PoolFactory__OptionExpired(uint256 maturity);
    error PoolFactory__OptionMaturityExceedsMax(uint256 maturity);
    error PoolFactory__OptionMaturityNot8UTC(uint256 maturity);
    error PoolFactory__OptionMaturityNotFriday(uint256 maturity);
    error PoolFactory__OptionMaturityNotLastFriday(uint256 maturity);
    error PoolFactory__OptionStrikeEqualsZero();
    error PoolFactory__OptionStrikeInvalid(uint256 strike, uint256 strikeInterval);
    error PoolFactory__ZeroAddress();
    error OptionMath__OutOfBoundsPrice(uint256 min, uint256 max, uint256 price);

    uint256 private constant MIN_STRIKE = 1e1;
    uint256 private constant MAX_STRIKE = 1e34;

    function check(PoolKey memory k) internal view {
        if (k.base == k.quote) revert PoolFactory__IdenticalAddresses();
        if (k.base == address(0) || k.quote == address(0) || k.oracleAdapter == address(0)) {
            revert PoolFactory__ZeroAddress();
        }
        checkStrike(k.strike);
        checkMaturity(k.maturity);
    }

    /// @dev A strike is a multiple of one tenth of its power of ten: 1800 of 100, 0.42 of 0.01.
    function checkStrike(uint256 strike) private pure {
        if (strike == 0) revert PoolFactory__OptionStrikeEqualsZero();
        if (strike < MIN_STRIKE || strike > MAX_STRIKE) {
            revert OptionMath__OutOfBoundsPrice(MIN_STRIKE, MAX_STRIKE, strike);
        }
        uint256 interval = 1;
        while (interval * 100 <= strike) interval *= 10;
        if (strike % interval != 0) revert PoolFactory__OptionStrikeInvalid(strike, interval);
    }

    function checkMaturity(uint256 maturity) private view {
        if (maturity <= block.timestamp) revert PoolFactory__OptionExpired(maturity);
        if (maturity % 1 days != 8 hours) revert PoolFactory__OptionMaturityNot8UTC(maturity);
        uint256 ahead = maturity - block.timestamp;
        if (ahead >= 3 days && ahead <= 35 days && !isFriday(maturity)) {
            revert PoolFactory__OptionMaturityNotFriday(maturity);
        }
        if (ahead > 35 days && !isLastFriday(maturity)) revert PoolFactory__OptionMaturityNotLastFriday(maturity);
        if (ahead > 365 days) revert PoolFactory__OptionMaturityExceedsMax(maturity);
    }

    /// @dev 1 January 1970 was a Thursday.
    function isFriday(uint256 time) private pure returns (bool) {
        return (time / 1 days) % 7 == 1;
    }

    /// @dev The Friday after it lies in another month.
    function isLastFriday(uint256 time) private pure returns (bool) {
        return isFriday(time) && monthOf(time / 1 days) != monthOf(time / 1 days + 7);
    }

    /// @dev Month of a day since the epoch, 0 for March to 11 for February: the calendar of years that begin in March
    /// and repeats after 400 years of 146,097 days, in which month m begins at day (153 m + 2) / 5.
    function monthOf(uint256 day) private pure returns (uint256) {
        uint256 ofEra = (day + 719_468) % 146_097;
        uint256 yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365;
        uint256 ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
        return (5 * ofYear + 2) / 153;
    }
}
