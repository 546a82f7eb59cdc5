import type { Hex } from '../../engine/quote.js';
import type { BlockId } from '../contracts/blocks-and-logs.js';
import type { IdentifiedQuote } from '../contracts/quote-types.js';
import type { QuoteReading, QuoteStates } from './quote-states.js';

interface PrefetchedState {
  readonly quote: IdentifiedQuote;
  /** Null where no answer came. */
  readonly reading: Promise<QuoteReading | null>;
}

/**
 * The states of quotes that the wallet has sent to the stream, requested as soon as the settlement block is known with
 * whose state they would enter. The request runs beside that for the logs that show whether they have entered, which
 * saves one round trip.
 */
export class StatePrefetch {
  #block: Hex | null = null;
  readonly #prefetched = new Map<Hex, PrefetchedState>();

  constructor(
    private readonly states: Pick<QuoteStates, 'read'>,
    /** Quotes whose events may be in the next block of the stream. */
    private readonly awaited: () => Iterable<IdentifiedQuote>,
    /** If more are awaited than fit into one request, they take longer anyhow and nothing is prefetched. */
    private readonly maxQuotes: number,
  ) {}

  /** Reads the state after this block, which quotes that enter next will have. Asks once for each quote. */
  prefetch(at: BlockId): void {
    if (at.blockHash !== this.#block) this.#prefetched.clear();
    this.#block = at.blockHash;
    const awaited = new Map<Hex, IdentifiedQuote>();
    for (const quote of this.awaited()) {
      if (awaited.size === this.maxQuotes) return;
      awaited.set(quote.quoteId, quote);
    }
    // On a chain that stands still all others would stay.
    for (const quoteId of this.#prefetched.keys()) if (!awaited.has(quoteId)) this.#prefetched.delete(quoteId);
    const quotes = [...awaited.values()].filter(({ quoteId }) => !this.#prefetched.has(quoteId));
    if (quotes.length === 0) return;
    // `read` asks again and reports the error.
    const answers = this.states.read(quotes, at).catch((): QuoteReading[] => []);
    for (const [i, quote] of quotes.entries()) {
      this.#prefetched.set(quote.quoteId, { quote, reading: answers.then((readings) => readings[i] ?? null) });
    }
  }

  /** In the order of `quotes`. */
  async read(quotes: readonly IdentifiedQuote[], at: BlockId): Promise<QuoteReading[]> {
    const prefetched = await Promise.all(quotes.map((quote) => this.#prefetchedReading(quote, at)));
    const others = await this.states.read(
      quotes.filter((_, i) => prefetched[i] === null),
      at,
    );
    const inTurn = others.values();
    return prefetched.map((reading) => {
      const answer = reading ?? inTurn.next().value;
      if (answer === undefined) throw new Error('An answer is missing');
      return answer;
    });
  }

  /** Null if not prefetched: of another block, or under another signature, which is what a pool checks. */
  async #prefetchedReading({ quoteId, signature }: IdentifiedQuote, at: BlockId): Promise<QuoteReading | null> {
    const prefetched = this.#prefetched.get(quoteId);
    if (prefetched === undefined || at.blockHash !== this.#block) return null;
    const { r, s, v } = prefetched.quote.signature;
    return r === signature.r && s === signature.s && v === signature.v ? prefetched.reading : null;
  }
}
