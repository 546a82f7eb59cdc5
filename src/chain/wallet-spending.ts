import type { KeptValues } from '../engine/ports.js';

const DAY_MS = 24 * 60 * 60_000;

export interface WalletSpendingOptions {
  /** Null: it may spend what it has. */
  readonly capWei: bigint | null;
  /** Goes on where it was after a restart. */
  readonly nowMs: () => number;
  /** Nonces whose fees are remembered: all that a reorg may take back, or that a restart looks at again. */
  readonly remembered: number;
  /** Where it is kept, under this name; null: it is forgotten with the process. */
  readonly kept: { readonly values: KeptValues; readonly name: string } | null;
}

/**
 * What one wallet has spent on gas in 24 hours, counted from the first transaction on, and whether it may spend more.
 */
export class WalletSpending {
  readonly #options: WalletSpendingOptions;
  #endsMs = 0;
  #spentWei = 0n;
  /** What was counted for each nonce, oldest first: it is counted once, however often it is mined. */
  readonly #feesWei = new Map<number, bigint>();

  constructor(options: WalletSpendingOptions) {
    this.#options = options;
    this.#goOn();
  }

  get spentWei(): bigint {
    this.#roll();
    return this.#spentWei;
  }

  /**
   * The nonce's transaction was mined, or found to be mined by an earlier run, or mined anew after a reorg. Those under
   * way when the cap is reached are still paid for. What is counted outlives the process when it resolves.
   */
  mined(nonce: number, feeWei: bigint): Promise<void> {
    this.#count(feeWei - (this.#feesWei.get(nonce) ?? 0n));
    this.#feesWei.set(nonce, feeWei);
    for (const oldest of this.#feesWei.keys()) {
      if (this.#feesWei.size <= this.#options.remembered) break;
      this.#feesWei.delete(oldest);
    }
    return this.#keep();
  }

  /** The nonce went to another signer's transaction: what was counted for ours, before a reorg, was not spent. */
  async lost(nonce: number): Promise<void> {
    const feeWei = this.#feesWei.get(nonce);
    if (feeWei === undefined) return;
    this.#count(-feeWei);
    this.#feesWei.delete(nonce);
    await this.#keep();
  }

  /** 0: it may spend; else in how many milliseconds it may again. */
  waitMs(): number {
    this.#roll();
    const { capWei, nowMs } = this.#options;
    if (capWei === null || this.#spentWei < capWei) return 0;
    return Math.max(1, Math.ceil(this.#endsMs - nowMs()));
  }

  #count(feeWei: bigint): void {
    this.#roll();
    this.#spentWei += feeWei;
    // What is taken back may have been counted the day before.
    if (this.#spentWei < 0n) this.#spentWei = 0n;
  }

  #roll(): void {
    const nowMs = this.#options.nowMs();
    if (nowMs < this.#endsMs) return;
    this.#endsMs = nowMs + DAY_MS;
    this.#spentWei = 0n;
  }

  /**
   * A disk that fails ends the process by itself. On one that is full, what is in memory counts on, and is kept with
   * the next change.
   */
  async #keep(): Promise<void> {
    const { kept } = this.#options;
    const feesWei = [...this.#feesWei].map(([nonce, feeWei]) => [nonce, `${feeWei}`]);
    const value = { endsMs: this.#endsMs, spentWei: `${this.#spentWei}`, feesWei };
    await kept?.values.put(kept.name, value).catch(() => undefined);
  }

  #goOn(): void {
    const { kept } = this.#options;
    const found = kept?.values.found.get(kept.name);
    if (found === undefined) return;
    const { endsMs, spentWei, feesWei } = found as { endsMs?: unknown; spentWei?: unknown; feesWei?: unknown };
    if (!Number.isSafeInteger(endsMs) || typeof spentWei !== 'string' || !Array.isArray(feesWei)) {
      throw new Error('What a wallet has spent was kept in a form that is not understood');
    }
    this.#endsMs = endsMs as number;
    this.#spentWei = BigInt(spentWei);
    for (const [nonce, feeWei] of feesWei as [number, string][]) this.#feesWei.set(nonce, BigInt(feeWei));
  }
}
