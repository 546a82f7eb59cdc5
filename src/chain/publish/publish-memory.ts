import type { Hex } from '../../engine/quote.js';
import { encodeAdd } from '../contracts/abi-encoding.js';
import type { IdentifiedQuote } from '../contracts/quote-types.js';
import type { TxReceipt } from '../wallet/transaction.js';
import type { PreparedTx, Wallet } from '../wallet/wallet.js';

/** One transaction that put quotes on the stream. */
export interface MinedPublication {
  readonly quotes: readonly IdentifiedQuote[];
  readonly receipt: Pick<TxReceipt, 'txHash' | 'blockNumber'>;
}

export interface PublicationMemory {
  /** Blocks after which a reorg takes nothing back. */
  readonly reorgDepth: number;
  /** Transactions that are remembered; the oldest are given up first. */
  readonly txRemembered: number;
}

interface Remembered extends MinedPublication {
  /** The wallet has it mined again, in a block that is not known here. */
  wasTakenBack: boolean;
}

/** What the wallet has mined of publications, as long as it remembers them itself: a reorg may take them back. */
export class MinedPublications {
  #mined: Remembered[] = [];

  constructor(private readonly memory: PublicationMemory) {}

  add(publication: MinedPublication): void {
    const { reorgDepth, txRemembered } = this.memory;
    const { blockNumber } = publication.receipt;
    const kept = this.#mined.filter(({ receipt }) => receipt.blockNumber + reorgDepth > blockNumber);
    this.#mined = [...kept, { ...publication, wasTakenBack: false }].slice(-txRemembered);
  }

  /** Those of later blocks than this. They may be there still, in a block of another branch. */
  takenBackAfter(blockNumber: number): MinedPublication[] {
    const gone = this.#mined.filter((each) => each.wasTakenBack || each.receipt.blockNumber > blockNumber);
    for (const each of gone) each.wasTakenBack = true;
    return gone;
  }
}

/** A transaction that may be sent: for just these quotes, with what the node is asked for it meanwhile. */
interface PrefetchedTx {
  readonly quotes: readonly IdentifiedQuote[];
  readonly data: Hex;
  readonly means: PreparedTx;
}

/** Transactions that quotes will have once the last check of them finds nothing, and what the node says of them already. */
export class TxPrefetch {
  /** By their first quotes, and for as long as those are kept by anybody. */
  readonly #prefetched = new WeakMap<IdentifiedQuote, PrefetchedTx>();
  /** One at a time: of many that come at once most will share a transaction. */
  #isPrefetching = false;

  constructor(
    private readonly wallet: Pick<Wallet, 'prepare'>,
    private readonly orderbookStream: Hex,
  ) {}

  prefetch(quotes: readonly IdentifiedQuote[]): void {
    const [first] = quotes;
    if (first === undefined || this.#isPrefetching) return;
    const data = encodeAdd(quotes);
    const means = this.wallet.prepare({ to: this.orderbookStream, data });
    this.#prefetched.set(first, { quotes, data, means });
    this.#isPrefetching = true;
    // An error is told where it is sent, if it ever is.
    void Promise.allSettled([means.gas, means.fees]).then(() => (this.#isPrefetching = false));
  }

  /** Null where others have come into the transaction, or some of the quotes were refused. */
  matching(quotes: readonly IdentifiedQuote[]): PrefetchedTx | null {
    const prefetched = quotes[0] && this.#prefetched.get(quotes[0]);
    const isSame =
      prefetched?.quotes.length === quotes.length && quotes.every((each, i) => each === prefetched.quotes[i]);
    return isSame ? prefetched : null;
  }
}
