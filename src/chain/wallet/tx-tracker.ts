import type { Clock } from '../../engine/ports.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import { ChainAnswerError, HASH_BYTES, readBytes, readQuantity, readWideQuantity } from '../rpc/rpc-response.js';
import { WalletStopped } from './errors.js';
import type { NonceManager } from './nonce-manager.js';
import type { WalletTx, TxReceipt } from './transaction.js';
import type { TxSender } from './tx-sender.js';

/** Reports a transaction that needed more than one attempt. `nonce` is null before it is sent. */
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

/** Callbacks of the wallet for each sent transaction. */
export interface TxTrackerListener {
  /** Waited for. Again, when a reorg took it back and it was mined anew. */
  mined(nonce: number, receipt: TxReceipt): Promise<void> | undefined;
  /** Waited for. Another signer's transaction was mined under the nonce. */
  lost(nonce: number): Promise<void> | undefined;
  /** Before it is sent again: whatever else may keep it from being mined. */
  unblock(tx: WalletTx): Promise<void>;
}

/** Resends a transaction until it, or another signer's with the same nonce, is mined. */
export class TxTracker {
  constructor(
    private readonly sender: TxSender,
    private readonly nonces: NonceManager,
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
      this.nonces.mined(tx, receipt);
      await this.listener.mined(tx.nonce, receipt);
      return receipt;
    }
  }

  /** It has no receipt in the time that a transaction may take. Null: there may be one later. */
  async #findOrSendAgain(tx: WalletTx): Promise<TxReceipt | 'LOST' | null> {
    try {
      if (await this.nonces.isUsed(tx)) return (await this.#find(tx)) ?? (await this.#loseUnlessMined(tx));
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
    const { switches } = this.receipts;
    const found = await this.receipts.look(tx.hashes);
    if (found !== null) return found;
    const isUsed = await this.nonces.isUsed(tx);
    return isUsed && this.receipts.switches === switches ? this.#lose(tx) : null;
  }

  async #lose(tx: WalletTx): Promise<'LOST'> {
    this.onTrouble(tx.nonce, 'another transaction of the same key was mined under its nonce');
    await this.nonces.forget(tx);
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
      // The wallet may lack money for the higher fee, and the node may have dropped the cheaper version.
      const first = tx.firstFees;
      if (first === null || first === fees) throw error;
      this.onTrouble(tx.nonce, `refused: ${(error as Error).message}; its first version is sent again`);
      await this.sender.send(tx, first);
    }
  }

  /** Its receipt, or null if none arrives before the next resend is due. */
  #find({ hashes }: WalletTx): Promise<TxReceipt | null> {
    return this.receipts.find(hashes, this.limits.resendAfterMs);
  }
}

/** Polls for receipts: every `pollMs`, and after every new block. */
export class ReceiptWatch {
  readonly #pauses = new Set<() => void>();
  #stopped = false;

  constructor(
    private readonly rpc: Rpc,
    private readonly clock: Clock,
    private readonly pollMs: number,
  ) {}

  /** A new block may contain an awaited transaction: poll now. */
  onHead(): void {
    for (const end of [...this.#pauses]) end();
  }

  /** Pending polls reject with WalletStopped. */
  stop(): void {
    this.#stopped = true;
    this.onHead();
  }

  checkRunning(): void {
    if (this.#stopped) throw new WalletStopped('The service is stopping');
  }

  /** Grows whenever the client switches to another endpoint. */
  get switches(): number {
    return this.rpc.switches ?? 0;
  }

  /** The receipt of one of these; null: the node has none. Rejects if the node does not answer. */
  look(hashes: readonly Hex[]): Promise<TxReceipt | null> {
    return findReceipt(this.rpc, hashes);
  }

  /** The receipt of one of these, or null if none arrives within that time. A failed request counts as no receipt. */
  async find(hashes: readonly Hex[], withinMs: number): Promise<TxReceipt | null> {
    const giveUpAtMs = this.clock.monotonicMs() + withinMs;
    for (;;) {
      this.checkRunning();
      const receipt = await this.look(hashes).catch(() => null);
      if (receipt !== null || this.clock.monotonicMs() >= giveUpAtMs) return receipt;
      await this.pause();
    }
  }

  /** Waits for the next poll: after `pollMs`, or earlier with a new block or `stop`. */
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

/** The receipt of the one that was mined; null: the node has none of them. */
export async function findReceipt(rpc: Rpc, hashes: readonly Hex[]): Promise<TxReceipt | null> {
  for (const txHash of hashes) {
    const answer = await rpc.request({ method: 'eth_getTransactionReceipt', params: [txHash] });
    if (answer === null) continue;
    // Must not count as missing: the transaction would be sent again under another nonce.
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

/** EIP-658. Without a status the outcome is unknown: a success taken for a revert would be sent and paid twice. */
function hasSucceeded(status: unknown): boolean {
  const number = readQuantity(status);
  if (number > 1) throw new ChainAnswerError('A receipt does not say whether the transaction succeeded');
  return number === 1;
}
