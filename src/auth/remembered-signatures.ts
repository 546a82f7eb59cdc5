import type { Hex } from '../engine/quote.js';
import type { ClaimedSignature } from './packed-signatures.js';
import type { SignatureChecks } from './signature-checks.js';

/**
 * Signatures that were found good are good a second time: a quote that was posted here comes back as an event of the
 * chain, and its key need not be recovered again. One is forgotten when it has been asked for again, since there is
 * rarely a third time, and the oldest are when there are too many.
 */
export class RememberedSignatures implements SignatureChecks {
  /** By quote id, oldest first. */
  readonly #good = new Map<Hex, ClaimedSignature>();
  /**
   * All that it has passed is forgotten, so that its next is the oldest. One that begins anew each time has to pass the
   * places of all that was forgotten since the map was last put in order, which are thousands.
   */
  readonly #oldest = this.#good.keys();

  constructor(
    private readonly checks: SignatureChecks,
    /** Most that are remembered, each about 300 bytes. */
    private readonly capacity: number,
  ) {}

  async verifyAll(claimed: readonly ClaimedSignature[]): Promise<readonly boolean[]> {
    const isKnown = claimed.map((each) => this.#take(each));
    const unknown = claimed.filter((_, i) => isKnown[i] !== true);
    const verdicts = (unknown.length === 0 ? [] : await this.checks.verifyAll(unknown)).values();
    return claimed.map((each, i) => {
      if (isKnown[i] === true) return true;
      const isGood = verdicts.next().value === true;
      if (isGood) this.#remember(each);
      return isGood;
    });
  }

  close(): Promise<void> {
    this.#good.clear();
    return this.checks.close();
  }

  /** Whether this very signature was found good; it is forgotten then. */
  #take({ quoteId, provider, signature: { r, s, v } }: ClaimedSignature): boolean {
    const good = this.#good.get(quoteId);
    if (good?.provider !== provider) return false;
    const { signature } = good;
    if (signature.r !== r || signature.s !== s || signature.v !== v) return false;
    return this.#good.delete(quoteId);
  }

  #remember({ quoteId, provider, signature }: ClaimedSignature): void {
    // Not `each` itself, which is the whole quote.
    this.#good.set(quoteId, { quoteId, provider, signature });
    if (this.#good.size <= this.capacity) return;
    const oldest = this.#oldest.next();
    if (oldest.done !== true) this.#good.delete(oldest.value);
  }
}
