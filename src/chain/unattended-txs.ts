import { isPassing, RpcUnreachable } from './rpc-errors.js';
import type { TxIntent } from './intent-log.js';
import { LeftTxs, type LeftEnd } from './left-txs.js';
import type { NonceLine } from './nonce-line.js';
import { OwnTx, type TxRequest } from './own-tx.js';
import type { ReceiptWatch } from './receipt-watch.js';
import type { TxReceipt } from './receipts.js';
import type { OnTxTrouble, SentTxs } from './sent-txs.js';
import type { TxSender } from './tx-sender.js';
import { WalletStopped } from './wallet-errors.js';

const TOO_FAR_AHEAD =
  "a node must have counted wrong when it got its nonce: too many before it are nobody's to be closed";

/**
 * Transactions of ours that nobody waits for: an earlier run left them, a reorg took them back, or they close a gap.
 * They are followed to their end all the same, and who asks for the very same meanwhile joins them.
 */
export class UnattendedTxs {
  readonly #left: LeftTxs;

  constructor(
    private readonly sender: TxSender,
    private readonly line: NonceLine,
    private readonly sent: SentTxs,
    private readonly receipts: ReceiptWatch,
    private readonly onTrouble: OnTxTrouble,
    /** Under the next nonce; resolves when mined. */
    private readonly sendAnew: (request: Required<TxRequest>) => Promise<TxReceipt>,
    reorgDepth: number,
  ) {
    this.#left = new LeftTxs(reorgDepth);
  }

  /** Takes up what earlier runs left. */
  resume(intents: Iterable<TxIntent>): void {
    for (const { nonce, to, data, gas, versions } of intents) {
      const tx = new OwnTx(nonce, { to, data, gas }, versions);
      this.line.goOn(tx);
      this.#left.add(tx.request, this.#goOnWith(tx, 'an earlier run left it unsettled'));
    }
  }

  /** What a reorg took back, or may have: nobody waits for it any more, and its nonce is still its own. */
  revive(mined: readonly OwnTx[]): void {
    for (const tx of mined) {
      this.line.goOn(tx);
      this.#left.add(tx.request, this.#goOnWith(tx, 'a reorg took it back: sent again', true));
    }
  }

  /** The chain was read to the end of this block. */
  onRead(blockNumber: number): void {
    this.#left.read(blockNumber);
  }

  /** The end of one that is for the very same. Null: nobody is to join it, after all. */
  find(request: TxRequest): Promise<TxReceipt | null> | undefined {
    return this.#left.find(request);
  }

  /** One that publishes the quote of these hex digits, on its way or in a block that has not been read. Null: given up. */
  findWith(digits: () => string, isRead: (blockNumber: number) => boolean): Promise<TxReceipt | null> | undefined {
    return this.#left.findWith(digits, isRead);
  }

  /**
   * The chain waits for nonces that nobody sends: transfers of nothing to ourselves let the rest go on. One at a time,
   * since all that waits behind a gap finds it at the same time, and it has to be closed once.
   */
  async closeGapsBefore(tx: OwnTx): Promise<void> {
    const gaps = await this.line.gapsBefore(tx);
    this.revive(this.line.takenBack());
    if (gaps === null) return this.onTrouble(tx.nonce, TOO_FAR_AHEAD);
    if (gaps.length === 0) return;
    const nothing = { to: this.sender.address, data: '0x' as const };
    const gas = await this.sender.estimate(nothing);
    for (const nonce of gaps) {
      const closing = this.line.beginAt(nonce, { ...nothing, gas });
      void this.#goOnWith(closing, 'nobody sends it: closed by an empty transaction');
    }
  }

  /** `isTakenBack`: a reorg may have undone it. Who asks for the same then means this one, even if it is still there. */
  async #goOnWith(tx: OwnTx, why: string, isTakenBack = false): Promise<LeftEnd> {
    try {
      await this.sender.learnHashes(tx);
      let wasUsed = false;
      try {
        wasUsed = await this.line.isUsed(tx);
        if (!wasUsed) {
          this.onTrouble(tx.nonce, why);
          await this.sender.send(tx, await this.sender.feesAgain(tx, false));
        }
      } catch {
        // No answer: the first round finds out.
      }
      const receipt = await this.sent.untilUsed(tx);
      if (receipt !== null) return { receipt, wasThere: wasUsed && !isTakenBack };
      const { to, data } = tx.request;
      const isNothing = to === this.sender.address && data === '0x';
      return { receipt: isNothing ? null : await this.#sendAnew(tx.request), wasThere: false };
    } catch (error) {
      if (!(error instanceof WalletStopped)) this.onTrouble(tx.nonce, `given up: ${(error as Error).message}`);
      return { receipt: null, wasThere: false };
    }
  }

  /** Nobody would ask for it again: where no node answers, it waits until one does. */
  async #sendAnew(request: Required<TxRequest>): Promise<TxReceipt> {
    for (;;) {
      try {
        return await this.sendAnew(request);
      } catch (error) {
        if (!(error instanceof RpcUnreachable) && !isPassing(error)) throw error;
        await this.receipts.pause();
      }
    }
  }
}
