import type { Clock } from '../engine/ports.js';

const DAY_MS = 24 * 60 * 60_000;

/** What one wallet has spent on gas in 24 hours, counted from the first transaction on, and whether it may spend more. */
export class WalletSpending {
  readonly #capWei: bigint | null;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #endsMs = 0;
  #spentWei = 0n;

  /** `capWei` null: it may spend what it has. */
  constructor(capWei: bigint | null, clock: Pick<Clock, 'monotonicMs'>) {
    this.#capWei = capWei;
    this.#clock = clock;
  }

  get spentWei(): bigint {
    this.#roll();
    return this.#spentWei;
  }

  /** A transaction was mined. Those under way when the cap is reached are still paid for. */
  add(feeWei: bigint): void {
    this.#roll();
    this.#spentWei += feeWei;
  }

  /** 0: it may spend; else in how many milliseconds it may again. */
  waitMs(): number {
    this.#roll();
    if (this.#capWei === null || this.#spentWei < this.#capWei) return 0;
    return Math.max(1, Math.ceil(this.#endsMs - this.#clock.monotonicMs()));
  }

  #roll(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#endsMs) return;
    this.#endsMs = nowMs + DAY_MS;
    this.#spentWei = 0n;
  }
}
