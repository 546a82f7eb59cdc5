import type { Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import type { GasRefusal } from '../../quota/gas-budget.js';
import { Deadline } from '../../system/timers.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { chainFailureText, unlessChainFails, revertName, revertText } from '../contracts/contract-errors.js';
import {
  InsufficientFunds,
  IntentNotPersisted,
  SpendCapReached,
  TxRefused,
  WalletBusy,
  WalletStopped,
  WouldRevert,
} from './errors.js';
import type { TxReceipt, TxRequest } from './transaction.js';
import type { Wallet } from './wallet.js';

/** The outcome of one transaction; `reason` is for people. */
export type TxOutcome =
  | { readonly type: 'DONE'; readonly receipt: Pick<TxReceipt, 'txHash' | 'blockNumber' | 'blockHash'> }
  /** `name`: the contract's error, null when it is not known. Nothing happened. */
  | { readonly type: 'REVERTED'; readonly name: string | null; readonly reason: string }
  /** It could not be sent, or was not mined. */
  | { readonly type: 'FAILED'; readonly reason: string };

/** One transaction, from the call of `send` on. */
export interface Submission {
  /** The outcome, or TOO_LONG after the deadline. By then the gas account has been charged. */
  readonly outcome: Promise<TxOutcome | 'TOO_LONG'>;
  /** The final outcome: the wallet goes on after the deadline, however long it takes. */
  readonly end: Promise<TxOutcome>;
}

/** Outcome and gas: 0 if the transaction was not sent, null if it may still be mined. */
interface Ended {
  readonly outcome: TxOutcome;
  readonly gasUsed: bigint | null;
  /** The wallet's spending cap rejected it; the cap ends in this many milliseconds. */
  readonly capWaitMs?: number;
}

/** Sends with the operator's wallet on the settlement chain, and decodes why a transaction reverted. */
export class Operator {
  constructor(
    private readonly wallet: Pick<Wallet, 'address' | 'send'>,
    private readonly reader: Pick<ChainReader, 'call'>,
    /** Called for each mined transaction, so that the reader reads its events at once. */
    private readonly onMined: (receipt: TxReceipt) => void,
    private readonly clock: Clock,
    /** Milliseconds that a request waits for one transaction. The wallet goes on with it. */
    private readonly patienceMs: number,
  ) {}

  get address(): Hex {
    return this.wallet.address;
  }

  /** The deadline of a request that arrives now. */
  deadline(): Deadline {
    return new Deadline(this.clock, this.patienceMs);
  }

  /** Ends when the transaction is mined, or can never be. Charges `gasAccount` once. */
  send(request: TxRequest, gasAccount: Pick<GasAccount, 'sent' | 'capped' | 'mined'>): Submission {
    const ended = this.#send(request, gasAccount);
    const end = ended.then(({ outcome }) => outcome);
    // `outcome` reports the failure; without a listener on `end` the rejection would be unhandled.
    end.catch(() => undefined);
    return { outcome: this.#charged(ended, gasAccount), end };
  }

  async #charged(
    ended: Promise<Ended>,
    gasAccount: Pick<GasAccount, 'sent' | 'capped'>,
  ): Promise<TxOutcome | 'TOO_LONG'> {
    const soon = await this.deadline().wait(ended);
    if (soon === 'TOO_LONG') {
      gasAccount.sent(null);
      return soon;
    }
    const { outcome, gasUsed, capWaitMs } = soon;
    if (gasUsed !== 0n) gasAccount.sent(gasUsed);
    if (capWaitMs !== undefined) gasAccount.capped(capWaitMs);
    return outcome;
  }

  async #send(request: TxRequest, gasAccount: Pick<GasAccount, 'mined'>): Promise<Ended> {
    try {
      const receipt = await this.wallet.send(request);
      this.onMined(receipt);
      const { succeeded, gasUsed, txHash } = receipt;
      gasAccount.mined?.(txHash, succeeded);
      return { outcome: succeeded ? { type: 'DONE', receipt } : await this.#revertReason(request, receipt), gasUsed };
    } catch (error) {
      if (error instanceof WouldRevert) return { outcome: reverted(error.data), gasUsed: 0n };
      const outcome = failed(failureText(error));
      if (error instanceof SpendCapReached) return { outcome, gasUsed: 0n, capWaitMs: error.waitMs };
      return { outcome, gasUsed: error instanceof WalletStopped ? null : 0n };
    }
  }

  /**
   * A receipt has no reason: the same call at the end of its block gives it, unless a later transaction of the block
   * removed the cause.
   */
  async #revertReason(request: TxRequest, { blockNumber, txHash }: TxReceipt): Promise<TxOutcome> {
    const again = await unlessChainFails(() => this.reader.call(request, blockNumber, this.address), null);
    if (again?.reverted === true) return reverted(again.data);
    return { type: 'REVERTED', name: null, reason: `The transaction ${txHash} reverted` };
  }
}

function reverted(data: Hex): TxOutcome {
  return { type: 'REVERTED', name: revertName(data), reason: revertText(data) };
}

function failed(reason: string): TxOutcome {
  return { type: 'FAILED', reason };
}

const WALLET_FAILURES = [InsufficientFunds, IntentNotPersisted, TxRefused, WalletBusy, WalletStopped];

function failureText(error: unknown): string {
  const ofWallet = WALLET_FAILURES.some((type) => error instanceof type);
  return ofWallet ? (error as Error).message : chainFailureText(error);
}

/** The account that the transactions of one request are charged to. */
export interface GasAccount {
  /**
   * Reserves the gas of this many transactions, or returns why none may be sent. Zero are never refused. `gasEach`: where
   * it depends on the request.
   */
  take(transactions: number, gasEach?: number): GasRefusal | null;
  /** A transaction was mined and used this much gas; null: it was sent, and may still be mined. */
  sent(gasUsed: bigint | null): void;
  /** A transaction was mined, maybe long after the request was answered. Absent: nobody records it. */
  mined?(txHash: Hex, succeeded: boolean): void;
  /** A transaction was not sent: the wallet has reached its cap, and may spend again in `waitMs`. */
  capped(waitMs: number): void;
}
