import { keccak256 } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Fees } from './fees.js';
import { RpcUnreachable } from './http-rpc.js';

export interface UnsignedTx extends Fees {
  readonly chainId: number;
  readonly nonce: number;
  readonly to: Hex;
  readonly data: Hex;
  readonly gas: bigint;
}

/**
 * SENT: the node has it, or may have it (no answer came). NONCE_USED: another transaction was mined under its nonce.
 * NONCE_PENDING: another one waits under it. UNDERPRICED: the node wants more for it.
 */
export type BroadcastOutcome = 'SENT' | 'NONCE_USED' | 'NONCE_PENDING' | 'UNDERPRICED';

/** Signs and sends. Any other refusal of the node is thrown. The hash is known before the node answers. */
export async function broadcast(
  rpc: Rpc,
  account: PrivateKeyAccount,
  unsigned: UnsignedTx,
): Promise<{ txHash: Hex; outcome: BroadcastOutcome }> {
  const signed = await account.signTransaction({ type: 'eip1559', ...unsigned });
  const txHash = keccak256(signed);
  try {
    await rpc.request({ method: 'eth_sendRawTransaction', params: [signed] });
    return { txHash, outcome: 'SENT' };
  } catch (error) {
    const outcome = readRefusal(error);
    // A retried request meets its own first try: the nonce is used by the very same transaction.
    if (outcome === 'NONCE_USED' && (await isKnown(rpc, txHash))) return { txHash, outcome: 'SENT' };
    return { txHash, outcome };
  }
}

/** There are no codes for these: geth's, nitro's and anvil's words. */
function readRefusal(error: unknown): BroadcastOutcome {
  if (error instanceof RpcUnreachable) return 'SENT';
  const { message } = error as Error;
  if (/already known|already imported|known transaction/i.test(message)) return 'SENT';
  if (/nonce too low/i.test(message)) return 'NONCE_USED';
  if (/replacement transaction underpriced/i.test(message)) return 'NONCE_PENDING';
  if (/underpriced|less than block base fee|fee cap/i.test(message)) return 'UNDERPRICED';
  throw error;
}

async function isKnown(rpc: Rpc, txHash: Hex): Promise<boolean> {
  return (await rpc.request({ method: 'eth_getTransactionByHash', params: [txHash] })) !== null;
}
