// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {QuoteOB, Signature} from "./Types.sol";

/// @notice EIP-712 digest of a quote, and who signed it.
library QuoteHash {
    error ECDSA__InvalidS();
    error ECDSA__InvalidSignature();
    error ECDSA__InvalidV();

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant QUOTE_TYPE = keccak256(
        "FillQuoteOB(address provider,address taker,uint256 price,uint256 size,bool isBuy,uint256 deadline,uint256 salt)"
    );
    /// @dev Half of the order of secp256k1: above it, the same signature exists a second time (EIP-2).
    uint256 private constant MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    function digest(QuoteOB memory q) internal view returns (bytes32) {
        bytes32 domain =
            keccak256(abi.encode(DOMAIN_TYPE, keccak256("Premia"), keccak256("1"), block.chainid, address(this)));
        bytes32 quote = keccak256(
            abi.encode(QUOTE_TYPE, q.provider, q.taker, q.price, q.size, q.isBuy, q.deadline, q.salt)
        );
        return keccak256(abi.encodePacked(hex"1901", domain, quote));
    }

    function signer(bytes32 hash, Signature memory signature) internal pure returns (address recovered) {
        if (uint256(signature.s) > MAX_S) revert ECDSA__InvalidS();
        if (signature.v != 27 && signature.v != 28) revert ECDSA__InvalidV();
        recovered = ecrecover(hash, signature.v, signature.r, signature.s);
        if (recovered == address(0)) revert ECDSA__InvalidSignature();
    }
}
