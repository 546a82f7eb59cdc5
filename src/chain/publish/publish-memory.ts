import type { Hex } from '../../engine/quote.js';
import { encodeAdd } from '../contracts/abi-encoding.js';
import type { IdentifiedQuote } from '../contracts/quote-types.js';
import type { TxReceipt } from '../wallet/transaction.js';
import type { PreparedTx, Wallet } from '../wallet/wallet.js';

/** One mined transaction that published quotes on the stream. */
export interface MinedPublication {
  readonly quotes: readonly IdentifiedQuote[];
  readonly receipt: Pick<TxReceipt, 'txHash' | 'blockNumber'>;
}

export interface PublicationMemory {
  /** Blocks after which no reorg is expected. */
  readonly reorgDepth: number;
  /** Most transactions kept; the oldest are dropped first. */
  readonly txRemembered: number;
}

interface Remembered extends MinedPublication {
  /** A reorg removed it; the wallet gets it mined again, in a block unknown here. */
  wasTakenBack: boolean;
}

/** Mined publications that a reorg may still remove, kept as long as the wallet keeps them. */
export class MinedPublications {
  #mined: Remembered[] = [];

  constructor(private readonly memory: PublicationMemory) {}

  add(publication: MinedPublication): void {
    const { reorgDepth, txRemembered } = this.memory;
    const { blockNumber } = publication.receipt;
    const kept = this.#mined.filter(({ receipt }) => receipt.blockNumber + reorgDepth > blockNumber);
    this.#mined = [...kept, { ...publication, wasTakenBack: false }].slice(-txRemembered);
  }

  /** Publications mined after this block. The other branch may contain them too. */
  takenBackAfter(blockNumber: number): MinedPublication[] {
    const gone = this.#mined.filter((each) => each.wasTakenBack || each.receipt.blockNumber > blockNumber);
    for (const each of gone) each.wasTakenBack = true;
    return gone;
  }
}

/** A transaction that may be sent with exactly these quotes, and its gas and fees, already requested. */
interface PrefetchedTx {
  readonly quotes: readonly IdentifiedQuote[];
  readonly data: Hex;
  readonly prepared: PreparedTx;
}

/** Requests gas and fees of the transaction that quotes need if they pass their last check. */
export class TxPrefetch {
  /** By first quote; entries go with the quote (WeakMap). */
  readonly #prefetched = new WeakMap<IdentifiedQuote, PrefetchedTx>();
  /** Only one runs at a time: most of the quotes that arrive together share a transaction. */
  #isPrefetching = false;

  constructor(
    private readonly wallet: Pick<Wallet, 'prepare'>,
    private readonly orderbookStream: Hex,
  ) {}

  prefetch(quotes: readonly IdentifiedQuote[]): void {
    const [first] = quotes;
    if (first === undefined || this.#isPrefetching) return;
    const data = encodeAdd(quotes);
    const prepared = this.wallet.prepare({ to: this.orderbookStream, data });
    this.#prefetched.set(first, { quotes, data, prepared });
    this.#isPrefetching = true;
    // `send` reports an error, if the transaction is ever sent.
    void Promise.allSettled([prepared.gas, prepared.fees]).then(() => (this.#isPrefetching = false));
  }

  /** Null if the transaction has other quotes: more joined, or some were rejected. */
  matching(quotes: readonly IdentifiedQuote[]): PrefetchedTx | null {
    const prefetched = quotes[0] && this.#prefetched.get(quotes[0]);
    const isSame =
      prefetched?.quotes.length === quotes.length && quotes.every((each, i) => each === prefetched.quotes[i]);
    return isSame ? prefetched : null;
  }
}
