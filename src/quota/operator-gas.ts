import type { KeptValues } from '../engine/ports.js';
import { DayBudget, type UsedOfDay } from './day-budget.js';
import type { QuotaHolder, Tier, TierQuotas } from './tier-quotas.js';

/** Gas of `OrderbookStream.add`, measured: a part for the transaction, and one for each quote in it. */
const GAS_PER_TX = 21_800;
const GAS_PER_QUOTE = 12_100;
/** Under which a key's days are kept, before its id. */
const KEPT_AS = 'key ';

export interface OperatorGasOptions {
  /** What a tier may use, by now. */
  readonly of: (tier: Tier) => Pick<TierQuotas, 'quotesPerDay' | 'gasPerDay'>;
  /** Goes on where it was after a restart. */
  readonly nowMs: () => number;
  /** Where it is kept what was used; null: it is forgotten with the process. */
  readonly kept: KeptValues | null;
  /** Hears what a key had published: quotes, and gas. */
  readonly onPublished: (holder: QuotaHolder, quotes: number, gas: number) => void;
}

/**
 * What each key may have the operator pay for in 24 hours. A request is charged as if it had a transaction of its own,
 * before anything is sent; what turns out not to be sent is given back.
 */
export class OperatorGas {
  readonly #options: OperatorGasOptions;
  readonly #quotes: DayBudget;
  readonly #gas: DayBudget;

  constructor(options: OperatorGasOptions) {
    this.#options = options;
    this.#quotes = new DayBudget(options.nowMs);
    this.#gas = new DayBudget(options.nowMs);
    this.#goOn();
  }

  /** Takes so many quotes or none. Returns 0, or in how many milliseconds the key's day ends. */
  take({ id, tier }: QuotaHolder, quotes: number): number {
    const { quotesPerDay, gasPerDay } = this.#options.of(tier);
    const quotesWaitMs = this.#quotes.take(id, quotes, quotesPerDay);
    if (quotesWaitMs > 0) return quotesWaitMs;
    const gasWaitMs = this.#gas.take(id, gasOf(quotes), gasPerDay);
    if (gasWaitMs > 0) this.#quotes.giveBack(id, quotes);
    else void this.#keep(id);
    return gasWaitMs;
  }

  /** Of those that were taken, so many were sent. When it resolves, what the key has used outlives the process. */
  async settle(holder: QuotaHolder, taken: number, sent: number): Promise<void> {
    this.#quotes.giveBack(holder.id, taken - sent);
    this.#gas.giveBack(holder.id, gasOf(taken) - gasOf(sent));
    if (sent > 0) this.#options.onPublished(holder, sent, gasOf(sent));
    await this.#keep(holder.id);
  }

  /**
   * A disk that fails ends the process by itself. On one that is full, what is in memory counts on, and is kept with
   * the next change.
   */
  async #keep(id: string): Promise<void> {
    const [quotes, gas] = [this.#quotes.of(id), this.#gas.of(id)];
    await this.#options.kept?.put(`${KEPT_AS}${id}`, { quotes, gas }).catch(() => undefined);
  }

  /** With the days that an earlier run left; those that ended meanwhile are dropped. */
  #goOn(): void {
    const { kept, nowMs } = this.#options;
    for (const [key, value] of kept?.found ?? []) {
      if (!key.startsWith(KEPT_AS)) continue;
      const { quotes, gas } = Object(value) as { quotes?: unknown; gas?: unknown };
      if (!isUsedOfDay(quotes) || !isUsedOfDay(gas))
        throw new Error(`What ${key} used was kept in a form not understood`);
      const id = key.slice(KEPT_AS.length);
      this.#quotes.put(id, quotes);
      this.#gas.put(id, gas);
      if (Math.max(quotes.endsMs, gas.endsMs) <= nowMs()) kept?.remove(key).catch(() => undefined);
    }
  }
}

function gasOf(quotes: number): number {
  return quotes === 0 ? 0 : GAS_PER_TX + quotes * GAS_PER_QUOTE;
}

function isUsedOfDay(value: unknown): value is UsedOfDay {
  const { endsMs, used } = Object(value) as Record<string, unknown>;
  return Number.isSafeInteger(endsMs) && Number.isSafeInteger(used);
}
