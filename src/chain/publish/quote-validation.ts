import type { QuoteSignature } from '../../auth/quote-signature.js';
import type { SignatureChecks } from '../../auth/signature-pool.js';
import type { Clock } from '../../engine/ports.js';
import { type Hex, MAX_PRICE, type Order, type PoolKey, type SignedQuote } from '../../engine/quote.js';
import { yieldToEventLoop } from '../../system/timers.js';
import type { PublishedItem, QuoteToPublish } from '../../wire/answers.js';
import { boundQuote, type IdentifiedQuote, identifiedQuote } from '../contracts/quote-types.js';
import type { PoolAddresses } from '../follow/pool-addresses.js';
import type { QuoteStates } from '../follow/quote-states.js';
import type { PublicationOutcome } from './publisher.js';

/** The book as the intake reads it. */
export interface KnownOrders {
  /** Known: live or invalid. */
  get(quoteId: Hex): Order | undefined;
  /** Null: all that can be read now is durable. */
  whenDurable(): Promise<void> | null;
}

/** New and in a pool; whether anything is wrong with it is still to be seen. */
interface Unverified {
  readonly type: 'UNVERIFIED';
  readonly quote: IdentifiedQuote;
}

/** The finding on an item before anything is published. */
export type CheckedItem =
  | PublishedItem
  | { readonly type: 'GOOD'; readonly quote: IdentifiedQuote }
  /** Its publication was pending when the request came: no rule can stop it any more. */
  | { readonly type: 'JOINED'; readonly quote: IdentifiedQuote; readonly outcome: Promise<PublicationOutcome> }
  | { readonly type: 'TWIN'; readonly of: number };

/** Whether the item is published, or is being published already. */
export function isAccepted(item: CheckedItem): item is Extract<CheckedItem, { readonly type: 'GOOD' | 'JOINED' }> {
  return item.type === 'GOOD' || item.type === 'JOINED';
}

/** The publisher as the checks use it. */
export interface PendingPublications {
  /** Joins the quote's pending publication; null: there is none. */
  join(quote: IdentifiedQuote): Promise<PublicationOutcome> | null;
  /** Hears of the quotes that have passed all checks but the last, by their pools. */
  prefetch(quotes: readonly IdentifiedQuote[]): void;
}

export interface QuoteValidationParts {
  readonly orders: Pick<KnownOrders, 'get'>;
  readonly pools: Pick<PoolAddresses, 'resolve'>;
  readonly rules: QuoteRules;
  readonly signatureChecks: Pick<SignatureChecks, 'verifyAll'>;
  readonly states: Pick<QuoteStates, 'read'>;
  readonly clock: Clock;
  /** Quotes whose ids are computed between two turns of the event loop. */
  readonly checksPerTurn: number;
}

/** Checks posted quotes before anything is published: pool address, id, signature, the chain's own check. */
export class QuoteValidation {
  constructor(private readonly parts: QuoteValidationParts) {}

  /** Items in the order of the request. A bad quote does not affect the others. */
  async check(posted: readonly QuoteToPublish[], pending: PendingPublications): Promise<CheckedItem[]> {
    const pools = await this.parts.pools.resolve(posted.map(({ poolKey }) => poolKey));
    const items: (CheckedItem | Unverified)[] = [];
    for (const [i, quote] of posted.entries()) {
      if (i > 0 && i % this.parts.checksPerTurn === 0) await yieldToEventLoop(this.parts.clock);
      const pool = pools[i];
      items.push(
        pool === null || pool === undefined
          ? failed(this.parts.rules.reasonsWithoutPool(quote)[0])
          : this.#identify(boundQuote(quote, pool), pending),
      );
    }
    // The next steps, packing the signatures and reading the chain, have turns of their own.
    if (posted.length > this.parts.checksPerTurn) await yieldToEventLoop(this.parts.clock);
    return this.#askChain(withTwins(await this.#verify(items)), pending);
  }

  #identify(terms: SignedQuote, pending: PendingPublications): CheckedItem | Unverified {
    const quoteId = this.parts.rules.quoteId(terms);
    const known = this.parts.orders.get(quoteId);
    if (known !== undefined) return asExisting(known);
    const quote = identifiedQuote(terms, quoteId);
    const outcome = pending.join(quote);
    return outcome === null ? { type: 'UNVERIFIED', quote } : { type: 'JOINED', quote, outcome };
  }

  /** The checks that need no chain, the signatures of the whole request together. */
  async #verify(items: readonly (CheckedItem | Unverified)[]): Promise<CheckedItem[]> {
    const unverified = items.flatMap((item) => (item.type === 'UNVERIFIED' ? [item.quote] : []));
    const verdicts = (await this.parts.signatureChecks.verifyAll(unverified)).values();
    return items.map((item): CheckedItem => {
      if (item.type !== 'UNVERIFIED') return item;
      const { quote } = item;
      const [reason] = this.parts.rules.reasons(quote, verdicts.next().value === true);
      return reason === undefined ? { type: 'GOOD', quote } : failed(reason);
    });
  }

  /** The names of the errors with which the pools reject these quotes now; null: accepted. */
  async refusals(quotes: readonly IdentifiedQuote[]): Promise<(string | null)[]> {
    return (await this.parts.states.read(quotes)).map(({ error }) => error);
  }

  async #askChain(checked: CheckedItem[], pending: Pick<PendingPublications, 'prefetch'>): Promise<CheckedItem[]> {
    const quotes = checked.flatMap((item) => (item.type === 'GOOD' ? [item.quote] : []));
    if (quotes.length === 0) return checked;
    const asked = this.refusals(quotes);
    pending.prefetch(quotes);
    const refusals = await asked;
    const errors = new Map(quotes.map(({ quoteId }, i) => [quoteId, refusals[i] ?? null]));
    return checked.map((item) => {
      const error = item.type === 'GOOD' ? (errors.get(item.quote.quoteId) ?? null) : null;
      return error === null ? item : failed(error);
    });
  }
}

/** Of quotes that stand in the request more than once, the first good one is published. */
function withTwins(items: readonly CheckedItem[]): CheckedItem[] {
  const firsts = new Map<Hex, number>();
  return items.map((item, i) => {
    if (!isAccepted(item)) return item;
    const { quoteId } = item.quote;
    const first = firsts.get(quoteId);
    if (first !== undefined) return { type: 'TWIN', of: first };
    firsts.set(quoteId, i);
    return item;
  });
}

export function asExisting(order: Order): PublishedItem {
  return { type: 'EXISTS', order, fillableSize: order.fillableSize };
}

export function failed(reason: string): PublishedItem {
  return { type: 'FAILED', reason };
}

export interface QuoteCheckLimits {
  readonly minQuoteLifeSeconds: number;
}

const NO_POOL = 'Failed to fetch pool address';

/** Finds the faults of a posted quote that show without the chain, in the order of the contract's own checks. */
export class QuoteRules {
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
