import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { readQuantity, readWideQuantity } from './rpc-answers.js';

export interface TxReceipt {
  readonly txHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
  /** What it cost, 1e-18 of the chain's own coin. */
  readonly feeWei: bigint;
  /** False: mined and reverted. */
  readonly succeeded: boolean;
}

/** The receipt of whichever of these was mined; null: none of them, as far as the node knows. */
export async function findReceipt(rpc: Rpc, hashes: readonly Hex[]): Promise<TxReceipt | null> {
  for (const txHash of hashes) {
    const answer = await rpc.request({ method: 'eth_getTransactionReceipt', params: [txHash] });
    if (answer === null || typeof answer !== 'object') continue;
    const { blockNumber, status, ...cost } = answer as Partial<Record<string, unknown>>;
    const gasUsed = BigInt(readQuantity(cost.gasUsed));
    const feeWei = gasUsed * readWideQuantity(cost.effectiveGasPrice);
    return { txHash, blockNumber: readQuantity(blockNumber), gasUsed, feeWei, succeeded: status === '0x1' };
  }
  return null;
}
