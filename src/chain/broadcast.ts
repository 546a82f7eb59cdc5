import { parseSignature } from 'viem';
import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import type { Fees } from './fees.js';
import { isPassing, RpcUnreachable } from './rpc-errors.js';
import type { TxIntent } from './intent-log.js';
import { keccak256 } from './keccak.js';
import type { TxAccount } from './tx-account.js';
import { signedTx, txFields, unsignedTx } from './tx-bytes.js';

export interface SignedTx {
  readonly txHash: Hex;
  readonly raw: Hex;
}

/** The same intent with the same fees gives the same transaction each time: signatures are deterministic (RFC 6979). */
export async function signVersion(
  account: TxAccount,
  chainId: number,
  { nonce, to, data, gas }: TxIntent,
  fees: Fees,
): Promise<SignedTx> {
  const fields = txFields({ chainId, nonce, to, data, gas, ...fees });
  const signature = await account.sign({ hash: keccak256(unsignedTx(fields)) });
  const raw = signedTx(fields, parseSignature(signature));
  return { txHash: keccak256(raw), raw: `0x${raw.toString('hex')}` };
}

/**
 * SENT: a node has it, or may have it (no answer came, or one that says nothing, or one of a node that took over from
 * another), or takes it when its turn has come. NONCE_USED: another transaction was mined under its nonce.
 * NONCE_PENDING: another one waits under it. UNDERPRICED: the node wants more for it.
 */
export type BroadcastOutcome = 'SENT' | 'NONCE_USED' | 'NONCE_PENDING' | 'UNDERPRICED';

/** Any other refusal of the node is thrown: it has not taken the transaction. */
export async function broadcast(rpc: Rpc, { txHash, raw }: SignedTx): Promise<BroadcastOutcome> {
  const { turn } = rpc;
  try {
    await rpc.request({ method: 'eth_sendRawTransaction', params: [raw] });
    return 'SENT';
  } catch (error) {
    const outcome = readRefusal(error);
    if (outcome === 'SENT' || outcome === 'UNDERPRICED') return outcome;
    // A retried request meets its own first try: what is refused now may have been taken before.
    if (outcome !== 'NONCE_PENDING' && (await isKnown(rpc, txHash))) return 'SENT';
    // By another node even, of which this one knows nothing: its nonce must not go to anything else.
    if (rpc.turn !== turn) return 'SENT';
    if (outcome === null) throw error;
    return outcome;
  }
}

/** There are no codes for these: geth's, nitro's and anvil's words. Null: a refusal of another kind. */
function readRefusal(error: unknown): BroadcastOutcome | null {
  if (error instanceof RpcUnreachable || isPassing(error)) return 'SENT';
  const { message } = error as Error;
  if (/already known|already imported|known transaction/i.test(message)) return 'SENT';
  // A node that passes it on, or a sequencer's queue, gave up waiting: it may be mined all the same.
  if (/deadline exceeded|context canceled|timed? ?out/i.test(message)) return 'SENT';
  // Nitro's sequencer keeps none that comes before its predecessor for longer than a second: ours is on its way.
  if (/nonce too high/i.test(message)) return 'SENT';
  if (/nonce too low/i.test(message)) return 'NONCE_USED';
  if (/replacement transaction underpriced/i.test(message)) return 'NONCE_PENDING';
  if (/underpriced|less than block base fee|fee cap/i.test(message)) return 'UNDERPRICED';
  return null;
}

/** Without an answer it may be. */
async function isKnown(rpc: Rpc, txHash: Hex): Promise<boolean> {
  try {
    return (await rpc.request({ method: 'eth_getTransactionByHash', params: [txHash] })) !== null;
  } catch {
    return true;
  }
}
