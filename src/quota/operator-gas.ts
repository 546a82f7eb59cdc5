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
  /** Hears what a key is charged with: quotes that were published for it, and gas. */
  readonly onCharged: (holder: QuotaHolder, quotes: number, gas: number) => void;
  /** Hears of each refusal. */
  readonly onRefusal: (holder: QuotaHolder) => void;
}

/**
 * What each key may have the operator pay for in 24 hours. It is taken before anything is sent, for quotes as if each
 * request had a transaction of its own; what turns out not to be sent is given back.
 */
export class OperatorGas {
  readonly #options: OperatorGasOptions;
  readonly #quotes: DayBudget;
  readonly #gas: DayBudget;
  /** Whether the last put was kept. While it was not, a restart would let keys use the same budget again. */
  #isKept = true;

  constructor(options: OperatorGasOptions) {
    this.#options = options;
    this.#quotes = new DayBudget(options.nowMs);
    this.#gas = new DayBudget(options.nowMs);
    this.#goOn();
  }

  /**
   * False after what a key used could not be kept, until it can: nothing may be taken then. Each call tries again, for
   * the next one.
   */
  canKeep({ id }: QuotaHolder): boolean {
    if (!this.#isKept) void this.#keep(id);
    return this.#isKept;
  }

  /** Takes so many quotes and their gas, or none. Returns 0, or in how many milliseconds the key's day ends. */
  take(holder: QuotaHolder, quotes: number): number {
    return this.#take(holder, quotes, gasOf(quotes));
  }

  /** By the clock that days go by: when something is taken. */
  nowMs(): number {
    return this.#options.nowMs();
  }

  /**
   * Of those that were taken at `takenMs`, so many were sent. When it resolves, what the key has used outlives the
   * process.
   */
  settle(holder: QuotaHolder, taken: number, sent: number, takenMs: number): Promise<void> {
    this.#quotes.giveBack(holder.id, taken - sent, takenMs);
    return this.#charge(holder, gasOf(taken), sent, gasOf(sent), takenMs);
  }

  /** Takes so much gas or none, for transactions that publish no quotes. Returns as `take`. */
  takeGas(holder: QuotaHolder, gas: number): number {
    return this.#take(holder, 0, gas);
  }

  /** Of the gas that was taken at `takenMs` so much was used, or more than that. Resolves as `settle`. */
  settleGas(holder: QuotaHolder, taken: number, used: number, takenMs: number): Promise<void> {
    return this.#charge(holder, taken, 0, used, takenMs);
  }

  #take(holder: QuotaHolder, quotes: number, gas: number): number {
    const { id, tier } = holder;
    const { quotesPerDay, gasPerDay } = this.#options.of(tier);
    const quotesWaitMs = this.#quotes.take(id, quotes, quotesPerDay);
    const waitMs = quotesWaitMs > 0 ? quotesWaitMs : this.#gas.take(id, gas, gasPerDay);
    if (waitMs === 0) void this.#keep(id);
    else {
      if (quotesWaitMs === 0) this.#quotes.giveBack(id, quotes, this.nowMs());
      this.#options.onRefusal(holder);
    }
    return waitMs;
  }

  async #charge(holder: QuotaHolder, taken: number, quotes: number, gas: number, takenMs: number): Promise<void> {
    this.#gas.giveBack(holder.id, taken - gas, takenMs);
    if (gas > 0) this.#options.onCharged(holder, quotes, gas);
    await this.#keep(holder.id);
  }

  /** A disk that fails ends the process. On one that is full, what is in memory counts on. */
  async #keep(id: string): Promise<void> {
    const [quotes, gas] = [this.#quotes.of(id), this.#gas.of(id)];
    try {
      await this.#options.kept?.put(`${KEPT_AS}${id}`, { quotes, gas });
      this.#isKept = true;
    } catch {
      this.#isKept = false;
    }
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
