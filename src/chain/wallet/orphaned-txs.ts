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
 * Transactions of this wallet without a caller: an earlier run left them, a reorg removed them, or they close a nonce
 * gap. The wallet tracks them like all others. A request for the same transaction joins the pending one.
 */
export class OrphanedTxs {
  readonly #left: OrphanIndex;

  constructor(
    private readonly sender: TxSender,
    private readonly nonces: NonceManager,
    private readonly tracker: TxTracker,
    private readonly receipts: ReceiptWatch,
    private readonly onTrouble: OnTxTrouble,
    /** Under the next nonce; resolves when mined. */
    private readonly sendAnew: (request: Required<TxRequest>) => Promise<TxReceipt>,
    reorgDepth: number,
  ) {
    this.#left = new OrphanIndex(reorgDepth);
  }

  /** Tracks the transactions of earlier runs again. */
  resume(intents: Iterable<TxIntent>): void {
    for (const { nonce, to, data, gas, versions } of intents) {
      const tx = new WalletTx(nonce, { to, data, gas }, versions);
      this.nonces.track(tx);
      this.#left.add(tx.request, this.#settle(tx, 'an earlier run left it unsettled'));
    }
  }

  /** Tracks transactions that a reorg removed, or may have. They have no caller any more, and keep their nonces. */
  revive(mined: readonly WalletTx[]): void {
    for (const tx of mined) {
      this.nonces.track(tx);
      this.#left.add(tx.request, this.#settle(tx, 'a reorg took it back: sent again', true));
    }
  }

  /** The chain was read to the end of this block. */
  onRead(blockNumber: number): void {
    this.#left.read(blockNumber);
  }

  /** The receipt of a pending transaction with the same purpose. Null: the caller must send its own. */
  find(request: TxRequest): Promise<TxReceipt | null> | undefined {
    return this.#left.find(request);
  }

  /** A transaction with this quote (hex digits), pending or in a block not yet read. Null: given up. */
  findWith(digits: () => string, isRead: (blockNumber: number) => boolean): Promise<TxReceipt | null> | undefined {
    return this.#left.findWith(digits, isRead);
  }

  /**
   * Fills missing nonces with empty transfers to the wallet itself, so that later nonces can be mined. Calls must not
   * overlap: all transactions behind a gap find it at the same time, and it must be closed once.
   */
  async closeGapsBefore(tx: WalletTx): Promise<void> {
    const gaps = await this.nonces.gapsBefore(tx);
    this.revive(this.nonces.takenBack());
    if (gaps === null) return this.onTrouble(tx.nonce, TOO_FAR_AHEAD);
    if (gaps.length === 0) return;
    const nothing = { to: this.sender.address, data: '0x' as const };
    const gas = await this.sender.estimate(nothing);
    for (const nonce of gaps) {
      const closing = this.nonces.beginAt(nonce, { ...nothing, gas });
      void this.#settle(closing, 'nobody sends it: closed by an empty transaction');
    }
  }

  /** `isTakenBack`: a reorg may have removed it. Requests for the same then join it, even if it is still mined. */
  async #settle(tx: WalletTx, why: string, isTakenBack = false): Promise<OrphanOutcome> {
    try {
      await this.sender.learnHashes(tx);
      let wasUsed = false;
      try {
        wasUsed = await this.nonces.isUsed(tx);
        if (!wasUsed) {
          this.onTrouble(tx.nonce, why);
          await this.sender.send(tx, await this.sender.feesAgain(tx, false));
        }
      } catch {
        // The node did not answer: the tracker's first round retries.
      }
      const receipt = await this.tracker.untilUsed(tx);
      if (receipt !== null) return { receipt, wasThere: wasUsed && !isTakenBack };
      const { to, data } = tx.request;
      const isNothing = to === this.sender.address && data === '0x';
      return { receipt: isNothing ? null : await this.#sendAnew(tx.request), wasThere: false };
    } catch (error) {
      if (!(error instanceof WalletStopped)) this.onTrouble(tx.nonce, `given up: ${(error as Error).message}`);
      return { receipt: null, wasThere: false };
    }
  }

  /** No caller would retry, so this retries until a node answers. */
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

/** Identifies what a transaction does, whatever its nonce and fees. */
interface Purpose {
  readonly to: Hex;
  readonly data: Hex;
}

export interface OrphanOutcome {
  /** Null: it was given up. */
  readonly receipt: TxReceipt | null;
  /** It was mined before this run looked: a new request for the same means another transaction. */
  readonly wasThere: boolean;
}

interface LeftTx {
  readonly end: Promise<OrphanOutcome>;
  /** Hex digits of the quotes in it: searching the calldata for each of thousands of quotes would be slow. */
  readonly quotes: ReadonlySet<string>;
  /** Null until mined. The reader may not have reached its block yet, so its effects are unknown until then. */
  mined: TxReceipt | null;
}

/**
 * Finds orphaned transactions by purpose and by quote until their blocks have been read. Clients retry requests without
 * an answer, or undone by a reorg: a retry joins the pending transaction, so that the wallet does not pay twice.
 */
export class OrphanIndex {
  readonly #left = new Map<string, LeftTx>();

  /** `reorgDepth`: blocks after which every reader has read a block. */
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

  /** The receipt of a pending one; null: the caller must send its own. */
  find(purpose: Purpose): Promise<TxReceipt | null> | undefined {
    // The index is mostly empty, and hashing calldata is slow.
    if (this.#left.size === 0) return undefined;
    const left = this.#left.get(nameOf(purpose));
    if (left?.mined !== null) return undefined;
    return left.end.then(({ receipt, wasThere }) => (wasThere ? null : receipt));
  }

  /**
   * The receipt of a transaction that publishes this quote and is pending, or mined in a block not yet read. Null: it
   * was given up.
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
