// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {PoolKey} from "./Types.sol";

// What the contracts know of one another.

interface IERC20 {
    function decimals() external view returns (uint8);
    function balanceOf(address account) external view returns (uint256);
    function allowance(address holder, address spender) external view returns (uint256);
    function approve(address spender, uint256 amount) external returns (bool);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

interface IERC20Router {
    function safeTransferFrom(address token, address from, address to, uint256 amount) external;
}

interface IOracleAdapter {
    function upsertPair(address tokenA, address tokenB) external;
    function getPrice(address tokenIn, address tokenOut) external view returns (uint256);
    function getPriceAt(address tokenIn, address tokenOut, uint256 target) external view returns (uint256);
}

interface IDiscounts {
    function getDiscount(address taker) external view returns (uint256);
}

interface IPoolFactory {
    function isPool(address contractAddress) external view returns (bool);
    function getPoolAddress(PoolKey calldata k) external view returns (address pool, bool isDeployed);
    function deployPool(PoolKey calldata k) external payable returns (address poolAddress);
}

interface IPool {
    function initialize(PoolKey calldata k) external;
    function balanceOf(address account, uint256 id) external view returns (uint256);
    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes calldata data) external;
    function writeFrom(address underwriter, address longReceiver, uint256 size, address referrer) external;
    function annihilate(uint256 size) external;
    function _takerFeeLowLevel(
        address taker,
        uint256 size,
        uint256 premium,
        bool isPremiumNormalized,
        bool isOrderbook,
        uint256 strike,
        bool isCallPool
    ) external view returns (uint256);
}

interface IERC1155Receiver {
    function onERC1155Received(address operator, address from, uint256 id, uint256 amount, bytes calldata data)
        external
        returns (bytes4);
    function onERC1155BatchReceived(
        address operator,
        address from,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        bytes calldata data
    ) external returns (bytes4);
}
