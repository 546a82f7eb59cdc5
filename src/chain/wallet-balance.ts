import type { Clock, Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { readWideQuantity } from './rpc-answers.js';

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
