import type { Clock } from '../../engine/ports.js';
import type { KeyValueStore } from '../../persistence/disk/disk.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import { readWideQuantity } from '../rpc/rpc-response.js';
import { IntentNotPersisted, SpendCapReached } from './errors.js';
import { DAY_MS } from '../../system/timers.js';

export interface WalletSpendingOptions {
  /** Null: no cap. */
  readonly capWei: bigint | null;
  /** Must continue after a restart where it stopped. */
  readonly nowMs: () => number;
  /** Nonces whose fees are remembered: all that a reorg may take back, or that a restart looks at again. */
  readonly remembered: number;
  /** Where it is kept, under this name; null: it is forgotten with the process. */
  readonly kept: { readonly values: KeyValueStore; readonly name: string } | null;
}

/** The fee counted for one nonce, and the end of the day that it counts for. */
interface Counted {
  readonly feeWei: bigint;
  readonly endsMs: number;
}

/**
 * Counts the gas that one wallet spends within 24 hours from the first transaction, and applies its cap.
 */
export class WalletSpending {
  readonly #options: WalletSpendingOptions;
  #endsMs = 0;
  #spentWei = 0n;
  /** By nonce, oldest first: each is counted once, however often it is mined. */
  readonly #counted = new Map<number, Counted>();
  /** Why the last change was not kept; null: it was. */
  #unkept: { readonly cause: unknown } | null = null;

  constructor(options: WalletSpendingOptions) {
    this.#options = options;
    this.#restore();
  }

  get spentWei(): bigint {
    this.#roll();
    return this.#spentWei;
  }

  /**
   * Counts the nonce's transaction: mined now, in an earlier run, or again after a reorg. Transactions in flight when the
   * cap is reached still count. Durable when it resolves.
   */
  mined(nonce: number, feeWei: bigint): Promise<void> {
    this.#roll();
    const { feeWei: known, endsMs } = this.#counted.get(nonce) ?? { feeWei: 0n, endsMs: this.#endsMs };
    this.#count(feeWei - known, endsMs);
    this.#counted.set(nonce, { feeWei, endsMs });
    for (const oldest of this.#counted.keys()) {
      if (this.#counted.size <= this.#options.remembered) break;
      this.#counted.delete(oldest);
    }
    return this.#keep();
  }

  /** Another signer's transaction used the nonce: the fee counted before a reorg was not spent. */
  async lost(nonce: number): Promise<void> {
    const counted = this.#counted.get(nonce);
    if (counted === undefined) return;
    this.#roll();
    this.#count(-counted.feeWei, counted.endsMs);
    this.#counted.delete(nonce);
    await this.#keep();
  }

  /** 0 if the wallet may spend; else the milliseconds until it may again. */
  waitMs(): number {
    this.#roll();
    const { capWei, nowMs } = this.#options;
    if (capWei === null || this.#spentWei < capWei) return 0;
    return Math.max(1, Math.ceil(this.#endsMs - nowMs()));
  }

  /**
   * Throws SpendCapReached after the cap of the day, and IntentNotPersisted while the last amount is not on the disk:
   * after a restart a capped wallet would spend it again. Each call retries the write, for the next call.
   */
  check(wallet: Hex): void {
    const waitMs = this.waitMs();
    if (waitMs > 0) throw new SpendCapReached(wallet, waitMs);
    if (this.#options.capWei === null || this.#unkept === null) return;
    const { cause } = this.#unkept;
    void this.#keep();
    throw new IntentNotPersisted(cause);
  }

  /** A refund of an earlier day does not raise today's budget. */
  #count(feeWei: bigint, endsMs: number): void {
    if (feeWei > 0n || endsMs === this.#endsMs) this.#spentWei += feeWei;
  }

  #roll(): void {
    const nowMs = this.#options.nowMs();
    if (nowMs < this.#endsMs) return;
    this.#endsMs = nowMs + DAY_MS;
    this.#spentWei = 0n;
  }

  /** A failing disk ends the process. On a full one the count continues in memory. */
  async #keep(): Promise<void> {
    const { kept } = this.#options;
    const feesWei = [...this.#counted].map(([nonce, { feeWei, endsMs }]) => [nonce, `${feeWei}`, endsMs]);
    const value = { endsMs: this.#endsMs, spentWei: `${this.#spentWei}`, feesWei };
    try {
      await kept?.values.put(kept.name, value);
      this.#unkept = null;
    } catch (cause) {
      this.#unkept = { cause };
    }
  }

  #restore(): void {
    const { kept } = this.#options;
    const found = kept?.values.found.get(kept.name);
    if (found === undefined) return;
    const { endsMs, spentWei, feesWei } = found as { endsMs?: unknown; spentWei?: unknown; feesWei?: unknown };
    if (!Number.isSafeInteger(endsMs) || typeof spentWei !== 'string' || !Array.isArray(feesWei)) {
      throw new Error('What a wallet has spent was kept in a form that is not understood');
    }
    this.#endsMs = endsMs as number;
    this.#spentWei = BigInt(spentWei);
    // Earlier versions kept no day with them: they count as of the one that was on.
    for (const [nonce, feeWei, ofDay = this.#endsMs] of feesWei as [number, string, number?][]) {
      this.#counted.set(nonce, { feeWei: BigInt(feeWei), endsMs: ofDay });
    }
  }
}

/** Polls the balance of an account, so that operators can refill it in time. */
export class WalletBalance {
  #wei: bigint | null = null;
  #askedAtMs = -Infinity;

  constructor(
    private readonly rpc: Rpc,
    private readonly address: Hex,
    private readonly clock: Clock,
    private readonly everyMs: number,
  ) {}

  /** The last answer of the chain; null before the first. */
  get wei(): bigint | null {
    return this.#wei;
  }

  /** Reads the balance after a new block, at most once every `everyMs`. */
  onHead(): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#askedAtMs < this.everyMs) return;
    this.#askedAtMs = nowMs;
    this.#ask().catch(() => undefined); // the next block retries, and the RPC client reports dead nodes
  }

  async #ask(): Promise<void> {
    const answer = await this.rpc.request({ method: 'eth_getBalance', params: [this.address, 'latest'] });
    this.#wei = readWideQuantity(answer);
  }
}
