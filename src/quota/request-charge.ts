import type { Hex } from '../engine/quote.js';
import type { GasRefusal } from './gas-refusal.js';
import type { OperatorGas } from './operator-gas.js';
import type { QuotaHolder } from './tier-quotas.js';

/** Gas of the operator's transactions on the settlement chain, measured on the local one: a little more than most. */
export const GAS_PER_DEPLOYMENT = 260_000;
export const GAS_PER_SETTLEMENT = 135_000;

/** The wallet that sends, as far as its cap goes. */
export interface CappedSender {
  readonly address: Hex;
  /** 0: it may spend; else in how many milliseconds it may again. */
  waitMs(): number;
}

/**
 * What one request has the operator's wallet send. What its transactions may cost is taken from the key's day before
 * any of them is sent; once they are mined the key is charged with what they did cost.
 */
export class RequestCharge {
  #taken = 0;
  #takenMs = 0;
  #used = 0;
  #capWaitMs = 0;

  constructor(
    private readonly operatorGas: OperatorGas,
    private readonly sender: CappedSender,
    private readonly holder: QuotaHolder,
    private readonly gasPerTx: number,
  ) {}

  /** Does the work and charges for it. Where the wallet's cap let it send nothing at all, that is the outcome. */
  async run<T>(work: (charge: RequestCharge) => Promise<T>): Promise<T | GasRefusal> {
    try {
      const result = await work(this);
      return this.#capWaitMs > 0 && this.#used === 0 ? this.#spendCap(this.#capWaitMs) : result;
    } finally {
      await this.operatorGas.settleGas(this.holder, this.#taken, this.#used, this.#takenMs);
    }
  }

  /** For so many transactions, or none: then it says why. To be called once, before the first is sent. */
  take(transactions: number): GasRefusal | null {
    if (transactions === 0) return null;
    const capWaitMs = this.sender.waitMs();
    if (capWaitMs > 0) return this.#spendCap(capWaitMs);
    if (!this.operatorGas.canKeep(this.holder)) return { type: 'STORAGE_FULL' };
    const gas = transactions * this.gasPerTx;
    const retryAfterMs = this.operatorGas.takeGas(this.holder, gas);
    if (retryAfterMs > 0) return { type: 'OVER_BUDGET', retryAfterMs };
    this.#taken = gas;
    this.#takenMs = this.operatorGas.nowMs();
    return null;
  }

  /** A transaction was mined and used so much gas; null: it may still be, and counts as what was taken for it. */
  sent(gasUsed: bigint | null): void {
    this.#used += gasUsed === null ? this.gasPerTx : Number(gasUsed);
  }

  /** A transaction was not sent: the wallet may spend again in so many milliseconds. */
  capped(waitMs: number): void {
    this.#capWaitMs = waitMs;
  }

  #spendCap(retryAfterMs: number): GasRefusal {
    return { type: 'SPEND_CAP', wallet: this.sender.address, retryAfterMs };
  }
}
