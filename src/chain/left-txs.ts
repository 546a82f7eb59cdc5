import type { Hex } from '../engine/quote.js';
import { quotesDigits } from './add-calldata.js';
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

interface LeftTx {
  readonly end: Promise<LeftEnd>;
  /** Digits of those that it publishes: they are asked for by the thousand, and calldata is too long to search for each. */
  readonly quotes: ReadonlySet<string>;
  /** Null until it is. Its block may still be to be read: what it did is not known before. */
  mined: TxReceipt | null;
}

/**
 * Transactions that earlier runs sent, or that a reorg took back, until it is known what became of them. Clients ask
 * again for what they had no answer to, or find undone: who asks for the very same joins it, and it is not paid for
 * twice.
 */
export class LeftTxs {
  readonly #left = new Map<string, LeftTx>();

  /** `reorgDepth`: this many blocks behind one that was read all others have been. */
  constructor(private readonly reorgDepth: number) {}

  add(purpose: Purpose, end: Promise<LeftEnd>): void {
    const name = nameOf(purpose);
    const left: LeftTx = { end, quotes: new Set(quotesDigits(purpose.data)), mined: null };
    this.#left.set(name, left);
    void end.then(({ receipt }) => {
      if (receipt?.succeeded === true) left.mined = receipt;
      else if (this.#left.get(name) === left) this.#left.delete(name);
    });
  }

  /** The chain was read to the end of this block, by one of its readers. */
  read(to: number): void {
    for (const [name, { mined }] of this.#left)
      if (mined !== null && mined.blockNumber + this.reorgDepth <= to) this.#left.delete(name);
  }

  /** The end of one that is on its way; its receipt, or null where nobody is to join it. */
  find(purpose: Purpose): Promise<TxReceipt | null> | undefined {
    // Mostly there are none, and calldata is long.
    if (this.#left.size === 0) return undefined;
    const left = this.#left.get(nameOf(purpose));
    if (left?.mined !== null) return undefined;
    return left.end.then(({ receipt, wasThere }) => (wasThere ? null : receipt));
  }

  /**
   * One that publishes the quote of these digits, on its way or in a block that has not been read: its receipt, or null
   * where it was given up.
   */
  findWith(digits: () => string, isRead: (blockNumber: number) => boolean): Promise<TxReceipt | null> | undefined {
    if (this.#left.size === 0) return undefined;
    const wanted = digits();
    for (const { end, quotes, mined } of this.#left.values()) {
      const isThere = mined === null || !isRead(mined.blockNumber);
      if (isThere && quotes.has(wanted)) return end.then(({ receipt }) => receipt);
    }
    return undefined;
  }
}

function nameOf({ to, data }: Purpose): string {
  return `${to.toLowerCase()} ${data}`;
}
