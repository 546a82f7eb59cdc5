// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// @notice Each taker's discount on fees, 18 decimals, at most 1. On the real chain it comes from staked tokens.
contract Discounts {
    mapping(address taker => uint256) public getDiscount;

    function setDiscount(address taker, uint256 discount) external {
        require(discount <= 1e18);
        getDiscount[taker] = discount;
    }
}
