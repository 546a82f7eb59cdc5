import type { Hex } from '../engine/quote.js';
import { encodeAdd } from './add-calldata.js';
import type { IdentifiedQuote } from './quote-states.js';
import type { Means, Wallet } from './wallet.js';

/** A transaction that may be sent: for just these quotes, with what the node is asked for it meanwhile. */
interface ForeseenTx {
  readonly quotes: readonly IdentifiedQuote[];
  readonly data: Hex;
  readonly means: Means;
}

/** Transactions that quotes will have once the last check of them finds nothing, and what the node says of them already. */
export class ForeseenTxs {
  /** By their first quotes, and for as long as those are kept by anybody. */
  readonly #foreseen = new WeakMap<IdentifiedQuote, ForeseenTx>();
  /** One at a time: of many that come at once most will share a transaction. */
  #isForeseeing = false;

  constructor(
    private readonly wallet: Pick<Wallet, 'prepare'>,
    private readonly orderbookStream: Hex,
  ) {}

  foresee(quotes: readonly IdentifiedQuote[]): void {
    const [first] = quotes;
    if (first === undefined || this.#isForeseeing) return;
    const data = encodeAdd(quotes);
    const means = this.wallet.prepare({ to: this.orderbookStream, data });
    this.#foreseen.set(first, { quotes, data, means });
    this.#isForeseeing = true;
    // An error is told where it is sent, if it ever is.
    void Promise.allSettled([means.gas, means.fees]).then(() => (this.#isForeseeing = false));
  }

  /** Null where others have come into the transaction, or some of the quotes were refused. */
  forJust(quotes: readonly IdentifiedQuote[]): ForeseenTx | null {
    const foreseen = quotes[0] && this.#foreseen.get(quotes[0]);
    const isSame = foreseen?.quotes.length === quotes.length && quotes.every((each, i) => each === foreseen.quotes[i]);
    return isSame ? foreseen : null;
  }
}
