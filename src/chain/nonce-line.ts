import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';

/**
 * Which nonce is next. The chain is asked each time, since another signer may use the key and a reorg may take nonces
 * back; but a nonce that is in flight here is never given out again, even if the node asked does not know of it.
 */
export class NonceLine {
  readonly #inFlight = new Set<number>();

  constructor(
    private readonly rpc: Rpc,
    private readonly address: Hex,
  ) {}

  async next(): Promise<number> {
    const pending = await this.count('pending');
    return Math.max(pending, ...[...this.#inFlight].map((nonce) => nonce + 1));
  }

  take(nonce: number): void {
    this.#inFlight.add(nonce);
  }

  release(nonce: number): void {
    this.#inFlight.delete(nonce);
  }

  /**
   * Nonces before `nonce` that the chain waits for and nobody here is sending: lost in a reorg, or left behind by a run of
   * this process before.
   */
  async gapsBefore(nonce: number): Promise<number[]> {
    const gaps: number[] = [];
    for (let gap = await this.count('latest'); gap < nonce; gap++) if (!this.#inFlight.has(gap)) gaps.push(gap);
    return gaps;
  }

  /** Transactions of the wallet; `pending` counts those that wait in the node's pool too. */
  async count(block: 'latest' | 'pending'): Promise<number> {
    return Number(await this.rpc.request({ method: 'eth_getTransactionCount', params: [this.address, block] }));
  }
}
