import type { SignatureChecks } from '../auth/signature-checks.js';
import type { Hex, PoolKey, Signature, SignedQuote } from '../engine/quote.js';
import type { Clock } from '../engine/ports.js';
import type { Order } from '../engine/order.js';
import { isChainFailure } from './contract-errors.js';
import { boundQuote, identifiedQuote } from './growing-quote.js';
import type { PoolAddresses } from './pool-addresses.js';
import type { Publisher, PublicationOutcome } from './publisher.js';
import { NO_POOL, type QuoteChecks } from './quote-checks.js';
import type { IdentifiedQuote, QuoteStates } from './quote-states.js';
import { QUOTE_ERRORS } from './quote-states.js';
import { NoGasMoney, TxRefused, TxReverted, WalletBusy, WouldRevert } from './wallet-errors.js';

/** A posted quote, checked for its form alone. */
export interface PostedQuote extends Omit<SignedQuote, 'pool'> {
  readonly poolKey: PoolKey;
  readonly signature: Signature;
}

/** What became of one item, in the order of the request. */
export type IntakeItem =
  | { readonly type: 'CREATED' | 'EXISTS'; readonly order: Order; readonly fillableSize: bigint }
  | { readonly type: 'FAILED'; readonly reason: string };

export type IntakeResult =
  | { readonly type: 'ANSWERED'; readonly items: readonly IntakeItem[] }
  /** Time is up and nothing has landed; these may still enter. */
  | { readonly type: 'NOT_CONFIRMED'; readonly pending: readonly Hex[] }
  | { readonly type: 'NO_GAS_MONEY'; readonly wallet: Hex }
  | { readonly type: 'QUEUE_FULL' }
  | { readonly type: 'CHAIN_UNREACHABLE' };

/** The book as the intake reads it. */
export interface KnownOrders {
  /** Known: live or invalid. */
  get(quoteId: Hex): Order | undefined;
  /** Null: all that can be read now is durable. */
  whenDurable(): Promise<void> | null;
}

export interface IntakeLimits {
  readonly publishTimeoutMs: number;
  /** Quotes whose ids are computed between two turns of the event loop. */
  readonly checksPerTurn: number;
}

/** The event did not come in time; it still may. */
export const NOT_CONFIRMED = 'Publication not confirmed yet';

/** New and in a pool; whether anything is wrong with it is still to be seen. */
interface Unverified {
  readonly type: 'UNVERIFIED';
  readonly quote: IdentifiedQuote;
}

/** What is known of an item before anything is published. */
type Checked =
  | IntakeItem
  | { readonly type: 'GOOD'; readonly quote: IdentifiedQuote }
  | { readonly type: 'TWIN'; readonly of: number };

/**
 * The way of a posted quote: deadline, pool address, id, signature, the chain's own check, publication, and the wait
 * for its event to bring it into the book. A bad quote stops nobody else's.
 */
export class QuoteIntake {
  constructor(
    private readonly orders: KnownOrders,
    private readonly pools: Pick<PoolAddresses, 'resolve'>,
    private readonly checks: QuoteChecks,
    private readonly signatures: Pick<SignatureChecks, 'verifyAll'>,
    private readonly states: Pick<QuoteStates, 'read'>,
    private readonly publisher: Pick<Publisher, 'publish' | 'room' | 'walletAddress'>,
    private readonly clock: Clock,
    private readonly limits: IntakeLimits,
  ) {}

  get walletAddress(): Hex {
    return this.publisher.walletAddress;
  }

  async submit(posted: readonly PostedQuote[]): Promise<IntakeResult> {
    try {
      return await this.#submit(posted);
    } catch (error) {
      if (isChainFailure(error)) return { type: 'CHAIN_UNREACHABLE' };
      throw error;
    }
  }

