import type { QuoteSignature } from '../auth/quote-signature.js';
import { MAX_PRICE, type Hex, type PoolKey, type SignedQuote } from '../engine/quote.js';

export interface QuoteCheckLimits {
  readonly minQuoteLifeSeconds: number;
}

const NO_POOL = 'Failed to fetch pool address';

/** What is wrong with a posted quote as far as it takes no chain to tell, in the order of the contract's own checks. */
export class QuoteChecks {
  constructor(
    private readonly signatures: Pick<QuoteSignature, 'quoteId'>,
    /** Engine time, Unix seconds. */
    private readonly nowSeconds: () => number,
    private readonly limits: QuoteCheckLimits,
  ) {}

  /** The quote's id: its EIP-712 digest. */
  quoteId(quote: SignedQuote): Hex {
    return this.signatures.quoteId(quote);
  }

  /** Every reason there is, one at a time. `isSigned`: the signature is its provider's. */
  *reasons(quote: SignedQuote, isSigned: boolean): Generator<string, undefined> {
    const { deadline, price, size, pool } = quote;
    if (this.#isTooShort(deadline)) yield this.#tooShort;
    // A pool that exists keeps its address past maturity. Its own check reverts then.
    if (this.#isMatured(pool.poolKey)) yield 'QuoteOBExpired';
    if (price > MAX_PRICE) yield 'OutOfBoundsPrice';
    if (!isSigned) yield 'InvalidQuoteOBSignature';
    if (size === 0n) yield 'InvalidAssetUpdate';
    return undefined;
  }

  /**
   * The same where the factory gives no address for the pool's key. It gives none for a matured key either, unless the
   * pool was deployed: a quote in it has expired in any case.
   */
  reasonsWithoutPool({
    deadline,
    poolKey,
  }: {
    readonly deadline: number;
    readonly poolKey: PoolKey;
  }): [string, ...string[]] {
    const why = this.#isMatured(poolKey) ? 'QuoteOBExpired' : NO_POOL;
    return this.#isTooShort(deadline) ? [this.#tooShort, why] : [why];
  }

  #isMatured({ maturity }: Pick<PoolKey, 'maturity'>): boolean {
    return this.nowSeconds() >= maturity;
  }

  #isTooShort(deadline: number): boolean {
    return deadline < this.nowSeconds() + this.limits.minQuoteLifeSeconds;
  }

  get #tooShort(): string {
    return `Quote deadline is invalid (cannot be less than ${this.limits.minQuoteLifeSeconds} sec)`;
  }
}
