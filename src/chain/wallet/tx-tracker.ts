import type { Clock } from '../../engine/ports.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import { ChainAnswerError, HASH_BYTES, readBytes, readQuantity, readWideQuantity } from '../rpc/rpc-response.js';
import { WalletStopped } from './errors.js';
import type { NonceManager } from './nonce-manager.js';
import type { WalletTx, TxReceipt } from './transaction.js';
import type { TxSender } from './tx-sender.js';

/** What an operator should hear of: a transaction that did not go the short way. It has no nonce before it is sent. */
export type OnTxTrouble = (nonce: number | null, what: string) => void;

export interface ResendLimits {
  /** How long a transaction may stay unmined before it is sent again. */
  readonly resendAfterMs: number;
  /**
   * How often its fees are raised, by an eighth each time; after that only where the chain asks for more than it
   * offers.
   */
  readonly resends: number;
}

/** What is done with each that was sent, by whoever sent it. */
export interface TxTrackerListener {
  /** Waited for. Again, when a reorg took it back and it was mined anew. */
  mined(nonce: number, receipt: TxReceipt): Promise<void> | undefined;
  /** Waited for. Another signer's transaction was mined under the nonce. */
  lost(nonce: number): Promise<void> | undefined;
  /** Before it is sent again: whatever else may keep it from being mined. */
  unblock(tx: WalletTx): Promise<void>;
}

/** Follows what was sent until its nonce is used up, by itself or by another signer's, and sends it again meanwhile. */
export class TxTracker {
  constructor(
    private readonly sender: TxSender,
    private readonly line: NonceManager,
    private readonly receipts: ReceiptWatch,
    private readonly limits: ResendLimits,
    private readonly onTrouble: OnTxTrouble,
    private readonly listener: TxTrackerListener,
  ) {}

  /** The receipt, or null when another signer's transaction was mined in its place. */
  async untilUsed(tx: WalletTx): Promise<TxReceipt | null> {
    for (;;) {
      const found = (await this.#find(tx)) ?? (await this.#findOrSendAgain(tx));
      if (found === 'LOST') return null;
      if (found === null) continue;
      const receipt = { ...found, ...tx.boundedCost(found) };
      this.line.mined(tx, receipt);
      await this.listener.mined(tx.nonce, receipt);
      return receipt;
    }
  }

  /** It has no receipt in the time that a transaction may take. Null: there may be one later. */
  async #findOrSendAgain(tx: WalletTx): Promise<TxReceipt | 'LOST' | null> {
    try {
      if (await this.line.isUsed(tx)) return (await this.#find(tx)) ?? (await this.#loseUnlessMined(tx));
      await this.#sendAgain(tx);
    } catch {
      // No answer, or no money for any version: the next round looks for a receipt and tries again.
      this.receipts.checkRunning();
    }
    return null;
  }

  /**
   * A node's index may lag behind its head, so it has had its time. Now a node has to say that there is no receipt, as
   * one without an answer does not, and that same one that the nonce is used: where another took over in between, the
   * one without a receipt may be behind.
   */
  async #loseUnlessMined(tx: WalletTx): Promise<TxReceipt | 'LOST' | null> {
    const { turn } = this.receipts;
    const found = await this.receipts.look(tx.hashes);
    if (found !== null) return found;
    const isUsed = await this.line.isUsed(tx);
    return isUsed && this.receipts.turn === turn ? this.#lose(tx) : null;
  }

  async #lose(tx: WalletTx): Promise<'LOST'> {
    this.onTrouble(tx.nonce, 'another transaction of the same key was mined under its nonce');
    await this.line.forget(tx);
    await this.listener.lost(tx.nonce);
    return 'LOST';
  }

  async #sendAgain(tx: WalletTx): Promise<void> {
    await this.listener.unblock(tx);
    const fees = await this.sender.feesAgain(tx, tx.raises < this.limits.resends);
    this.onTrouble(tx.nonce, fees === tx.fees ? 'not mined: sent again' : 'not mined: sent again for more');
    try {
      await this.sender.send(tx, fees);
    } catch (error) {
      // The wallet may have no money for the higher fee, and the node may have dropped what it had money for.
      const first = tx.firstFees;
      if (first === null || first === fees) throw error;
      this.onTrouble(tx.nonce, `refused: ${(error as Error).message}; its first version is sent again`);
      await this.sender.send(tx, first);
    }
  }

  /** Its receipt, or null when there is none in the time that a transaction may take. */
  #find({ hashes }: WalletTx): Promise<TxReceipt | null> {
    return this.receipts.find(hashes, this.limits.resendAfterMs);
  }
}

/** Looks for receipts: now and then, and whenever a block has come. */
export class ReceiptWatch {
  readonly #pauses = new Set<() => void>();
  #stopped = false;

  constructor(
    private readonly rpc: Rpc,
    private readonly clock: Clock,
    private readonly pollMs: number,
  ) {}

  /** A new block may hold what is waited for: look now. */
  onHead(): void {
    for (const end of [...this.#pauses]) end();
  }

  /** Whoever looks is let go with WalletStopped. */
  stop(): void {
    this.#stopped = true;
    this.onHead();
  }

  checkRunning(): void {
    if (this.#stopped) throw new WalletStopped('The service is stopping');
  }

  /** Another number whenever another node has taken over. */
  get turn(): number {
    return this.rpc.turn ?? 0;
  }

  /** The receipt of one of these; null: none, as the node says. Rejects where it does not answer. */
  look(hashes: readonly Hex[]): Promise<TxReceipt | null> {
    return findReceipt(this.rpc, hashes);
  }

  /** The receipt of one of these, or null when there is none within that time. A node that does not answer has none. */
  async find(hashes: readonly Hex[], withinMs: number): Promise<TxReceipt | null> {
    const giveUpAtMs = this.clock.monotonicMs() + withinMs;
    for (;;) {
      this.checkRunning();
      const receipt = await this.look(hashes).catch(() => null);
      if (receipt !== null || this.clock.monotonicMs() >= giveUpAtMs) return receipt;
      await this.pause();
    }
  }

  /** Until it is time to look again: now and then, and early with the next block, or when the watch is stopped. */
  async pause(): Promise<void> {
    this.checkRunning();
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        this.#pauses.delete(end);
        resolve();
      };
      const cancel = this.clock.after(this.pollMs, end);
      this.#pauses.add(end);
    });
  }
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