  async #submit(posted: readonly PostedQuote[]): Promise<IntakeResult> {
    const checked = (await this.check(posted)).map((item) => this.#unlessEntered(item));
    const good = checked.flatMap((item) => (item.type === 'GOOD' ? [item.quote] : []));
    if (good.length > this.publisher.room) return { type: 'QUEUE_FULL' };
    const result = this.#answer(checked, good, await this.#publish(good));
    // Read first, then wait: after the wait the book may show newer things that are not durable yet.
    await this.orders.whenDurable();
    return result;
  }

  /** Everything but the publication. */
  async check(posted: readonly PostedQuote[]): Promise<Checked[]> {
    const pools = await this.pools.resolve(posted.map(({ poolKey }) => poolKey));
    const items: (IntakeItem | Unverified)[] = [];
    for (const [i, quote] of posted.entries()) {
      if (i > 0 && i % this.limits.checksPerTurn === 0) await this.#othersTurn();
      const pool = pools[i];
      items.push(
        pool === null || pool === undefined ? this.#withoutPool(quote) : this.#identify(boundQuote(quote, pool)),
      );
    }
    // What follows, packing the signatures and the reading of the chain, has turns of its own.
    if (posted.length > this.limits.checksPerTurn) await this.#othersTurn();
    return this.#askChain(withTwins(await this.#verify(items)));
  }

  #withoutPool({ deadline }: PostedQuote): IntakeItem {
    return failed(this.checks.isTooShort(deadline) ? this.checks.tooShort : NO_POOL);
  }

  #identify(quote: SignedQuote): IntakeItem | Unverified {
    const quoteId = this.checks.quoteId(quote);
    const known = this.orders.get(quoteId);
    if (known !== undefined) return asExisting(known);
    return { type: 'UNVERIFIED', quote: identifiedQuote(quote, quoteId) };
  }

  /** The checks that need no chain, the signatures of the whole request together. */
  async #verify(items: readonly (IntakeItem | Unverified)[]): Promise<Checked[]> {
    const unverified = items.flatMap((item) => (item.type === 'UNVERIFIED' ? [item.quote] : []));
    const verdicts = (await this.signatures.verifyAll(unverified)).values();
    return items.map((item): Checked => {
      if (item.type !== 'UNVERIFIED') return item;
      const { quote } = item;
      const [reason] = this.checks.reasons(quote, verdicts.next().value === true);
      return reason === undefined ? { type: 'GOOD', quote } : failed(reason);
    });
  }

  /**
   * A quote may have come in while it was checked, posted a second time or by somebody else: nobody has to pay for it
   * again.
   */
  #unlessEntered(item: Checked): Checked {
    const order = item.type === 'GOOD' ? this.orders.get(item.quote.quoteId) : undefined;
    return order === undefined ? item : asExisting(order);
  }

  #othersTurn(): Promise<void> {
    return new Promise((resolve) => this.clock.after(0, resolve));
  }

  async #askChain(checked: Checked[]): Promise<Checked[]> {
    const quotes = checked.flatMap((item) => (item.type === 'GOOD' ? [item.quote] : []));
    if (quotes.length === 0) return checked;
    const readings = await this.states.read(quotes);
    const errors = new Map(quotes.map(({ quoteId }, i) => [quoteId, readings[i]?.error ?? null]));
    return checked.map((item) => {
      const error = item.type === 'GOOD' ? (errors.get(item.quote.quoteId) ?? null) : null;
      return error === null ? item : failed(error);
    });
  }

  /** Null where time ran out first. */
  async #publish(quotes: readonly IdentifiedQuote[]): Promise<(PublicationOutcome | null)[]> {
    if (quotes.length === 0) return [];
    const outcomes = quotes.map((): PublicationOutcome | null => null);
    const all = Promise.all(
      quotes.map(async (quote, i) => {
        outcomes[i] = await this.publisher.publish(quote);
      }),
    );
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(this.limits.publishTimeoutMs, resolve);
      void all.then(() => {
        cancel();
        resolve();
      });
    });
    return outcomes.slice();
  }

  #answer(
    checked: readonly Checked[],
    good: readonly IdentifiedQuote[],
    outcomes: readonly (PublicationOutcome | null)[],
  ): IntakeResult {
    const published = new Map(good.map(({ quoteId }, i) => [quoteId, outcomes[i] ?? null]));
    const items: IntakeItem[] = [];
    for (const item of checked) {
      if (item.type === 'GOOD')
        items.push(this.#outcome(item.quote.quoteId, published.get(item.quote.quoteId) ?? null));
      else if (item.type === 'TWIN') items.push(asTwin(items[item.of]));
      else items.push(item);
    }
    const landed = good.length === 0 || items.some(({ type }) => type !== 'FAILED');
    if (!landed) {
      // First: some of a large request may be on the way where the rest was refused, and its maker has to know.
      const pending = good.filter((_, i) => isPending(outcomes[i])).map(({ quoteId }) => quoteId);
      if (pending.length > 0) return { type: 'NOT_CONFIRMED', pending };
      if (outcomes.some((outcome) => outcome?.type === 'FAILED' && isChainFailure(outcome.error))) {
        return { type: 'CHAIN_UNREACHABLE' };
      }
      const noGas = outcomes.find((outcome) => outcome?.type === 'FAILED' && outcome.error instanceof NoGasMoney);
      if (noGas !== undefined) return { type: 'NO_GAS_MONEY', wallet: this.publisher.walletAddress };
    }
    return { type: 'ANSWERED', items };
  }

  #outcome(quoteId: Hex, outcome: PublicationOutcome | null): IntakeItem {
    if (outcome === null) return failed(NOT_CONFIRMED);
    if (outcome.type === 'REFUSED') return failed(outcome.reason);
    if (outcome.type === 'FAILED') return failed(whyNotPublished(outcome.error));
    const order = this.orders.get(quoteId);
    if (order === undefined) return failed('QuoteOBOverfilled'); // entered, and filled or cancelled since
    if (order.reason !== null) return failed(QUOTE_ERRORS[order.reason]);
    return { type: 'CREATED', order, fillableSize: order.fillableSize };
  }
}

