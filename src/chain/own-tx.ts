import type { Hex } from '../engine/quote.js';
import type { Fees } from './fees.js';
import type { TxIntent } from './intent-log.js';
import type { TxReceipt } from './receipts.js';

export interface TxRequest {
  readonly to: Hex;
  readonly data: Hex;
  /** Gas limit; estimated by the node when absent. */
  readonly gas?: bigint;
}

/** What a transaction cost, as its receipt says. */
export type TxCost = Pick<TxReceipt, 'gasUsed' | 'feeWei'>;

/** A transaction of ours on its way: what its nonce is for, and every version of it that any node may have. */
export class OwnTx {
  readonly nonce: number;
  /** Any of them may be the one that is mined. */
  readonly hashes: Hex[] = [];
  readonly #versions: Fees[] = [];
  readonly #request: Required<TxRequest>;

  constructor(nonce: number, request: Required<TxRequest>, versions: readonly Fees[] = []) {
    this.nonce = nonce;
    this.#request = request;
    this.#versions.push(...versions);
  }

  get request(): Required<TxRequest> {
    return this.#request;
  }

  /** Of the newest version; null before the first. */
  get fees(): Fees | null {
    return this.#versions.at(-1) ?? null;
  }

  /** Of the first version, which asks for the least money; null before it. */
  get firstFees(): Fees | null {
    return this.#versions[0] ?? null;
  }

  /** No more than the newest version offers, whatever a node says of it: budgets of a day are counted by this. */
  boundedCost({ gasUsed, feeWei }: TxCost): TxCost {
    const { gas } = this.#request;
    const most = gas * (this.fees?.maxFeePerGas ?? 0n);
    return { gasUsed: gasUsed < gas ? gasUsed : gas, feeWei: feeWei < most ? feeWei : most };
  }

  isVersion(fees: Fees): boolean {
    return this.#versions.includes(fees);
  }

  /** How often its fees were raised. */
  get raises(): number {
    return Math.max(0, this.#versions.length - 1);
  }

  get intent(): TxIntent {
    return { nonce: this.nonce, ...this.#request, versions: [...this.#versions] };
  }

  /** With one version more. */
  intentWith(fees: Fees): TxIntent {
    return { ...this.intent, versions: [...this.#versions, fees] };
  }

  addVersion(fees: Fees): void {
    this.#versions.push(fees);
  }
}
