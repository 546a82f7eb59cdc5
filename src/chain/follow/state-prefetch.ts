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
 * The states of quotes that the wallet has sent to the stream, asked for as soon as the settlement block is known with
 * whose state they would enter: beside the logs that tell whether they have come, so that there is one answer less to
 * wait for. A quote's state at a block is the same whenever it is asked.
 */
export class StatePrefetch {
  #block: Hex | null = null;
  readonly #foreseen = new Map<Hex, PrefetchedState>();

  constructor(
    private readonly states: Pick<QuoteStates, 'read'>,
    /** Quotes whose events may be in the next block of the stream. */
    private readonly awaited: () => Iterable<IdentifiedQuote>,
    /** Where more are awaited than fit into one question, they take longer anyhow and nothing is foreseen. */
    private readonly maxQuotes: number,
  ) {}

  /** Reads the state after this block, which quotes that enter next will have. Asks once for each quote. */
  prefetch(at: BlockId): void {
    if (at.blockHash !== this.#block) this.#foreseen.clear();
    this.#block = at.blockHash;
    const awaited = new Map<Hex, IdentifiedQuote>();
    for (const quote of this.awaited()) {
      if (awaited.size === this.maxQuotes) return;
      awaited.set(quote.quoteId, quote);
    }
    // On a chain that stands still all others would stay.
    for (const quoteId of this.#foreseen.keys()) if (!awaited.has(quoteId)) this.#foreseen.delete(quoteId);
    const quotes = [...awaited.values()].filter(({ quoteId }) => !this.#foreseen.has(quoteId));
    if (quotes.length === 0) return;
    // `read` asks again and reports the error.
    const answers = this.states.read(quotes, at).catch((): QuoteReading[] => []);
    for (const [i, quote] of quotes.entries()) {
      this.#foreseen.set(quote.quoteId, { quote, reading: answers.then((readings) => readings[i] ?? null) });
    }
  }

  /** In the order of `quotes`. */
  async read(quotes: readonly IdentifiedQuote[], at: BlockId): Promise<QuoteReading[]> {
    const foreseen = await Promise.all(quotes.map((quote) => this.#foreseenOf(quote, at)));
    const others = await this.states.read(
      quotes.filter((_, i) => foreseen[i] === null),
      at,
    );
    const inTurn = others.values();
    return foreseen.map((reading) => {
      const answer = reading ?? inTurn.next().value;
      if (answer === undefined) throw new Error('An answer is missing');
      return answer;
    });
  }

  /** Null where this was not asked for: of another block, or under another signature, which is what a pool checks. */
  async #foreseenOf({ quoteId, signature }: IdentifiedQuote, at: BlockId): Promise<QuoteReading | null> {
    const foreseen = this.#foreseen.get(quoteId);
    if (foreseen === undefined || at.blockHash !== this.#block) return null;
    const { r, s, v } = foreseen.quote.signature;
    return r === signature.r && s === signature.s && v === signature.v ? foreseen.reading : null;
  }
}
