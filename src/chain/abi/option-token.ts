import { parseAbi } from 'viem';

/** The ERC-1155 part of a pool: id 0 is SHORT, id 1 is LONG, amounts in 1e-18 contracts. */
export const optionTokenAbi = parseAbi([
  'function balanceOf(address account, uint256 id) view returns (uint256)',
  'function balanceOfBatch(address[] accounts, uint256[] ids) view returns (uint256[])',
  'function totalSupply(uint256 id) view returns (uint256)',
  'function isApprovedForAll(address account, address operator) view returns (bool)',
  'function setApprovalForAll(address operator, bool status)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
  'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)',
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
  'event ApprovalForAll(address indexed account, address indexed operator, bool approved)',
  'error ERC1155Base__ArrayLengthMismatch()',
  'error ERC1155Base__BalanceQueryZeroAddress()',
  'error ERC1155Base__BurnExceedsBalance()',
  'error ERC1155Base__ERC1155ReceiverNotImplemented()',
  'error ERC1155Base__ERC1155ReceiverRejected()',
  'error ERC1155Base__MintToZeroAddress()',
  'error ERC1155Base__NotOwnerOrApproved()',
  'error ERC1155Base__SelfApproval()',
  'error ERC1155Base__TransferExceedsBalance()',
  'error ERC1155Base__TransferToZeroAddress()',
]);

export const SHORT = 0n;
export const LONG = 1n;
