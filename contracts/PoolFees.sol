// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {FixedPoint, ONE} from "./FixedPoint.sol";
import {IDiscounts} from "./Interfaces.sol";

/// @notice What trading and exercising cost. All amounts have 18 decimals.
abstract contract PoolFees {
    using FixedPoint for uint256;

    uint256 private constant ORDERBOOK_OF_SIZE = 0.0008e18;
    uint256 private constant AMM_OF_SIZE = 0.003e18;
    uint256 private constant AMM_OF_PREMIUM = 0.03e18;
    uint256 private constant MAX_OF_PREMIUM = 0.125e18;
    uint256 private constant EXERCISE_OF_NOTIONAL = 0.003e18;
    uint256 private constant MAX_OF_INTRINSIC = 0.125e18;

    IDiscounts internal immutable discounts;

    constructor(IDiscounts discounts_) {
        discounts = discounts_;
    }

    /// @notice The taker's fee for any option, whether its pool exists or not.
    /// @param premium Per strike for puts when `isPremiumNormalized`, else in collateral. Zero where nothing is sold for
    /// a premium, as when a vault writes an option: the fee is then that of the size.
    /// @return Collateral, 18 decimals.
    function _takerFeeLowLevel(
        address taker,
        uint256 size,
        uint256 premium,
        bool isPremiumNormalized,
        bool isOrderbook,
        uint256 strike,
        bool isCallPool
    ) public view returns (uint256) {
        if (!isPremiumNormalized && !isCallPool) premium = premium.div(strike);
        uint256 fee;
        if (isOrderbook) {
            fee = premium.mul(MAX_OF_PREMIUM).min(size.mul(ORDERBOOK_OF_SIZE));
        } else if (premium == 0) {
            fee = size.mul(AMM_OF_SIZE);
        } else {
            fee = premium.mul(AMM_OF_PREMIUM).max(size.mul(AMM_OF_SIZE)).min(premium.mul(MAX_OF_PREMIUM));
        }
        return contractsToCollateral(lessDiscount(fee, taker), strike, isCallPool);
    }

    /// @param exerciseValue What the holder gets before the fee, in collateral.
    function exerciseFee(address holder, uint256 size, uint256 exerciseValue, uint256 strike, bool isCallPool)
        internal
        view
        returns (uint256)
    {
        uint256 ofNotional = contractsToCollateral(size, strike, isCallPool).mul(EXERCISE_OF_NOTIONAL);
        return lessDiscount(ofNotional.min(exerciseValue.mul(MAX_OF_INTRINSIC)), holder);
    }

    /// @notice A call is covered by one base token a contract, a put by its strike in quote tokens.
    function contractsToCollateral(uint256 contracts, uint256 strike, bool isCallPool) internal pure returns (uint256) {
        return isCallPool ? contracts : contracts.mul(strike);
    }

    function lessDiscount(uint256 fee, address taker) private view returns (uint256) {
        if (taker == address(0)) return fee;
        return fee.mul(ONE - discounts.getDiscount(taker));
    }
}
