import type { IdentifiedQuote } from '../contracts/quote-types.js';
import type { TxReceipt } from '../wallet/transaction.js';

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
