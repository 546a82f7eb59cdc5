import type { Clock } from '../engine/ports.js';
import { DayBudget } from './day-budget.js';
import type { QuotaHolder, Tier, TierQuotas } from './tier-quotas.js';

/** Gas of `OrderbookStream.add`, measured: a part for the transaction, and one for each quote in it. */
const GAS_PER_TX = 21_800;
const GAS_PER_QUOTE = 12_100;

/** Hears what a key had published: quotes, and gas. */
export type OnPublished = (holder: QuotaHolder, quotes: number, gas: number) => void;

/**
 * What each key may have the operator pay for in 24 hours. A request is charged as if it had a transaction of its own,
 * before anything is sent; what turns out not to be sent is given back.
 */
export class OperatorGas {
  readonly #of: (tier: Tier) => Pick<TierQuotas, 'quotesPerDay' | 'gasPerDay'>;
  readonly #onPublished: OnPublished;
  readonly #quotes: DayBudget;
  readonly #gas: DayBudget;

  /** `of`: what a tier may use, by now. */
  constructor(
    of: (tier: Tier) => Pick<TierQuotas, 'quotesPerDay' | 'gasPerDay'>,
    clock: Pick<Clock, 'monotonicMs'>,
    onPublished: OnPublished,
  ) {
    this.#of = of;
    this.#onPublished = onPublished;
    this.#quotes = new DayBudget(clock);
    this.#gas = new DayBudget(clock);
  }

  /** Takes so many quotes or none. Returns 0, or in how many milliseconds the key's day ends. */
  take({ id, tier }: QuotaHolder, quotes: number): number {
    const { quotesPerDay, gasPerDay } = this.#of(tier);
    const quotesWaitMs = this.#quotes.take(id, quotes, quotesPerDay);
    if (quotesWaitMs > 0) return quotesWaitMs;
    const gasWaitMs = this.#gas.take(id, gasOf(quotes), gasPerDay);
    if (gasWaitMs > 0) this.#quotes.giveBack(id, quotes);
    return gasWaitMs;
  }

  /** Of those that were taken, so many were sent. */
  settle(holder: QuotaHolder, taken: number, sent: number): void {
    this.#quotes.giveBack(holder.id, taken - sent);
    this.#gas.giveBack(holder.id, gasOf(taken) - gasOf(sent));
    if (sent > 0) this.#onPublished(holder, sent, gasOf(sent));
  }
}

function gasOf(quotes: number): number {
  return quotes === 0 ? 0 : GAS_PER_TX + quotes * GAS_PER_QUOTE;
}
