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
import { type Fees, WalletTx, type TxAccount, type TxReceipt, type TxRequest } from './transaction.js';
import { TxSender } from './tx-sender.js';
import { type OnTxTrouble, ReceiptWatch, type ResendLimits, TxTracker } from './tx-tracker.js';

export interface WalletLimits extends NonceMemory, ResendLimits {
  /** Transactions sent and not yet mined; further ones wait their turn. */
  readonly inFlight: number;
  /** Transactions waiting for a place; beyond it `send` rejects with WalletBusy. */
  readonly waiting: number;
  readonly receiptPollMs: number;
  /** Wei per gas: no transaction offers more, whatever the node asks. */
  readonly maxFeePerGas: bigint;
}

/** What a transaction takes, asked for before it is known whether it will be sent. */
export interface PreparedTx {
  /** Its limit. */
  readonly gas: Promise<bigint>;
  /** What the chain asks; by then the wallet knows, too, which nonce is next. */
  readonly fees: Promise<Fees>;
}

/** Another's end is awaited: it has the nonce, and is the very same. */
interface Joined {
  readonly joined: Promise<TxReceipt | null>;
}

/**
 * One key on one chain. Nonces are given out one at a time, in the order of sending, and what each is for is written
 * down before anything is signed. A transaction is sent again under its nonce, for more, until the nonce is used up: by
 * itself, which ends it, or by another signer's, after which it is sent anew under the next one. So none is dropped,
 * none is mined twice, and a restart goes on where the crash was.
 */
export class Wallet {
  readonly address: Hex;
  readonly #sender: TxSender;
  readonly #nonces: NonceManager;
  readonly #slots: TxSemaphore;
  readonly #receipts: ReceiptWatch;
  readonly #sent: TxTracker;
  readonly #orphans: OrphanedTxs;
  #sending: Promise<unknown> = Promise.resolve();

