import type { Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import type { GasRefusal } from '../../quota/gas-budget.js';
import { Deadline } from '../../system/timers.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { chainFailureText, isChainFailure, revertName, revertText } from '../contracts/contract-errors.js';
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

/** What became of one transaction, in words for whoever asked for it. */
export type TxOutcome =
  | { readonly type: 'DONE' }
  /** `name`: the contract's error, null when it is not known. Nothing happened. */
  | { readonly type: 'REVERTED'; readonly name: string | null; readonly reason: string }
  /** It could not be sent, or was not mined. */
  | { readonly type: 'FAILED'; readonly reason: string };

/** One transaction, from when it is asked for. */
export interface Submission {
  /** What came of it, unless that takes longer than anybody waits. The payer has been told by then. */
  readonly outcome: Promise<TxOutcome | 'TOO_LONG'>;
  /** What came of it in the end: the wallet goes on however long it takes. */
  readonly end: Promise<TxOutcome>;
}

/** What became of it and what it cost: 0 where it was not sent, null where it may still be mined. */
interface Ended {
  readonly outcome: TxOutcome;
  readonly gasUsed: bigint | null;
  /** The wallet's cap was in the way, for so many milliseconds. */
  readonly capWaitMs?: number;
}

/** What those hear for whom it takes too long. */
export const NOT_CONFIRMED = 'Transaction not confirmed yet';

/** The operator on the settlement chain: sends with the operator's wallet and says what came of it, by name. */
export class Operator {
  constructor(
    private readonly wallet: Pick<Wallet, 'address' | 'send'>,
    private readonly reader: Pick<ChainReader, 'call'>,
    /** Told of each mined transaction, so that its events are read at once. */
    private readonly onMined: (receipt: TxReceipt) => void,
    private readonly clock: Clock,
    /** How long somebody waits for one transaction, in milliseconds. The wallet goes on with it. */
    private readonly patienceMs: number,
  ) {}

  get address(): Hex {
    return this.wallet.address;
  }

  /** That of whoever asks now. */
  deadline(): Deadline {
    return new Deadline(this.clock, this.patienceMs);
  }

  /** It ends when mined, or when it is clear that it never will be. `payer` is told once what it costs. */
  send(request: TxRequest, payer: Pick<GasPayer, 'sent' | 'capped'>): Submission {
    const ended = this.#send(request);
    const end = ended.then(({ outcome }) => outcome);
    // Nobody may be left to hear of a failure by then, and it is no news to those who are.
    end.catch(() => undefined);
    return { outcome: this.#charged(ended, payer), end };
  }

  async #charged(ended: Promise<Ended>, payer: Pick<GasPayer, 'sent' | 'capped'>): Promise<TxOutcome | 'TOO_LONG'> {
    const soon = await this.deadline().wait(ended);
    if (soon === 'TOO_LONG') {
      payer.sent(null);
      return soon;
    }
    const { outcome, gasUsed, capWaitMs } = soon;
    if (gasUsed !== 0n) payer.sent(gasUsed);
    if (capWaitMs !== undefined) payer.capped(capWaitMs);
    return outcome;
  }

  async #send(request: TxRequest): Promise<Ended> {
    try {
      const receipt = await this.wallet.send(request);
      this.onMined(receipt);
      const { succeeded, gasUsed } = receipt;
      return { outcome: succeeded ? { type: 'DONE' } : await this.#whyReverted(request, receipt), gasUsed };
    } catch (error) {
      if (error instanceof WouldRevert) return { outcome: reverted(error.data), gasUsed: 0n };
      const outcome = failed(failureText(error));
      if (error instanceof SpendCapReached) return { outcome, gasUsed: 0n, capWaitMs: error.waitMs };
      return { outcome, gasUsed: error instanceof WalletStopped ? null : 0n };
    }
  }

  /**
   * A receipt has no reason: the same call at the end of that block gives it, unless the block has changed the cause.
   */
  async #whyReverted(request: TxRequest, { blockNumber, txHash }: TxReceipt): Promise<TxOutcome> {
    try {
      const again = await this.reader.call(request, blockNumber, this.address);
      if (again.reverted) return reverted(again.data);
    } catch (error) {
      if (!isChainFailure(error)) throw error;
    }
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

/** Whom the transactions of one request are charged to. */
export interface GasPayer {
  /** Takes ahead what so many of them may cost; else says why none may be sent. For none there is no refusal. */
  take(transactions: number): GasRefusal | null;
  /** One was mined and used so much gas; null: it was sent, and may still be mined. */
  sent(gasUsed: bigint | null): void;
  /** One was not sent: the wallet has spent its cap, and may spend again in so many milliseconds. */
  capped(waitMs: number): void;
}
