import { parseSignature } from 'viem';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import { keccak256 } from '../contracts/abi-encoding.js';
import { revertData } from '../contracts/chain-reader.js';
import { isTransient, RpcUnreachable } from '../rpc/rpc-errors.js';
import { readWideQuantity } from '../rpc/rpc-response.js';
import { InsufficientFunds, WouldRevert } from './errors.js';
import type { IntentLog } from './intent-log.js';
import {
  type Fees,
  type WalletTx,
  signedTx,
  type TxAccount,
  txFields,
  type TxIntent,
  type TxRequest,
  unsignedTx,
} from './transaction.js';

/** Estimates, signs and broadcasts transactions of one key. The intent is durable before a transaction is signed. */
export class TxSender {
  readonly address: Hex;
  readonly #fees: FeeEstimator;

  /** `maxFeePerGas`, wei: no transaction offers more, whatever the node asks. */
  constructor(
    private readonly rpc: Rpc,
    private readonly chainId: number,
    private readonly account: TxAccount,
    private readonly intents: IntentLog,
    maxFeePerGas: bigint,
  ) {
    this.address = account.address.toLowerCase() as Hex;
    this.#fees = new FeeEstimator(rpc, maxFeePerGas);
  }

  /** Gas limit, a quarter above the node's estimate. Throws WouldRevert, InsufficientFunds or the chain's own error. */
  async estimate({ to, data }: TxRequest): Promise<bigint> {
    try {
      const estimate = await this.rpc.request({
        method: 'eth_estimateGas',
        params: [{ from: this.address, to, data }],
      });
      return (readWideQuantity(estimate) * 5n) / 4n;
    } catch (error) {
      const revert = revertData(error);
      if (revert !== null) throw new WouldRevert(revert);
      throw this.named(error);
    }
  }

  /** Fees that the chain asks now. */
  currentFees(): Promise<Fees> {
    return this.#fees.current();
  }

  /** Fees for a transaction that the node found underpriced. */
  raised(fees: Fees): Promise<Fees> {
    return this.#fees.next(fees, true);
  }

  /** Fees for sending it another time. */
  feesAgain({ fees }: WalletTx, mayRise: boolean): Promise<Fees> {
    return fees === null ? this.#fees.current() : this.#fees.next(fees, mayRise);
  }

  /** Written down, then signed, then sent. */
  async send(tx: WalletTx, fees: Fees): Promise<BroadcastOutcome> {
    if (!tx.isVersion(fees)) {
      // Not known as a version before: the next try would take it for one that was written down.
      await this.intents.write(tx.intentWith(fees));
      tx.addVersion(fees);
    }
    const signed = await signVersion(this.account, this.chainId, tx.intent, fees);
    if (!tx.hashes.includes(signed.txHash)) tx.hashes.push(signed.txHash);
    return broadcast(this.rpc, signed);
  }

  /** Hashes of the versions that an earlier run may have sent. */
  async learnHashes(tx: WalletTx): Promise<void> {
    const { intent } = tx;
    for (const fees of intent.versions) {
      const { txHash } = await signVersion(this.account, this.chainId, intent, fees);
      if (!tx.hashes.includes(txHash)) tx.hashes.push(txHash);
    }
  }

  /** Says in our own words that the money is out. */
  named(error: unknown): unknown {
    return /insufficient funds/i.test((error as Error).message) ? new InsufficientFunds(this.address) : error;
  }
}

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
  const { switches } = rpc;
  try {
    await rpc.request({ method: 'eth_sendRawTransaction', params: [raw] });
    return 'SENT';
  } catch (error) {
    const outcome = readRefusal(error);
    if (outcome === 'SENT' || outcome === 'UNDERPRICED') return outcome;
    // A retried request meets its own first try: what is refused now may have been taken before.
    if (outcome !== 'NONCE_PENDING' && (await isKnown(rpc, txHash))) return 'SENT';
    // By another node even, of which this one knows nothing: its nonce must not go to anything else.
    if (rpc.switches !== switches) return 'SENT';
    if (outcome === null) throw error;
    return outcome;
  }
}

/** There are no codes for these: geth's, nitro's and anvil's words. Null: a refusal of another kind. */
function readRefusal(error: unknown): BroadcastOutcome | null {
  if (error instanceof RpcUnreachable || isTransient(error)) return 'SENT';
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

/** Chooses the fees of transactions. */
export class FeeEstimator {
  constructor(
    private readonly rpc: Rpc,
    /** Wei per gas: a node may say what it likes, and more than this is not paid. */
    private readonly ceiling: bigint,
  ) {}

  /** For a new one: twice the node's gas price, so that it survives six full blocks in a row. */
  async current(): Promise<Fees> {
    const [gasPrice, tip] = await Promise.all([
      this.rpc.request({ method: 'eth_gasPrice' }),
      this.rpc.request({ method: 'eth_maxPriorityFeePerGas' }).catch(() => '0x0'), // not every node has it
    ]);
    const price = readWideQuantity(gasPrice) * 2n;
    const priority = readWideQuantity(tip);
    return this.#bounded({ maxFeePerGas: price > priority ? price : priority, maxPriorityFeePerGas: priority });
  }

  /**
   * Fees of a replacement for a transaction that was not mined: an eighth more (`mayRise`), or the current fees if these
   * are higher. Returns the same object if nothing higher is allowed.
   */
  async next(fees: Fees, mayRise: boolean): Promise<Fees> {
    const current = await this.current();
    if (current.maxFeePerGas <= fees.maxFeePerGas && !mayRise) return fees;
    const next = this.#bounded(higherFees(raiseByAnEighth(fees), current));
    return next.maxFeePerGas > fees.maxFeePerGas ? next : fees;
  }

  #bounded({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Fees {
    return {
      maxFeePerGas: lower(maxFeePerGas, this.ceiling),
      maxPriorityFeePerGas: lower(maxPriorityFeePerGas, this.ceiling),
    };
  }
}

/** Nodes replace a transaction only for at least a tenth more; an eighth is geth's own habit. */
function raiseByAnEighth({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Fees {
  return { maxFeePerGas: raised(maxFeePerGas), maxPriorityFeePerGas: raised(maxPriorityFeePerGas) };
}

/** The higher of each. */
function higherFees(a: Fees, b: Fees): Fees {
  return {
    maxFeePerGas: higher(a.maxFeePerGas, b.maxFeePerGas),
    maxPriorityFeePerGas: higher(a.maxPriorityFeePerGas, b.maxPriorityFeePerGas),
  };
}

function raised(fee: bigint): bigint {
  return (fee * 9n) / 8n + 1n;
}

function higher(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function lower(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
