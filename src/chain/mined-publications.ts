import type { IdentifiedQuote } from './quote-states.js';
import type { TxReceipt } from './receipts.js';

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
