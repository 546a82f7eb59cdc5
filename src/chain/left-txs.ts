import type { Hex } from '../engine/quote.js';
import type { TxReceipt } from './receipts.js';

/** What a transaction is for. */
interface Purpose {
  readonly to: Hex;
  readonly data: Hex;
}

export interface LeftEnd {
  /** Null: it was given up. */
  readonly receipt: TxReceipt | null;
  /** It was mined before anybody looked: who asks for the same by then means another one. */
  readonly wasThere: boolean;
}

/**
 * Transactions that earlier runs sent, or that a reorg took back, until it is known what became of them. Clients ask
 * again for what they had no answer to, or find undone: who asks for the very same joins it, and it is not paid for
 * twice.
 */
export class LeftTxs {
  readonly #ends = new Map<string, Promise<LeftEnd>>();
  /** Mined, in blocks that may still be to be read: what they did is not known before. */
  readonly #mined = new Map<string, TxReceipt>();

  /** `reorgDepth`: this many blocks behind one that was read all others have been. */
  constructor(private readonly reorgDepth: number) {}

  add(purpose: Purpose, end: Promise<LeftEnd>): void {
    const name = nameOf(purpose);
    this.#ends.set(name, end);
    void end.then(({ receipt }) => {
      if (this.#ends.get(name) !== end) return;
      this.#ends.delete(name);
      if (receipt !== null) this.#mined.set(name, receipt);
    });
  }

  /** The chain was read to the end of this block, by one of its readers. */
  read(to: number): void {
    for (const [name, { blockNumber }] of this.#mined)
      if (blockNumber + this.reorgDepth <= to) this.#mined.delete(name);
  }

  /** The end of one that is on its way; its receipt, or null where nobody is to join it. */
  find(purpose: Purpose): Promise<TxReceipt | null> | undefined {
    // Mostly there are none, and calldata is long.
    if (this.#ends.size === 0) return undefined;
    return this.#ends.get(nameOf(purpose))?.then(({ receipt, wasThere }) => (wasThere ? null : receipt));
  }

  /**
   * One whose calldata has these digits in it, on its way or in a block that has not been read: its receipt, or null
   * where it was given up.
   */
  findWith(digits: () => string, isRead: (blockNumber: number) => boolean): Promise<TxReceipt | null> | undefined {
    if (this.#ends.size + this.#mined.size === 0) return undefined;
    const wanted = digits();
    for (const [name, end] of this.#ends) if (name.includes(wanted)) return end.then(({ receipt }) => receipt);
    for (const [name, receipt] of this.#mined) {
      if (!isRead(receipt.blockNumber) && name.includes(wanted)) return Promise.resolve(receipt);
    }
    return undefined;
  }
}

function nameOf({ to, data }: Purpose): string {
  return `${to.toLowerCase()} ${data}`;
}
