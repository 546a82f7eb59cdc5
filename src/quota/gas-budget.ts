import type { KeyValueStore } from '../persistence/disk/disk.js';
import type { Hex } from '../engine/quote.js';
import type { QuotaHolder, Tier, TierQuotas } from './rate-limits.js';

/** Gas of `OrderbookStream.add`, measured: a part for the transaction, and one for each quote in it. */
const GAS_PER_TX = 21_800;
const GAS_PER_QUOTE = 12_100;
/** Under which a key's days are kept, before its id. */
const KEPT_AS = 'key ';

export interface GasBudgetOptions {
  /** What a tier may use, by now. */
  readonly of: (tier: Tier) => Pick<TierQuotas, 'quotesPerDay' | 'gasPerDay'>;
  /** Goes on where it was after a restart. */
  readonly nowMs: () => number;
  /** Where it is kept what was used; null: it is forgotten with the process. */
  readonly kept: KeyValueStore | null;
  /** Hears what a key is charged with: quotes that were published for it, and gas. */
  readonly onCharged: (holder: QuotaHolder, quotes: number, gas: number) => void;
  /** Hears of each refusal. */
  readonly onRefusal: (holder: QuotaHolder) => void;
}

/**
 * What each key may have the operator pay for in 24 hours. It is taken before anything is sent, for quotes as if each
 * request had a transaction of its own; what turns out not to be sent is given back.
 */
export class GasBudget {
  readonly #options: GasBudgetOptions;
  readonly #quotes: DayBudget;
  readonly #gas: DayBudget;
  /** Whether the last put was kept. While it was not, a restart would let keys use the same budget again. */
  #isKept = true;

  constructor(options: GasBudgetOptions) {
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

const DAY_MS = 24 * 60 * 60_000;

/** What was used of a day, and when that day ends. */
interface UsedOfDay {
  /** Milliseconds of the clock that the budget goes by. */
  readonly endsMs: number;
  readonly used: number;
}

/**
 * What each key has used in 24 hours, counted from its first use on. By a clock that goes on where it was after a
 * restart and that no step of the wall clock touches. Only keys that exist get here, which bounds their number.
 */
class DayBudget {
  readonly #nowMs: () => number;
  readonly #days = new Map<string, UsedOfDay>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Takes all of `amount` or nothing. Returns 0, or in how many milliseconds the day ends. */
  take(who: string, amount: number, limit: number): number {
    const { endsMs, used } = this.of(who);
    // Who wants nothing is not refused for what was used under a higher limit.
    if (amount > 0 && used + amount > limit) return Math.max(1, Math.ceil(endsMs - this.#nowMs()));
    this.put(who, { endsMs, used: used + amount });
    return 0;
  }

  /**
   * `amount`: of what was taken at `takenMs`, what was not needed after all; below 0: what was needed besides. Once that
   * day is over it changes nothing: the next one's budget is its own.
   */
  giveBack(who: string, amount: number, takenMs: number): void {
    const { endsMs, used } = this.of(who);
    if (takenMs < endsMs - DAY_MS) return;
    this.put(who, { endsMs, used: Math.min(Math.max(0, used - amount), Number.MAX_SAFE_INTEGER) });
  }

  /** Of the day that is on, or that would begin now. */
  of(who: string): UsedOfDay {
    const nowMs = this.#nowMs();
    const known = this.#days.get(who);
    return known !== undefined && nowMs < known.endsMs ? known : { endsMs: nowMs + DAY_MS, used: 0 };
  }

  /** As an earlier run left it, too. */
  put(who: string, day: UsedOfDay): void {
    this.#days.set(who, day);
  }
}

/** Gas of the operator's transactions on the settlement chain, measured on the local one: a little more than most. */
export const GAS_PER_DEPLOYMENT = 260_000;
export const GAS_PER_SETTLEMENT = 135_000;

/** The wallet that sends, as far as its cap goes. */
export interface CappedSender {
  readonly address: Hex;
  /** 0: it may spend; else in how many milliseconds it may again. */
  waitMs(): number;
}

/**
 * What one request has the operator's wallet send. What its transactions may cost is taken from the key's day before
 * any of them is sent; once they are mined the key is charged with what they did cost.
 */
export class GasReservation {
  #taken = 0;
  #takenMs = 0;
  #used = 0;
  #capWaitMs = 0;

  constructor(
    private readonly operatorGas: GasBudget,
    private readonly sender: CappedSender,
    private readonly holder: QuotaHolder,
    private readonly gasPerTx: number,
  ) {}

  /** Does the work and charges for it. Where the wallet's cap let it send nothing at all, that is the outcome. */
  async run<T>(work: (charge: GasReservation) => Promise<T>): Promise<T | GasRefusal> {
    try {
      const result = await work(this);
      return this.#capWaitMs > 0 && this.#used === 0 ? this.#spendCap(this.#capWaitMs) : result;
    } finally {
      await this.operatorGas.settleGas(this.holder, this.#taken, this.#used, this.#takenMs);
    }
  }

  /** For so many transactions, or none: then it says why. To be called once, before the first is sent. */
  take(transactions: number): GasRefusal | null {
    if (transactions === 0) return null;
    const capWaitMs = this.sender.waitMs();
    if (capWaitMs > 0) return this.#spendCap(capWaitMs);
    if (!this.operatorGas.canKeep(this.holder)) return { type: 'STORAGE_FULL' };
    const gas = transactions * this.gasPerTx;
    const retryAfterMs = this.operatorGas.takeGas(this.holder, gas);
    if (retryAfterMs > 0) return { type: 'OVER_BUDGET', retryAfterMs };
    this.#taken = gas;
    this.#takenMs = this.operatorGas.nowMs();
    return null;
  }

  /** A transaction was mined and used so much gas; null: it may still be, and counts as what was taken for it. */
  sent(gasUsed: bigint | null): void {
    this.#used += gasUsed === null ? this.gasPerTx : Number(gasUsed);
  }

  /** A transaction was not sent: the wallet may spend again in so many milliseconds. */
  capped(waitMs: number): void {
    this.#capWaitMs = waitMs;
  }

  #spendCap(retryAfterMs: number): GasRefusal {
    return { type: 'SPEND_CAP', wallet: this.sender.address, retryAfterMs };
  }
}

/** Why the operator's wallet sends nothing for a key now. */
export type GasRefusal =
  /** The key has had sent what it may in a day. */
  | { readonly type: 'OVER_BUDGET'; readonly retryAfterMs: number }
  /** The wallet has spent what it may in a day. */
  | { readonly type: 'SPEND_CAP'; readonly wallet: Hex; readonly retryAfterMs: number }
  /** What keys have used cannot be written to the disk: a restart would let them use it again. */
  | { readonly type: 'STORAGE_FULL' };
