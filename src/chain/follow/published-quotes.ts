import { encodeEventTopics } from 'viem';
import type { QuoteSignature } from '../../auth/quote-signature.js';
import type { SignatureChecks } from '../../auth/signature-pool.js';
import { dueSecond } from '../../engine/order-book.js';
import type { Clock } from '../../engine/ports.js';
import { type Hex, MAX_PRICE, type Pool, type PoolKey, type SignedQuote } from '../../engine/quote.js';
import { yieldToEventLoop } from '../../system/timers.js';
import type { QuoteError } from '../../wire/orderbook.js';
import { orderbookStreamAbi } from '../contracts/abi.js';
import type { ChainLog } from '../contracts/blocks-and-logs.js';
import { boundQuote, collateralNeeded, type IdentifiedQuote, identifiedQuote } from '../contracts/quote-types.js';
import type { BookPort } from './book-port.js';
import type { PoolAddresses } from './pool-addresses.js';

/** Why an event on the stream chain brought nothing into the book: counted, never fatal, and the cursor moves on. */
export type StreamRefusal =
  | 'MALFORMED'
  | 'IMPOSSIBLE_POOL'
  | 'OUT_OF_BOUNDS_PRICE'
  | 'IMPOSSIBLE_SIZE'
  | 'BAD_SIGNATURE'
  | 'NOT_FILLABLE'
  | 'EXPIRED';

export interface QuoteCandidate {
  readonly quote: IdentifiedQuote;
  readonly log: ChainLog;
}

/** Results of checking the events of a range, before any listener is called: the range may have to be read again. */
export interface CheckedEvents {
  readonly candidates: readonly QuoteCandidate[];
  readonly refused: readonly RefusedEvent[];
  /** Known to the book already. */
  readonly known: readonly Hex[];
}

export interface RefusedEvent {
  readonly why: StreamRefusal;
  readonly log: ChainLog;
  /** Refusal to report to the publisher, in the contract's words; null: the quote was not published here. */
  readonly publication: { readonly quoteId: Hex; readonly reason: QuoteError } | null;
}

export interface PublicationCheckParts {
  readonly book: Pick<BookPort, 'get'>;
  readonly pools: Pick<PoolAddresses, 'resolveEvenLater'>;
  readonly signatures: Pick<QuoteSignature, 'quoteId'>;
  readonly signatureChecks: Pick<SignatureChecks, 'verifyAll'>;
  readonly clock: Clock;
  /** Engine time, Unix seconds: what is due by then is not asked about. */
  readonly nowSeconds: () => number;
  /** Events decoded, and ids computed, between two turns of the event loop: at 80 us an event, 100 take 8 ms. */
  readonly checksPerTurn: number;
}

/** Checks published quotes for everything that needs no look at what their providers have. */
export class PublicationCheck {
  constructor(private readonly parts: PublicationCheckParts) {}

  /** The quotes that are what they claim to be; first events only, since a repeated one changes nothing. */
  async check(logs: readonly ChainLog[]): Promise<CheckedEvents> {
    const decoded: { log: ChainLog; published: PublishedQuote | null }[] = [];
    for (const log of logs) {
      decoded.push({ log, published: decodePublishedQuote(log) });
      if (decoded.length % this.parts.checksPerTurn === 0) await yieldToEventLoop(this.parts.clock);
    }
    const now = this.parts.nowSeconds();
    const keys = decoded.flatMap(({ published }) => published?.poolKey ?? []);
    const pools = (await this.parts.pools.resolveEvenLater(keys, now)).values();
    const unverified: QuoteCandidate[] = [];
    const refused: RefusedEvent[] = [];
    const known: Hex[] = [];
    for (const [i, { log, published }] of decoded.entries()) {
      if ((i + 1) % this.parts.checksPerTurn === 0) await yieldToEventLoop(this.parts.clock);
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
      const quoteId = this.parts.signatures.quoteId(words);
      const quote = identifiedQuote(words, quoteId);
      const problem = termsProblem(quote, now);
      if (this.parts.book.get(quoteId) !== undefined) known.push(quoteId);
      else if (problem !== null) {
        refused.push({ why: problem.why, log, publication: { quoteId, reason: problem.reason } });
      } else unverified.push({ quote, log });
    }
    const verdicts = await this.parts.signatureChecks.verifyAll(unverified.map(({ quote }) => quote));
    const candidates = new Map<Hex, QuoteCandidate>();
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

/** Content of a `PublishQuote` event, nothing of it checked but that JSON can carry its numbers. */
interface PublishedQuote {
  readonly poolKey: PoolKey;
  readonly words: Omit<SignedQuote, 'pool'>;
}

const [PUBLISH_QUOTE] = encodeEventTopics({ abi: orderbookStreamAbi, eventName: 'PublishQuote' });
export const publishQuoteTopics = [PUBLISH_QUOTE] as const;

/**
 * Null when the log is no `PublishQuote` or a number in it is above 2^53 - 1: no client could compute such a quote's
 * id, since salt, deadline and maturity are JSON integers on the wire.
 */
export function decodePublishedQuote({ topics, data }: ChainLog): PublishedQuote | null {
  const [name, , providerWord] = topics;
  if (name !== PUBLISH_QUOTE || providerWord === undefined || topics.length !== 3) return null;
  const words = new Words(data);
  if (words.count < WORDS) return null;
  const isBuy = words.bool(3);
  const isCallPool = words.bool(14);
  const [deadline, salt, maturity] = [4, 5, 13].map((at) => Number(words.uint(at)));
  if (isBuy === null || isCallPool === null) return null;
  if (!isSafe(deadline) || !isSafe(salt) || !isSafe(maturity)) return null;
  return {
    poolKey: {
      base: words.address(9),
      quote: words.address(10),
      oracleAdapter: words.address(11),
      strike: words.uint(12),
      maturity,
      isCallPool,
    },
    words: {
      provider: `0x${providerWord.slice(-ADDRESS_DIGITS).toLowerCase()}`,
      taker: words.address(0),
      price: words.uint(1),
      size: words.uint(2),
      isBuy,
      deadline,
      salt,
      signature: { r: words.bytes32(6), s: words.bytes32(7), v: Number(words.uint(8)) },
    },
  };
}

/**
 * All that is not indexed: taker, price, size, isBuy, deadline, salt, the signature's three words, the pool key's six.
 */
const WORDS = 15;
const WORD_DIGITS = 64;
const ADDRESS_DIGITS = 40;

/**
 * The words of an event's data, which are all static. viem's decoder gives the same (a test compares them) and takes
 * twenty times as long, since it hashes the event's signature and each address anew.
 */
class Words {
  readonly count: number;

  constructor(private readonly data: Hex) {
    this.count = Math.floor((data.length - 2) / WORD_DIGITS);
  }

  uint(at: number): bigint {
    return BigInt(this.bytes32(at));
  }

  /** Null: neither true nor false. */
  bool(at: number): boolean | null {
    const value = this.uint(at);
    return value > 1n ? null : value === 1n;
  }

  /** In lower case. */
  address(at: number): Hex {
    return `0x${this.bytes32(at).slice(-ADDRESS_DIGITS)}`;
  }

  bytes32(at: number): Hex {
    const start = 2 + at * WORD_DIGITS;
    return `0x${this.data.slice(start, start + WORD_DIGITS).toLowerCase()}`;
  }
}

function isSafe(value: number | undefined): value is number {
  return Number.isSafeInteger(value);
}
