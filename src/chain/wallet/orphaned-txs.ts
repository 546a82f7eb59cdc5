import type { Hex } from '../../engine/quote.js';
import { quotesDigits } from '../contracts/abi-encoding.js';
import { isTransient, RpcUnreachable } from '../rpc/rpc-errors.js';
import { WalletStopped } from './errors.js';
import type { NonceManager } from './nonce-manager.js';
import { WalletTx, type TxIntent, type TxReceipt, type TxRequest } from './transaction.js';
import type { TxSender } from './tx-sender.js';
import type { OnTxTrouble, ReceiptWatch, TxTracker } from './tx-tracker.js';

const TOO_FAR_AHEAD =
  "a node must have counted wrong when it got its nonce: too many before it are nobody's to be closed";

/**
 * Transactions of ours that nobody waits for: an earlier run left them, a reorg took them back, or they close a gap.
 * They are followed to their end all the same, and who asks for the very same meanwhile joins them.
 */
export class OrphanedTxs {
  readonly #left: OrphanIndex;

  constructor(
    private readonly sender: TxSender,
    private readonly line: NonceManager,
    private readonly sent: TxTracker,
    private readonly receipts: ReceiptWatch,
    private readonly onTrouble: OnTxTrouble,
    /** Under the next nonce; resolves when mined. */
    private readonly sendAnew: (request: Required<TxRequest>) => Promise<TxReceipt>,
    reorgDepth: number,
  ) {
    this.#left = new OrphanIndex(reorgDepth);
  }

  /** Takes up what earlier runs left. */
  resume(intents: Iterable<TxIntent>): void {
    for (const { nonce, to, data, gas, versions } of intents) {
      const tx = new WalletTx(nonce, { to, data, gas }, versions);
      this.line.goOn(tx);
      this.#left.add(tx.request, this.#goOnWith(tx, 'an earlier run left it unsettled'));
    }
  }

  /** What a reorg took back, or may have: nobody waits for it any more, and its nonce is still its own. */
  revive(mined: readonly WalletTx[]): void {
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
  async closeGapsBefore(tx: WalletTx): Promise<void> {
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
  async #goOnWith(tx: WalletTx, why: string, isTakenBack = false): Promise<OrphanOutcome> {
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
        if (!(error instanceof RpcUnreachable) && !isTransient(error)) throw error;
        await this.receipts.pause();
      }
    }
  }
}

/** What a transaction is for. */
interface Purpose {
  readonly to: Hex;
  readonly data: Hex;
}

export interface OrphanOutcome {
  /** Null: it was given up. */
  readonly receipt: TxReceipt | null;
  /** It was mined before anybody looked: who asks for the same by then means another one. */
  readonly wasThere: boolean;
}

interface LeftTx {
  readonly end: Promise<OrphanOutcome>;
  /** Digits of those that it publishes: they are asked for by the thousand, and calldata is too long to search for each. */
  readonly quotes: ReadonlySet<string>;
  /** Null until it is. Its block may still be to be read: what it did is not known before. */
  mined: TxReceipt | null;
}

/**
 * Transactions that earlier runs sent, or that a reorg took back, until it is known what became of them. Clients ask
 * again for what they had no answer to, or find undone: who asks for the very same joins it, and it is not paid for
 * twice.
 */
export class OrphanIndex {
  readonly #left = new Map<string, LeftTx>();

  /** `reorgDepth`: this many blocks behind one that was read all others have been. */
  constructor(private readonly reorgDepth: number) {}

  add(purpose: Purpose, end: Promise<OrphanOutcome>): void {
    const name = nameOf(purpose);
    const left: LeftTx = { end, quotes: new Set(quotesDigits(purpose.data)), mined: null };
    this.#left.set(name, left);
    void end.then(({ receipt }) => {
      if (receipt?.succeeded === true) left.mined = receipt;
      else if (this.#left.get(name) === left) this.#left.delete(name);
    });
  }

  /** The chain was read to the end of this block, by one of its readers. */
  read(to: number): void {
    for (const [name, { mined }] of this.#left)
      if (mined !== null && mined.blockNumber + this.reorgDepth <= to) this.#left.delete(name);
  }

  /** The end of one that is on its way; its receipt, or null where nobody is to join it. */
  find(purpose: Purpose): Promise<TxReceipt | null> | undefined {
    // Mostly there are none, and calldata is long.
    if (this.#left.size === 0) return undefined;
    const left = this.#left.get(nameOf(purpose));
    if (left?.mined !== null) return undefined;
    return left.end.then(({ receipt, wasThere }) => (wasThere ? null : receipt));
  }

  /**
   * One that publishes the quote of these digits, on its way or in a block that has not been read: its receipt, or null
   * where it was given up.
   */
  findWith(digits: () => string, isRead: (blockNumber: number) => boolean): Promise<TxReceipt | null> | undefined {
    if (this.#left.size === 0) return undefined;
    const wanted = digits();
    for (const { end, quotes, mined } of this.#left.values()) {
      const isThere = mined === null || !isRead(mined.blockNumber);
      if (isThere && quotes.has(wanted)) return end.then(({ receipt }) => receipt);
    }
    return undefined;
  }
}

function nameOf({ to, data }: Purpose): string {
  return `${to.toLowerCase()} ${data}`;
}
