// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IERC1155Receiver} from "./Interfaces.sol";

/// @notice The contracts of a pool as ERC-1155 tokens: SHORT is owed by its holder, LONG is owed to its holder.
abstract contract OptionToken {
    error ERC1155Base__ArrayLengthMismatch();
    error ERC1155Base__BalanceQueryZeroAddress();
    error ERC1155Base__BurnExceedsBalance();
    error ERC1155Base__ERC1155ReceiverRejected();
    error ERC1155Base__MintToZeroAddress();
    error ERC1155Base__NotOwnerOrApproved();
    error ERC1155Base__SelfApproval();
    error ERC1155Base__TransferExceedsBalance();
    error ERC1155Base__TransferToZeroAddress();

    event ApprovalForAll(address indexed account, address indexed operator, bool approved);
    event TransferSingle(
        address indexed operator,
        address indexed from,
        address indexed to,
        uint256 id,
        uint256 value
    );
    event TransferBatch(
        address indexed operator,
        address indexed from,
        address indexed to,
        uint256[] ids,
        uint256[] values
    );

    uint256 internal constant SHORT = 0;
    uint256 internal constant LONG = 1;

    mapping(uint256 id => uint256) public totalSupply;
    mapping(address account => mapping(address operator => bool)) public isApprovedForAll;
    mapping(uint256 id => mapping(address account => uint256)) private balances;
    /// @notice Tokens that their holder has and can't use, see `setLocked`.
    mapping(uint256 id => mapping(address account => uint256)) private locked;

    /// @notice Locks part of a balance. No real pool has this: there a fill never takes more than the balance, so nobody
    /// sees InsufficientLongBalance and InsufficientShortBalance. A lock provokes them, to test the code that reads these
    /// errors. Anyone may set it: this is a local chain.
    function setLocked(address account, uint256 id, uint256 amount) external {
        locked[id][account] = amount;
    }

    function balanceOf(address account, uint256 id) public view returns (uint256) {
        if (account == address(0)) revert ERC1155Base__BalanceQueryZeroAddress();
        return balances[id][account];
    }

    function balanceOfBatch(address[] calldata accounts, uint256[] calldata ids)
        external
        view
        returns (uint256[] memory result)
    {
        if (accounts.length != ids.length) revert ERC1155Base__ArrayLengthMismatch();
        result = new uint256[](ids.length);
        for (uint256 i; i < ids.length; ++i) result[i] = balanceOf(accounts[i], ids[i]);
    }

    function setApprovalForAll(address operator, bool status) external {
        if (operator == msg.sender) revert ERC1155Base__SelfApproval();
        isApprovedForAll[msg.sender][operator] = status;
        emit ApprovalForAll(msg.sender, operator, status);
    }

    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes calldata data) external {
        requireOwnerOrApproved(from);
        move(from, to, id, amount);
        emit TransferSingle(msg.sender, from, to, id, amount);
        if (to.code.length == 0) return;
        bytes4 answer = IERC1155Receiver(to).onERC1155Received(msg.sender, from, id, amount, data);
        if (answer != IERC1155Receiver.onERC1155Received.selector) revert ERC1155Base__ERC1155ReceiverRejected();
    }

    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        bytes calldata data
    ) external {
        requireOwnerOrApproved(from);
        if (ids.length != amounts.length) revert ERC1155Base__ArrayLengthMismatch();
        for (uint256 i; i < ids.length; ++i) move(from, to, ids[i], amounts[i]);
        emit TransferBatch(msg.sender, from, to, ids, amounts);
        if (to.code.length == 0) return;
        bytes4 answer = IERC1155Receiver(to).onERC1155BatchReceived(msg.sender, from, ids, amounts, data);
        if (answer != IERC1155Receiver.onERC1155BatchReceived.selector) revert ERC1155Base__ERC1155ReceiverRejected();
    }

    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == 0x01ffc9a7 || interfaceId == 0xd9b67a26; // ERC-165, ERC-1155
    }

    function usable(address account, uint256 id) internal view returns (uint256) {
        uint256 balance = balances[id][account];
        uint256 unusable = locked[id][account];
        return unusable < balance ? balance - unusable : 0;
    }

    function mintContracts(address to, uint256 id, uint256 amount) internal {
        if (to == address(0)) revert ERC1155Base__MintToZeroAddress();
        balances[id][to] += amount;
        totalSupply[id] += amount;
        emit TransferSingle(msg.sender, address(0), to, id, amount);
    }

    function burnContracts(address from, uint256 id, uint256 amount) internal {
        if (usable(from, id) < amount) revert ERC1155Base__BurnExceedsBalance();
        balances[id][from] -= amount;
        totalSupply[id] -= amount;
        emit TransferSingle(msg.sender, from, address(0), id, amount);
    }

    function move(address from, address to, uint256 id, uint256 amount) private {
        if (to == address(0)) revert ERC1155Base__TransferToZeroAddress();
        if (usable(from, id) < amount) revert ERC1155Base__TransferExceedsBalance();
        balances[id][from] -= amount;
        balances[id][to] += amount;
    }

    function requireOwnerOrApproved(address from) private view {
        if (from != msg.sender && !isApprovedForAll[from][msg.sender]) revert ERC1155Base__NotOwnerOrApproved();
    }
}
