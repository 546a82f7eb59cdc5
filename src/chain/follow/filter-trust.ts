import type { Clock } from '../../engine/ports.js';

/** How long the headers of a source are not used, or their filters, after one of them was wrong. */
export const DISTRUST_MS = 60_000;

/**
 * Whether the bloom filters of one source of block headers are believed: those of the node, or those of a subscription.
 * The logs that they are compared with come from the node, so another node has to be tried anew.
 */
export class FilterTrust {
  /** When a block was read to try a filter. */
  triedAtMs = -Infinity;
  #switches = -1;
  #isProven = false;
  #distrustedUntilMs = -Infinity;

  constructor(
    private readonly node: { readonly switches: number },
    private readonly clock: Clock,
  ) {}

  /** No filter of this source has been wrong lately. */
  get isUsable(): boolean {
    const { switches } = this.node;
    if (this.#switches !== switches) {
      this.#switches = switches;
      this.#isProven = false;
      this.#distrustedUntilMs = -Infinity;
    }
    return this.clock.monotonicMs() >= this.#distrustedUntilMs;
  }

  /** Moreover, a block's logs have made up its filter: a block that a filter rules out need not be read. */
  get isTrusted(): boolean {
    return this.isUsable && this.#isProven;
  }

  /** The logs of a block have made up its filter. */
  prove(): void {
    this.#isProven = true;
  }

  /** A filter lacks a log of its block, or the logs never make it up. */
  end(): void {
    this.#switches = this.node.switches;
    this.#isProven = false;
    this.#distrustedUntilMs = this.clock.monotonicMs() + DISTRUST_MS;
  }
}
