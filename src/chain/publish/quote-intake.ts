import type { Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import type { GasRefusal } from '../../quota/gas-budget.js';
import { PUBLICATION_UNCONFIRMED } from '../../wire/unconfirmed.js';
import { isChainFailure, unlessChainFails } from '../contracts/contract-errors.js';
import type { IdentifiedQuote } from '../contracts/quote-types.js';
import { ERROR_NAMES } from '../follow/quote-states.js';
import {
  InsufficientFunds,
  IntentNotPersisted,
  SpendCapReached,
  TxRefused,
  TxReverted,
  WalletBusy,
  WouldRevert,
} from '../wallet/errors.js';
import { Deadline } from '../../system/timers.js';
import type { PublishAnswer, PublishedItem, QuoteToPublish } from '../../wire/answers.js';
import type { PublicationOutcome, QuotePublisher } from './publisher.js';
import {
  asExisting,
  type CheckedItem,
  failed,
  isAccepted,
  type QuoteValidation,
  type KnownOrders,
} from './quote-validation.js';

export type IntakeResult = PublishAnswer | GasRefusal;

export interface IntakeLimits {
  readonly publishTimeoutMs: number;
}

/** Pays for the quotes of one request. */
export interface QuoteBudget {
  /** Reserves for so many new quotes, or returns why not. Called once, before the first of them is published. */
  take(quotes: number): GasRefusal | null;
  /** Of those the wallet pays, or may pay, for so many, whatever their outcome. */
  charge(quotes: number): void;
}

/** Reason given when the pool cannot be asked: nothing of the quote can be filled. */
const GONE = 'QuoteOBOverfilled';

/** The way of posted quotes: the checks, the publication, and the wait for its event to bring each into the book. */
export class QuoteIntake {
  constructor(
    private readonly orders: KnownOrders,
    private readonly validation: Pick<QuoteValidation, 'check' | 'refusals'>,
    private readonly publisher: Pick<QuotePublisher, 'prefetch' | 'has' | 'publish' | 'room' | 'walletAddress'>,
    private readonly clock: Clock,
    private readonly limits: IntakeLimits,
  ) {}

  get walletAddress(): Hex {
    return this.publisher.walletAddress;
  }

  /**
   * `budget` pays for new quotes alone: a quote that was already pending is charged to the request that posted it first.
   * If it refuses, nothing is published.
   */
  async submit(posted: readonly QuoteToPublish[], budget: QuoteBudget): Promise<IntakeResult> {
    return unlessChainFails(() => this.#submit(posted, budget), { type: 'CHAIN_UNREACHABLE' });
  }

  async #submit(posted: readonly QuoteToPublish[], budget: QuoteBudget): Promise<IntakeResult> {
    const { publisher } = this;
    const promising = await this.validation.check(posted, {
      join: (quote) => (publisher.has(quote) ? publisher.publish(quote) : null),
      prefetch: (quotes) => publisher.prefetch(quotes),
    });
    const checked = promising.map((item) => this.#unlessEntered(item));
    const accepted = checked.filter(isAccepted);
    const good = accepted.map(({ quote }) => quote);
    // No await between here and the publication: another request may have the same quotes published meanwhile.
    const isNew = accepted.map(({ type, quote }) => type === 'GOOD' && !publisher.has(quote));
    const newQuotes = isNew.filter(Boolean).length;
    if (newQuotes > publisher.room) return { type: 'QUEUE_FULL' };
    const refusal = newQuotes === 0 ? null : budget.take(newQuotes);
    if (refusal !== null) return refusal;
    const outcomes = await this.#outcomes(
      accepted.map((item) => (item.type === 'JOINED' ? item.outcome : publisher.publish(item.quote))),
    );
    budget.charge(outcomes.filter((outcome, i) => isNew[i] === true && isPaid(outcome)).length);
    const result = this.#answer(checked, good, await this.#explainGone(good, outcomes));
    // Read first, then wait: after the wait the book may show newer things that are not durable yet.
    await this.orders.whenDurable();
    return result;
  }

  /**
   * A quote may have come in while it was checked, posted a second time or by somebody else: nobody has to pay for it
   * again.
   */
  #unlessEntered(item: CheckedItem): CheckedItem {
    const order = item.type === 'GOOD' ? this.orders.get(item.quote.quoteId) : undefined;
    return order === undefined ? item : asExisting(order);
  }

  /** Null where time ran out first. */
  async #outcomes(publications: readonly Promise<PublicationOutcome>[]): Promise<(PublicationOutcome | null)[]> {
    if (publications.length === 0) return [];
    const outcomes = publications.map((): PublicationOutcome | null => null);
    const all = Promise.all(
      publications.map(async (publication, i) => {
        outcomes[i] = await publication;
      }),
    );
    await new Deadline(this.clock, this.limits.publishTimeoutMs).wait(all);
    return outcomes.slice();
  }

  /**
   * An accepted quote may be filled, cancelled or expired before its request is answered. Its pool says which; if the
   * pool has no objection, a reorg removed the quote. Each quote is checked once, since others may go meanwhile.
   */
  async #explainGone(
    quotes: readonly IdentifiedQuote[],
    outcomes: readonly (PublicationOutcome | null)[],
  ): Promise<(PublicationOutcome | null)[]> {
    const asked = quotes.filter(
      ({ quoteId }, i) => outcomes[i]?.type === 'ENTERED' && this.orders.get(quoteId) === undefined,
    );
    if (asked.length === 0) return [...outcomes];
    const refusals = await this.#refusals(asked);
    const reasons = new Map(asked.map((quote, i) => [quote, refusals[i] ?? PUBLICATION_UNCONFIRMED]));
    const explained = quotes.map((quote, i): PublicationOutcome | null => {
      const outcome = outcomes[i] ?? null;
      const reason = reasons.get(quote);
      return reason === undefined || outcome?.type !== 'ENTERED' ? outcome : { ...outcome, type: 'REFUSED', reason };
    });
    return this.#explainGone(quotes, explained);
  }

  async #refusals(quotes: readonly IdentifiedQuote[]): Promise<(string | null)[]> {
    return (await unlessChainFails(() => this.validation.refusals(quotes), null)) ?? quotes.map(() => GONE);
  }

  #answer(
    checked: readonly CheckedItem[],
    good: readonly IdentifiedQuote[],
    outcomes: readonly (PublicationOutcome | null)[],
  ): IntakeResult {
    const published = new Map(good.map(({ quoteId }, i) => [quoteId, outcomes[i] ?? null]));
    const items: PublishedItem[] = [];
    for (const item of checked) {
      if (isAccepted(item)) items.push(this.#outcome(item.quote.quoteId, published.get(item.quote.quoteId) ?? null));
      else if (item.type === 'TWIN') items.push(asTwin(items[item.of]));
      else items.push(item);
    }
    if (items.every(({ type }) => type === 'FAILED')) {
      // First: some of a large request may be on the way where the rest was refused, and its maker has to know.
      const pending = good.filter((_, i) => isPending(outcomes[i])).map(({ quoteId }) => quoteId);
      if (pending.length > 0) return { type: 'NOT_CONFIRMED', pending };
      if (outcomes.some((outcome) => outcome?.type === 'FAILED' && isChainFailure(outcome.error))) {
        return { type: 'CHAIN_UNREACHABLE' };
      }
      const { walletAddress: wallet } = this.publisher;
      const errors = outcomes.flatMap((outcome) => (outcome?.type === 'FAILED' ? [outcome.error] : []));
      const capped = errors.find((error) => error instanceof SpendCapReached);
      if (capped !== undefined) return { type: 'SPEND_CAP', wallet, retryAfterMs: capped.waitMs };
      if (errors.some((error) => error instanceof InsufficientFunds)) return { type: 'NO_GAS_MONEY', wallet };
    }
    return { type: 'ANSWERED', items };
  }

  #outcome(quoteId: Hex, outcome: PublicationOutcome | null): PublishedItem {
    if (outcome === null) return failed(PUBLICATION_UNCONFIRMED);
    if (outcome.type === 'REFUSED') return failed(outcome.reason);
    if (outcome.type === 'FAILED') return failed(failureReason(outcome.error));
    const order = this.orders.get(quoteId);
    if (order === undefined) return failed(GONE); // in the very moment since its pool was asked
    // A second publication, as after a reorg, leaves a quote withdrawn.
    if (order.state === 'withdrawn') return { type: 'EXISTS', order, fillableSize: order.fillableSize };
    if (order.reason !== null) return failed(ERROR_NAMES[order.reason]);
    return { type: 'CREATED', order, fillableSize: order.fillableSize };
  }
}

