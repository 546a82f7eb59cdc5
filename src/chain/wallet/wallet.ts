import type { Clock } from '../../engine/ports.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import { settleBoth } from '../../system/timers.js';
import type { BlockId } from '../contracts/blocks-and-logs.js';
import { RpcError } from '../rpc/rpc-errors.js';
import { TxRefused, WalletBusy } from './errors.js';
import type { IntentLog } from './intent-log.js';
import { NonceManager, type NonceMemory } from './nonce-manager.js';
import { OrphanedTxs } from './orphaned-txs.js';
import type { WalletSpending } from './spending.js';
import { type Fees, WalletTx, type TxAccount, type TxReceipt, type TxRequest } from './transaction.js';
import { TxSender } from './tx-sender.js';
import { type OnTxTrouble, ReceiptWatch, type ResendLimits, TxTracker } from './tx-tracker.js';

export interface WalletLimits extends NonceMemory, ResendLimits {
  /** Most transactions sent and not yet mined; further ones wait. */
  readonly inFlight: number;
  /** Most waiting transactions; beyond that `send` rejects with WalletBusy. */
  readonly waiting: number;
  readonly receiptPollMs: number;
  /** Wei per gas; the upper limit of every transaction. */
  readonly maxFeePerGas: bigint;
}

/** Gas and fees of a transaction, requested before it is certain that it will be sent. */
export interface PreparedTx {
  /** The gas limit. */
  readonly gas: Promise<bigint>;
  /** Current fees; when it resolves the wallet also knows the next nonce. */
  readonly fees: Promise<Fees>;
}

/** The request joins a pending transaction with the same purpose. */
interface Joined {
  readonly joined: Promise<TxReceipt | null>;
}

/**
 * One key on one chain. The wallet assigns nonces one at a time, in the order of sending, and logs the intent of each
 * before it signs. It resends a transaction with higher fees until its nonce is used. If another signer used the nonce,
 * the wallet sends the transaction again under the next one. So no transaction is dropped or mined twice, and a restart
 * resumes where a crash stopped.
 */
export class Wallet {
  readonly address: Hex;
  readonly #sender: TxSender;
  readonly #nonces: NonceManager;
  readonly #slots: TxSemaphore;
  readonly #receipts: ReceiptWatch;
  readonly #tracker: TxTracker;
  readonly #orphans: OrphanedTxs;
  #sending: Promise<unknown> = Promise.resolve();

