import type { Hex } from '../engine/quote.js';
import type { TxReceipt } from './receipts.js';

/** What a transaction is for. */
interface Purpose {
  readonly to: Hex;
  readonly data: Hex;
}

/**
 * Transactions that earlier runs sent, or that a reorg took back, until it is known what became of them. Clients ask
 * again for what they had no answer to, or find undone: who asks for the very same joins it, and it is not paid for
 * twice.
 */
export class LeftTxs {
  readonly #ends = new Map<string, Promise<TxReceipt | null>>();

  /** `end`: its receipt, or null where nobody is to join it: it was given up, or is mined all along. */
  add(purpose: Purpose, end: Promise<TxReceipt | null>): void {
    const name = nameOf(purpose);
    this.#ends.set(name, end);
    void end.then(() => {
      if (this.#ends.get(name) === end) this.#ends.delete(name);
    });
  }

  find(purpose: Purpose): Promise<TxReceipt | null> | undefined {
    // Mostly there are none, and calldata is long.
    return this.#ends.size === 0 ? undefined : this.#ends.get(nameOf(purpose));
  }

  /** One whose calldata has these digits in it. */
  findWith(digits: () => string): Promise<TxReceipt | null> | undefined {
    if (this.#ends.size === 0) return undefined;
    const wanted = digits();
    for (const [name, end] of this.#ends) if (name.includes(wanted)) return end;
    return undefined;
  }
}

function nameOf({ to, data }: Purpose): string {
  return `${to.toLowerCase()} ${data}`;
}
