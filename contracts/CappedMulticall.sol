// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// @notice `aggregate3` of Multicall3, with a bound on the gas and on the answer of each call. It is never deployed: the
/// service has a node run it in place of Multicall3's code, by a state override of `eth_call`. So a contract that burns
/// all the gas it is given costs its own call only, and leaves the rest of the batch their gas.
contract CappedMulticall {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    /// @dev In place of an answer: the call failed and had used all the gas that one may have.
    error GasCapReached();
    /// @dev In place of an answer: the batch has no gas left for it, or the call before reached the cap at the same
    /// contract.
    error NotAsked();

    /// @dev Kept for writing the answers down.
    uint256 private constant RESERVED_GAS = 300_000;
    /// @dev What is read of one answer: six words are the longest good one.
    uint256 private constant MAX_ANSWER_BYTES = 1024;

    /// @param calls Behind them stands one more word: the gas that each may use.
    function aggregate3(Call3[] calldata calls) external returns (Result[] memory results) {
        uint256 cap;
        assembly {
            cap := calldataload(sub(calldatasize(), 32))
        }
        results = new Result[](calls.length);
        address spender;
        for (uint256 i; i < calls.length; ++i) {
            address target = calls[i].target;
            uint256 gasBefore = gasleft();
            // A call is given at most 63 of 64 parts of what is left.
            if (target == spender || gasBefore < cap + cap / 32 + RESERVED_GAS) {
                results[i].returnData = abi.encodePacked(NotAsked.selector);
                continue;
            }
            results[i] = ask(target, calls[i].callData, cap);
            if (results[i].success) continue;
            if (isForged(results[i].returnData)) results[i].returnData = "";
            if (gasBefore - gasleft() < cap - cap / 16) continue;
            results[i].returnData = abi.encodePacked(GasCapReached.selector);
            spender = target;
        }
    }

    /// @dev A contract may revert with the errors that stand for no answer: then it gave no reason.
    function isForged(bytes memory answer) private pure returns (bool) {
        bytes4 selector = bytes4(answer);
        return answer.length == 4 && (selector == NotAsked.selector || selector == GasCapReached.selector);
    }

    /// @dev In assembly, since Solidity would copy an answer of any length. A longer one counts as a failure without a
    /// reason.
    function ask(address target, bytes calldata data, uint256 cap) private returns (Result memory result) {
        bool success;
        bytes memory answer;
        uint256 maxBytes = MAX_ANSWER_BYTES;
        assembly {
            answer := mload(0x40)
            calldatacopy(answer, data.offset, data.length)
            success := call(cap, target, 0, answer, data.length, 0, 0)
            let size := returndatasize()
            if gt(size, maxBytes) {
                success := 0
                size := 0
            }
            mstore(answer, size)
            returndatacopy(add(answer, 32), 0, size)
            mstore(0x40, and(add(add(answer, size), 63), not(31)))
        }
        return Result(success, answer);
    }
}
