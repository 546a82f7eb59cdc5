// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {PoolKey} from "./Types.sol";

/// @notice Publishes quotes as events. The contract checks nothing; readers of the events do.
contract OrderbookStream {
    struct StreamSignature {
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    struct Quote {
        PoolKey poolKey;
        address provider;
        address taker;
        uint256 price;
        uint256 size;
        bool isBuy;
        uint256 deadline;
        uint256 salt;
        StreamSignature signature;
    }

    event PublishQuote(
        PoolKey indexed poolKeyHash,
        address indexed provider,
        address taker,
        uint256 price,
        uint256 size,
        bool isBuy,
        uint256 deadline,
        uint256 salt,
        StreamSignature signature,
        PoolKey poolKey
    );

    function add(Quote[] calldata quote) external {
        for (uint256 i; i < quote.length; ++i) {
            Quote calldata q = quote[i];
            emit PublishQuote(
                q.poolKey,
                q.provider,
                q.taker,
                q.price,
                q.size,
                q.isBuy,
                q.deadline,
                q.salt,
                q.signature,
                q.poolKey
            );
        }
    }
}