/** Of quotes that stand in the request more than once, the first good one is published. */
function withTwins(items: readonly Checked[]): Checked[] {
  const firsts = new Map<Hex, number>();
  return items.map((item, i) => {
    if (item.type !== 'GOOD') return item;
    const { quoteId } = item.quote;
    const first = firsts.get(quoteId);
    if (first !== undefined) return { type: 'TWIN', of: first };
    firsts.set(quoteId, i);
    return item;
  });
}

/** Not decided, or given up on our side: it may still enter. */
function isPending(outcome: PublicationOutcome | null | undefined): boolean {
  return outcome == null || (outcome.type === 'FAILED' && whyNotPublished(outcome.error) === NOT_CONFIRMED);
}

function asExisting(order: Order): IntakeItem {
  return { type: 'EXISTS', order, fillableSize: order.fillableSize };
}

/** The same quote a second time in one request exists if the first came in, and else failed as the first did. */
function asTwin(first: IntakeItem | undefined): IntakeItem {
  if (first === undefined) throw new Error('A twin stands before its first');
  return first.type === 'FAILED' ? first : { ...first, type: 'EXISTS' };
}

const REFUSALS = [TxRefused, TxReverted, WouldRevert];

/** Where it says that it is not confirmed yet, the quote may still enter. */
function whyNotPublished(error: Error): string {
  if (REFUSALS.some((type) => error instanceof type)) return 'The stream chain refused the publication';
  if (error instanceof NoGasMoney) return error.message;
  if (error instanceof WalletBusy) return 'Too many quotes wait for their publication';
  return isChainFailure(error) ? 'The chain does not answer' : NOT_CONFIRMED;
}

function failed(reason: string): IntakeItem {
  return { type: 'FAILED', reason };
}
