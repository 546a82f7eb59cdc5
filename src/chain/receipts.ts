import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';

export interface TxReceipt {
  readonly txHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
  /** False: mined and reverted. */
  readonly succeeded: boolean;
}

/** The receipt of whichever of these was mined; null: none of them, as far as the node knows. */
export async function findReceipt(rpc: Rpc, hashes: readonly Hex[]): Promise<TxReceipt | null> {
  for (const txHash of hashes) {
    const answer = await rpc.request({ method: 'eth_getTransactionReceipt', params: [txHash] });
    if (answer === null || typeof answer !== 'object') continue;
    const { blockNumber, gasUsed, status } = answer as { blockNumber: Hex; gasUsed: Hex; status: Hex };
    return { txHash, blockNumber: Number(blockNumber), gasUsed: BigInt(gasUsed), succeeded: status === '0x1' };
  }
  return null;
}
