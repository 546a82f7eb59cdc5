import type { Clock, Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { findReceipt, type TxReceipt } from './receipts.js';
import { WalletStopped } from './wallet-errors.js';

/** Looks for receipts: now and then, and whenever a block has come. */
export class ReceiptWatch {
  readonly #pauses = new Set<() => void>();
  #stopped = false;

  constructor(
    private readonly rpc: Rpc,
    private readonly clock: Clock,
    private readonly pollMs: number,
  ) {}

  /** A new block may hold what is waited for: look now. */
  onHead(): void {
    for (const end of [...this.#pauses]) end();
  }

  /** Whoever looks is let go with WalletStopped. */
  stop(): void {
    this.#stopped = true;
    this.onHead();
  }

  checkRunning(): void {
    if (this.#stopped) throw new WalletStopped('The service is stopping');
  }

  /** Another number whenever another node has taken over. */
  get turn(): number {
    return this.rpc.turn ?? 0;
  }

  /** The receipt of one of these; null: none, as the node says. Rejects where it does not answer. */
  look(hashes: readonly Hex[]): Promise<TxReceipt | null> {
    return findReceipt(this.rpc, hashes);
  }

  /** The receipt of one of these, or null when there is none within that time. A node that does not answer has none. */
  async find(hashes: readonly Hex[], withinMs: number): Promise<TxReceipt | null> {
    const giveUpAtMs = this.clock.monotonicMs() + withinMs;
    for (;;) {
      this.checkRunning();
      const receipt = await this.look(hashes).catch(() => null);
      if (receipt !== null || this.clock.monotonicMs() >= giveUpAtMs) return receipt;
      await this.pause();
    }
  }

  /** Until it is time to look again: now and then, and early with the next block, or when the watch is stopped. */
  async pause(): Promise<void> {
    this.checkRunning();
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        this.#pauses.delete(end);
        resolve();
      };
      const cancel = this.clock.after(this.pollMs, end);
      this.#pauses.add(end);
    });
  }
}
