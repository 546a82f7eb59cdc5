import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { ChainAnswerError } from './chain-answer-error.js';
import type { BlockId } from './block-head.js';
import { HASH_BYTES, readBytes, readQuantity, readWideQuantity } from './rpc-answers.js';

export interface TxReceipt extends BlockId {
  readonly txHash: Hex;
  readonly gasUsed: bigint;
  /** What it cost, 1e-18 of the chain's own coin. */
  readonly feeWei: bigint;
  /** False: mined and reverted. */
  readonly succeeded: boolean;
}

/** The receipt of whichever of these was mined; null: none of them, as the node says. */
export async function findReceipt(rpc: Rpc, hashes: readonly Hex[]): Promise<TxReceipt | null> {
  for (const txHash of hashes) {
    const answer = await rpc.request({ method: 'eth_getTransactionReceipt', params: [txHash] });
    if (answer === null) continue;
    // Not the same as none, after which the transaction may be sent under another nonce.
    if (typeof answer !== 'object') throw new ChainAnswerError('A receipt is no object');
    const { transactionHash, blockNumber, blockHash, status, ...cost } = answer as Partial<Record<string, unknown>>;
    if (readBytes(transactionHash, HASH_BYTES) !== txHash)
      throw new ChainAnswerError('The receipt is of another transaction');
    const gasUsed = BigInt(readQuantity(cost.gasUsed));
    const feeWei = gasUsed * readWideQuantity(cost.effectiveGasPrice);
    const block = { blockNumber: readQuantity(blockNumber), blockHash: readBytes(blockHash, HASH_BYTES) };
    return { txHash, ...block, gasUsed, feeWei, succeeded: hasSucceeded(status) };
  }
  return null;
}

/** EIP-658. Without it nobody knows: what did succeed and is taken for a revert is sent and paid for again. */
function hasSucceeded(status: unknown): boolean {
  const number = readQuantity(status);
  if (number > 1) throw new ChainAnswerError('A receipt does not say whether the transaction succeeded');
  return number === 1;
}