  constructor(
    rpc: Rpc,
    chainId: number,
    account: TxAccount,
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
    this.#sent = new TxTracker(this.#sender, this.#nonces, this.#receipts, limits, onTrouble, {
      mined: (nonce, receipt) => this.onMined?.(nonce, receipt),
      lost: (nonce) => this.onLost?.(nonce),
      unblock: (tx) => this.#inTurn(() => this.#orphans.closeGapsBefore(tx)),
    });
    const sendAnew = (request: Required<TxRequest>): Promise<TxReceipt> => this.#sendUntilMined(request, request.gas);
    this.#orphans = new OrphanedTxs(
      this.#sender,
      this.#nonces,
      this.#sent,
      this.#receipts,
      onTrouble,
      sendAnew,
      limits.reorgDepth,
    );
  }

  /** Takes up what earlier runs left. Called once, before anything is sent. */
  resume(): void {
    this.#orphans.resume(this.intents.kept);
  }

  /** A new block may hold what is waited for: look now. */
  onHead(): void {
    this.#nonces.forgetSettled().catch(() => undefined); // a log that fails says so itself
    this.#receipts.onHead();
  }

  /** The chain was read to the end of this block: reorgs tell of those up to it, and of no later ones. */
  onRead(block: BlockId): void {
    this.#orphans.onRead(block.blockNumber);
    this.#orphans.revive(this.#nonces.read(block));
  }

  /**
   * The chain has another branch now, from the block after this one on. What was mined in later ones is followed again
   * until it is mined, or another signer's is in its place: the count of nonces alone would not tell one from the other.
   */
  onReorg(ancestorNumber: number): void {
    this.#orphans.revive(this.#nonces.goBackTo(ancestorNumber));
  }

  /** Rejects all that waits with WalletStopped. What was sent may still be mined. */
  stop(): void {
    this.#receipts.stop();
  }

  /** Its promises reject as `send` would for that, and need not be listened to. */
  prepare(request: TxRequest): PreparedTx {
    const gas = this.#sender.estimate(request);
    const fees = this.#inTurn(() => this.#look());
    gas.catch(() => undefined);
    fees.catch(() => undefined);
    return { gas, fees };
  }

  /**
   * Resolves when mined, however long that takes: how long they wait is for callers to say. Rejects with InsufficientFunds,
   * WouldRevert, TxRefused, IntentNotPersisted, WalletBusy, WalletStopped, or the chain's own error. `means`: what `prepare`
   * gave for the same. The very same that an earlier run sent and is not mined yet, or that a reorg may have taken back,
   * is not sent again.
   */
  async send(request: TxRequest, means?: PreparedTx): Promise<TxReceipt> {
    const left = this.#orphans.find(request);
    const joined = left === undefined ? null : await left;
    if (joined !== null) return joined;
    await this.#slots.take();
    try {
      this.#receipts.checkRunning();
      this.checkMaySpend?.();
      const gas = request.gas ?? means?.gas ?? this.#sender.estimate(request);
      return await this.#sendUntilMined(request, gas, means?.fees, true);
    } catch (error) {
      if (error instanceof RpcError) this.onTrouble(null, `not sent: ${error.message}`); // clients get the code alone
      throw error;
    } finally {
      this.#slots.give();
    }
  }

  /**
   * One that nobody waits for, an earlier run's or what a reorg took back, that publishes the quote of these hex digits,
   * as long as the block that it is mined in has not been read: its end, which is null where it was given up.
   */
  orphanWith(digits: () => string, isRead: (blockNumber: number) => boolean): Promise<TxReceipt | null> | undefined {
    return this.#orphans.findWith(digits, isRead);
  }

  /** Throws where no more may be spent. What waits for a place has been let in before that, so it is asked again. */
  protected checkMaySpend?(): void;

  /** Whoever sent it waits for this, too. Called again when a reorg took the transaction back and it was mined anew. */
  protected onMined?(nonce: number, receipt: TxReceipt): Promise<void>;

  /** Another signer's transaction was mined under the nonce. */
  protected onLost?(nonce: number): Promise<void>;

  /**
   * The node may still estimate the gas while earlier transactions are sent; a failure of that is told when its turn has
   * come. `mayJoin`: where a reorg turns out by then to have taken back the very same, it joins that one.
   */
  async #sendUntilMined(
    request: TxRequest,
    gas: bigint | Promise<bigint>,
    fees?: Promise<Fees>,
    mayJoin = false,
  ): Promise<TxReceipt> {
    const estimate = Promise.resolve(gas);
    estimate.catch(() => undefined);
    for (let known = fees; ; known = undefined) {
      const sent = await this.#inTurn(() => this.#sendNext(request, estimate, known, mayJoin));
      const receipt = sent instanceof WalletTx ? await this.#sent.untilUsed(sent) : await sent.joined;
      if (receipt !== null) return receipt;
    }
  }

  /** One at a time: a nonce is only given out once its predecessor has been sent. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#sending.then(task, task);
    this.#sending = result.catch(() => undefined);
    return result;
  }

  /** Sends under the next nonce. What the node refused was not sent: its nonce is free again. */
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
    this.checkMaySpend?.();
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
      // When even that can't be written down, the next run sends what its caller was told is refused; nothing worse.
      await this.#nonces.forget(tx).catch(() => undefined);
      throw this.#sender.named(error);
    }
  }

  async #look(): Promise<Fees> {
    const [fees] = await settleBoth(this.#sender.currentFees(), this.#nonces.look());
    return fees;
  }
}

/** So many transactions under way at once; others wait their turn, so many of them. */
class TxSemaphore {
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly places: number,
    private readonly waiting: number,
  ) {}

  /** Rejects with WalletBusy when too many wait. */
  async take(): Promise<void> {
    if (this.#taken < this.places) {
      this.#taken++;
      return;
    }
    if (this.#waiting.length >= this.waiting) throw new WalletBusy('Too many transactions wait');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The place passes straight to whoever waits longest, so that no newcomer slips in between. */
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken--;
    else next();
  }
}
