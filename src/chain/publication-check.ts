import type { QuoteSignature } from '../auth/quote-signature.js';
import type { SignatureChecks } from '../auth/signature-pool.js';
import { dueSecond } from '../engine/order-book.js';
import type { Clock } from '../engine/ports.js';
import { type Hex, MAX_PRICE, type Pool } from '../engine/quote.js';
import { othersTurn } from '../system/timers.js';
import type { QuoteError } from '../wire/orderbook.js';
import type { ChainLog } from './chain-log.js';
import { collateralNeeded } from './collateral.js';
import type { FollowedBook } from './followed-book.js';
import { boundQuote, identifiedQuote } from './growing-quote.js';
import type { PoolAddresses } from './pool-addresses.js';
import { decodePublishedQuote, type PublishedQuote } from './quote-events.js';
import type { IdentifiedQuote } from './quote-states.js';

/** Why an event on the stream chain brought nothing into the book: counted, never fatal, and the cursor moves on. */
export type StreamRefusal =
  | 'MALFORMED'
  | 'IMPOSSIBLE_POOL'
  | 'OUT_OF_BOUNDS_PRICE'
  | 'IMPOSSIBLE_SIZE'
  | 'BAD_SIGNATURE'
  | 'NOT_FILLABLE'
  | 'EXPIRED';

export interface Candidate {
  readonly quote: IdentifiedQuote;
  readonly log: ChainLog;
}

/** What the events of a range are, before anything is told of them: the range may have to be read again. */
export interface CheckedEvents {
  readonly candidates: readonly Candidate[];
  readonly refused: readonly RefusedEvent[];
  /** Known to the book already. */
  readonly known: readonly Hex[];
}

export interface RefusedEvent {
  readonly why: StreamRefusal;
  readonly log: ChainLog;
  /** Whose publisher is to hear of it, in the contract's words; null: a quote that nobody here signed for. */
  readonly publication: { readonly quoteId: Hex; readonly reason: QuoteError } | null;
}

/** Checks published quotes for everything that needs no look at what their providers have. */
export class PublicationCheck {
  constructor(
    private readonly book: FollowedBook,
    private readonly pools: PoolAddresses,
    private readonly signatures: Pick<QuoteSignature, 'quoteId'>,
    private readonly verifier: Pick<SignatureChecks, 'verifyAll'>,
    private readonly clock: Clock,
    /** Engine time, Unix seconds: what is due by then is not asked about. */
    private readonly nowSeconds: () => number,
    /** Events decoded, and ids computed, between two turns of the event loop: at 80 us an event, 100 take 8 ms. */
    private readonly checksPerTurn: number,
  ) {}

  /** The quotes that are what they claim to be; first events only, since a repeated one changes nothing. */
  async check(logs: readonly ChainLog[]): Promise<CheckedEvents> {
    const decoded: { log: ChainLog; published: PublishedQuote | null }[] = [];
    for (const log of logs) {
      decoded.push({ log, published: decodePublishedQuote(log) });
      if (decoded.length % this.checksPerTurn === 0) await othersTurn(this.clock);
    }
    const now = this.nowSeconds();
    const keys = decoded.flatMap(({ published }) => published?.poolKey ?? []);
    const pools = (await this.pools.resolveEvenLater(keys, now)).values();
    const unverified: Candidate[] = [];
    const refused: RefusedEvent[] = [];
    const known: Hex[] = [];
    for (const [i, { log, published }] of decoded.entries()) {
      if ((i + 1) % this.checksPerTurn === 0) await othersTurn(this.clock);
      if (published === null) {
        refused.push({ why: 'MALFORMED', log, publication: null });
        continue;
      }
      const pool: Pool | null = pools.next().value ?? null;
      if (pool === null) {
        refused.push({ why: 'IMPOSSIBLE_POOL', log, publication: null });
        continue;
      }
      const words = boundQuote(published.words, pool);
      const quoteId = this.signatures.quoteId(words);
      const quote = identifiedQuote(words, quoteId);
      const problem = termsProblem(quote, now);
      if (this.book.get(quoteId) !== undefined) known.push(quoteId);
      else if (problem !== null) {
        refused.push({ why: problem.why, log, publication: { quoteId, reason: problem.reason } });
      } else unverified.push({ quote, log });
    }
    const verdicts = await this.verifier.verifyAll(unverified.map(({ quote }) => quote));
    const candidates = new Map<Hex, Candidate>();
    for (const [i, candidate] of unverified.entries()) {
      const { quoteId } = candidate.quote;
      if (candidates.has(quoteId)) continue;
      if (verdicts[i] === true) candidates.set(quoteId, candidate);
      else refused.push({ why: 'BAD_SIGNATURE', log: candidate.log, publication: null });
    }
    return { candidates: [...candidates.values()], refused, known };
  }
}

/** Why no chain will ever, or ever again, fill a quote of these terms; null when one may. `now`: Unix seconds. */
function termsProblem(quote: IdentifiedQuote, now: number): { why: StreamRefusal; reason: QuoteError } | null {
  if (quote.price > MAX_PRICE) return { why: 'OUT_OF_BOUNDS_PRICE', reason: 'OutOfBoundsPrice' };
  if (collateralNeeded(quote) === null) return { why: 'IMPOSSIBLE_SIZE', reason: 'InvalidAssetUpdate' };
  if (dueSecond(quote) <= now) return { why: 'EXPIRED', reason: 'QuoteOBExpired' };
  return null;
}
