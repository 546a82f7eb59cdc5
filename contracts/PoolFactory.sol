// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IOracleAdapter, IPool} from "./Interfaces.sol";
import {PoolKeyRules} from "./PoolKeyRules.sol";
import {PoolKey} from "./Types.sol";

/// @notice Deploys pools, each a minimal proxy (EIP-1167) of one diamond, at an address made of its key (EIP-1014).
contract PoolFactory {
    error PoolFactory__PoolAlreadyDeployed(address poolAddress);

    event PoolDeployed(
        address indexed base,
        address indexed quote,
        address oracleAdapter,
        uint256 strike,
        uint256 maturity,
        bool isCallPool,
        address poolAddress
    );

    /// @notice The implementation that all pools share.
    address public immutable diamond;
    mapping(address => bool) public isPool;

    constructor(address diamond_) {
        diamond = diamond_;
    }

    /// @notice Also answers for a pool that is not deployed; reverts only when there can be none.
    function getPoolAddress(PoolKey calldata k) external view returns (address pool, bool isDeployed) {
        pool = addressOf(k);
        isDeployed = isPool[pool];
        if (!isDeployed) PoolKeyRules.check(k);
    }

    function deployPool(PoolKey calldata k) external payable returns (address poolAddress) {
        poolAddress = addressOf(k);
        if (isPool[poolAddress]) revert PoolFactory__PoolAlreadyDeployed(poolAddress);
        PoolKeyRules.check(k);
        IOracleAdapter(k.oracleAdapter).upsertPair(k.base, k.quote); // reverts where the oracle has no price of the pair

        bytes memory code = creationCode();
        bytes32 salt = saltOf(k);
        assembly ("memory-safe") {
            pop(create2(0, add(code, 32), mload(code), salt))
        }
        isPool[poolAddress] = true;
        IPool(poolAddress).initialize(k); // reverts where nothing was created
        emit PoolDeployed(k.base, k.quote, k.oracleAdapter, k.strike, k.maturity, k.isCallPool, poolAddress);
    }

    /// @notice Deploying is free here.
    function initializationFee(PoolKey calldata) external pure returns (uint256) {
        return 0;
    }

    function addressOf(PoolKey calldata k) private view returns (address) {
        bytes32 hash = keccak256(abi.encodePacked(hex"ff", address(this), saltOf(k), keccak256(creationCode())));
        return address(uint160(uint256(hash)));
    }

    function saltOf(PoolKey calldata k) private pure returns (bytes32) {
        return keccak256(abi.encode(k));
    }

    function creationCode() private view returns (bytes memory) {
        return abi.encodePacked(hex"3d602d80600a3d3981f3363d3d373d3d3d363d73", diamond, hex"5af43d82803e903d91602b57fd5bf3");
    }
}