/** Not decided, or given up on our side: it may still enter. */
function isPending(outcome: PublicationOutcome | null | undefined): boolean {
  return outcome == null || (outcome.type === 'FAILED' && failureReason(outcome.error) === PUBLICATION_UNCONFIRMED);
}

/**
 * Its transaction was mined, or may be. Also where the quote was refused after that: else a maker could have any number
 * published, and spoil each on its way.
 */
function isPaid(outcome: PublicationOutcome | null): boolean {
  if (outcome === null || isPending(outcome)) return true;
  return outcome.type === 'FAILED' ? outcome.error instanceof TxReverted : outcome.isSent;
}

/** The same quote a second time in one request exists if the first came in, and else failed as the first did. */
function asTwin(first: PublishedItem | undefined): PublishedItem {
  if (first === undefined) throw new Error('A twin stands before its first');
  return first.type === 'FAILED' ? first : { ...first, type: 'EXISTS' };
}

const REFUSALS = [TxRefused, TxReverted, WouldRevert];

/** Where it says that it is not confirmed yet, the quote may still enter. */
function failureReason(error: Error): string {
  if (REFUSALS.some((type) => error instanceof type)) return 'The stream chain refused the publication';
  if (error instanceof InsufficientFunds || error instanceof IntentNotPersisted) return error.message;
  if (error instanceof WalletBusy) return 'Too many quotes wait for their publication';
  return isChainFailure(error) ? 'The chain does not answer' : PUBLICATION_UNCONFIRMED;
}
