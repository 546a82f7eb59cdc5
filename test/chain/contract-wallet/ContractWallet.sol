// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// @notice An account of one owner whose signatures it confirms (EIP-1271).
contract ContractWallet {
    bytes4 private constant ACCEPTED = 0x1626ba7e;
    bytes4 private constant REFUSED = 0xffffffff;
    address private immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        require(signature.length == 65, "not a signature");
        address signer = ecrecover(
            hash,
            uint8(signature[64]),
            bytes32(signature[0:32]),
            bytes32(signature[32:64])
        );
        return signer == owner && owner != address(0) ? ACCEPTED : REFUSED;
    }
}