  constructor(
    /** Counts what the wallet spends, and says whether it may spend more. */
    readonly spending: WalletSpending,
    rpc: Rpc,
    chainId: number,
    private readonly account: TxAccount,
    private readonly intents: IntentLog,
    clock: Clock,
    private readonly limits: WalletLimits,
    private readonly onTrouble: OnTxTrouble,
  ) {
    this.#sender = new TxSender(rpc, chainId, account, intents, limits.maxFeePerGas);
    this.address = this.#sender.address;
    this.#nonces = new NonceManager(rpc, this.address, intents, limits);
    this.#slots = new TxSemaphore(limits.inFlight, limits.waiting);
    this.#receipts = new ReceiptWatch(rpc, clock, limits.receiptPollMs);
    this.#tracker = new TxTracker(this.#sender, this.#nonces, this.#receipts, limits, onTrouble, {
      mined: (nonce, { feeWei }) => spending.mined(nonce, feeWei),
      lost: (nonce) => spending.lost(nonce),
      unblock: (tx) => this.#inTurn(() => this.#orphans.closeGapsBefore(tx)),
    });
    const sendAnew = (request: Required<TxRequest>): Promise<TxReceipt> => this.#sendUntilMined(request, request.gas);
    this.#orphans = new OrphanedTxs(
      this.#sender,
      this.#nonces,
      this.#tracker,
      this.#receipts,
      onTrouble,
      sendAnew,
      limits.reorgDepth,
    );
  }

  /** Signs a digest that is no transaction's, such as a quote's: 65 bytes, r, s and v. */
  sign(digest: Hex): Promise<Hex> {
    return this.account.sign({ hash: digest });
  }

  /** Resumes the transactions of earlier runs. Called once, before the first `send`. */
  resume(): void {
    this.#orphans.resume(this.intents.kept);
  }

  /** A new block may contain an awaited transaction: poll for receipts now. */
  onHead(): void {
    this.#nonces.forgetSettled().catch(() => undefined); // the log reports its own failures
    this.#receipts.onHead();
  }

  /** The reader has read to the end of this block: `onReorg` covers blocks up to it, and no later ones. */
  onRead(block: BlockId): void {
    this.#orphans.onRead(block.blockNumber);
    this.#orphans.revive(this.#nonces.read(block));
  }

  /**
   * The chain has another branch after this block. Transactions of removed blocks are tracked again until they, or
   * another signer's with the same nonce, are mined: the nonce count alone does not show which of them was.
   */
  onReorg(ancestorNumber: number): void {
    this.#orphans.revive(this.#nonces.goBackTo(ancestorNumber));
  }

  /** Rejects all pending calls with WalletStopped. Sent transactions may still be mined. */
  stop(): void {
    this.#receipts.stop();
  }

  /** Requests gas and fees ahead of `send`. Its promises reject as `send` would, and may be ignored. */
  prepare(request: TxRequest): PreparedTx {
    const gas = this.#sender.estimate(request);
    const fees = this.#inTurn(() => this.#look());
    gas.catch(() => undefined);
    fees.catch(() => undefined);
    return { gas, fees };
  }

  /**
   * Resolves when mined, however long that takes; callers set their own deadlines. Rejects with InsufficientFunds,
   * SpendCapReached, WouldRevert, TxRefused, IntentNotPersisted, WalletBusy, WalletStopped, or the chain's error.
   * `prepared`: the result of `prepare` for the same request. If an earlier run sent the same transaction and it is not
   * mined yet, or a reorg may have removed it, the call joins that one. `onSent` is called once a node has it.
   */
  async send(request: TxRequest, prepared?: PreparedTx, onSent?: (txHash: Hex) => void): Promise<TxReceipt> {
    this.spending.check(this.address);
    const left = this.#orphans.find(request);
    const joined = left === undefined ? null : await left;
    if (joined !== null) return joined;
    await this.#slots.take();
    try {
      this.#receipts.checkRunning();
      this.spending.check(this.address);
      const gas = request.gas ?? prepared?.gas ?? this.#sender.estimate(request);
      return await this.#sendUntilMined(request, gas, prepared?.fees, true, onSent);
    } catch (error) {
      if (error instanceof RpcError) this.onTrouble(null, `not sent: ${error.message}`); // clients get only the code
      throw error;
    } finally {
      this.#slots.give();
    }
  }

  /**
   * The receipt of an orphaned transaction (an earlier run's, or one that a reorg removed) with the quote of these hex
   * digits, until its block has been read. Null: it was given up.
   */
  orphanWith(digits: () => string, isRead: (blockNumber: number) => boolean): Promise<TxReceipt | null> | undefined {
    return this.#orphans.findWith(digits, isRead);
  }

  /**
   * The gas estimate may run while earlier transactions are sent; its failure is reported when the turn comes. `mayJoin`:
   * if a reorg has removed the same transaction meanwhile, the call joins that one.
   */
  async #sendUntilMined(
    request: TxRequest,
    gas: bigint | Promise<bigint>,
    fees?: Promise<Fees>,
    mayJoin = false,
    onSent?: (txHash: Hex) => void,
  ): Promise<TxReceipt> {
    const estimate = Promise.resolve(gas);
    estimate.catch(() => undefined);
    for (let known = fees; ; known = undefined) {
      const sent = await this.#inTurn(() => this.#sendNext(request, estimate, known, mayJoin));
      const txHash = sent instanceof WalletTx ? sent.hashes.at(-1) : undefined;
      if (txHash !== undefined) onSent?.(txHash);
      const receipt = sent instanceof WalletTx ? await this.#tracker.untilUsed(sent) : await sent.joined;
      if (receipt !== null) return receipt;
    }
  }

  /** Runs tasks one at a time: a nonce is assigned only after its predecessor has been sent. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#sending.then(task, task);
    this.#sending = result.catch(() => undefined);
    return result;
  }

  /** Sends under the next nonce. If the node refuses the transaction its nonce is free again. */
  async #sendNext(
    { to, data }: TxRequest,
    estimate: Promise<bigint>,
    known: Promise<Fees> | undefined,
    mayJoin: boolean,
  ): Promise<WalletTx | Joined> {
    this.#receipts.checkRunning();
    const [gas, current] = await settleBoth(estimate, known ?? this.#look());
    this.#orphans.revive(this.#nonces.takenBack());
    const joined = mayJoin ? this.#orphans.find({ to, data }) : undefined;
    if (joined !== undefined) return { joined };
    this.spending.check(this.address);
    const request = { to, data, gas };
    let fees = current;
    let tx = this.#nonces.begin(request);
    try {
      for (let attempt = 0; attempt <= this.limits.resends; attempt++) {
        const outcome = await this.#sender.send(tx, fees);
        if (outcome === 'SENT') return tx;
        if (outcome === 'UNDERPRICED') fees = await this.#sender.raised(fees);
        else {
          await this.#nonces.forget(tx);
          await this.#nonces.look();
          tx = this.#nonces.begin(request, tx.nonce + 1);
        }
      }
      throw new TxRefused(`The node would not take it in ${this.limits.resends + 1} tries`);
    } catch (error) {
      // If this write fails too, the next run sends a transaction whose caller got an error; nothing worse.
      await this.#nonces.forget(tx).catch(() => undefined);
      throw this.#sender.named(error);
    }
  }

  async #look(): Promise<Fees> {
    const [fees] = await settleBoth(this.#sender.currentFees(), this.#nonces.look());
    return fees;
  }
}

/** Bounds the transactions in flight, and those that wait. */
class TxSemaphore {
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly places: number,
    private readonly waiting: number,
  ) {}

  /** Rejects with WalletBusy if too many wait. */
  async take(): Promise<void> {
    if (this.#taken < this.places) {
      this.#taken++;
      return;
    }
    if (this.#waiting.length >= this.waiting) throw new WalletBusy('Too many transactions wait');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Hands the place to the longest waiting transaction, so that no newcomer overtakes it. */
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken--;
    else next();
  }
}
