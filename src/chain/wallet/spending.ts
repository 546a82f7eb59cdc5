import type { Clock } from '../../engine/ports.js';
import type { KeyValueStore } from '../../persistence/disk/disk.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import { readWideQuantity } from '../rpc/rpc-response.js';
import { IntentNotPersisted, SpendCapReached } from './errors.js';
import type { TxReceipt, TxRequest } from './transaction.js';
import { type PreparedTx, Wallet } from './wallet.js';

const DAY_MS = 24 * 60 * 60_000;

export interface WalletSpendingOptions {
  /** Null: it may spend what it has. */
  readonly capWei: bigint | null;
  /** Goes on where it was after a restart. */
  readonly nowMs: () => number;
  /** Nonces whose fees are remembered: all that a reorg may take back, or that a restart looks at again. */
  readonly remembered: number;
  /** Where it is kept, under this name; null: it is forgotten with the process. */
  readonly kept: { readonly values: KeyValueStore; readonly name: string } | null;
}

/** What was counted for one nonce, and when the day ends in which it was. */
interface Counted {
  readonly feeWei: bigint;
  readonly endsMs: number;
}

/**
 * What one wallet has spent on gas in 24 hours, counted from the first transaction on, and whether it may spend more.
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

  /** The nonce went to another signer's transaction: what was counted for ours, before a reorg, was not spent. */
  async lost(nonce: number): Promise<void> {
    const counted = this.#counted.get(nonce);
    if (counted === undefined) return;
    this.#roll();
    this.#count(-counted.feeWei, counted.endsMs);
    this.#counted.delete(nonce);
    await this.#keep();
  }

  /** 0: it may spend; else in how many milliseconds it may again. */
  waitMs(): number {
    this.#roll();
    const { capWei, nowMs } = this.#options;
    if (capWei === null || this.#spentWei < capWei) return 0;
    return Math.max(1, Math.ceil(this.#endsMs - nowMs()));
  }

  /**
   * Throws IntentNotPersisted after what was spent could not be kept, until it can: a restart would let a capped wallet spend
   * it again. Each call tries again, for the next one.
   */
  checkKept(): void {
    if (this.#options.capWei === null || this.#unkept === null) return;
    const { cause } = this.#unkept;
    void this.#keep();
    throw new IntentNotPersisted(cause);
  }

  /** What is taken back of another day makes no room in this one. */
  #count(feeWei: bigint, endsMs: number): void {
    if (feeWei > 0n || endsMs === this.#endsMs) this.#spentWei += feeWei;
  }

  #roll(): void {
    const nowMs = this.#options.nowMs();
    if (nowMs < this.#endsMs) return;
    this.#endsMs = nowMs + DAY_MS;
    this.#spentWei = 0n;
  }

  /** A disk that fails ends the process. On one that is full, what is in memory counts on. */
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
    // Earlier versions kept no day with them: they count as of the one that was on.
    for (const [nonce, feeWei, ofDay = this.#endsMs] of feesWei as [number, string, number?][]) {
      this.#counted.set(nonce, { feeWei: BigInt(feeWei), endsMs: ofDay });
    }
  }
}

/** A wallet that sends nothing more once it has spent its cap, and counts what it spends, whoever waits for it. */
export class CappedWallet extends Wallet {
  readonly spending: WalletSpending;

  constructor(spending: WalletSpending, ...ofWallet: ConstructorParameters<typeof Wallet>) {
    super(...ofWallet);
    this.spending = spending;
  }

  /** As that of every wallet; rejects with SpendCapReached besides. */
  override async send(request: TxRequest, means?: PreparedTx): Promise<TxReceipt> {
    this.checkMaySpend();
    return super.send(request, means);
  }

  protected override checkMaySpend(): void {
    const waitMs = this.spending.waitMs();
    if (waitMs > 0) throw new SpendCapReached(this.address, waitMs);
    this.spending.checkKept();
  }

  protected override onMined(nonce: number, { feeWei }: TxReceipt): Promise<void> {
    return this.spending.mined(nonce, feeWei);
  }

  protected override onLost(nonce: number): Promise<void> {
    return this.spending.lost(nonce);
  }
}

/** What an account has on its chain, looked at now and then: for whoever has to fill it before it is empty. */
export class WalletBalance {
  #wei: bigint | null = null;
  #askedAtMs = -Infinity;

  constructor(
    private readonly rpc: Rpc,
    private readonly address: Hex,
    private readonly clock: Clock,
    private readonly everyMs: number,
  ) {}

  /** As the chain told it last; null before that. */
  get wei(): bigint | null {
    return this.#wei;
  }

  /** There is a new block: asks for what the account has after it, unless it did so a moment ago. */
  onHead(): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#askedAtMs < this.everyMs) return;
    this.#askedAtMs = nowMs;
    this.#ask().catch(() => undefined); // it is asked again, and the node's silence is told of elsewhere
  }

  async #ask(): Promise<void> {
    const answer = await this.rpc.request({ method: 'eth_getBalance', params: [this.address, 'latest'] });
    this.#wei = readWideQuantity(answer);
  }
}
