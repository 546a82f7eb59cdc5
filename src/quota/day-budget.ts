import type { KeyValueStore } from '../persistence/disk/disk.js';
import { DAY_MS } from '../system/timers.js';

/** The amount used in a day, and the end of that day. */
export interface UsedOfDay {
  /** Milliseconds of the budget's clock. */
  readonly endsMs: number;
  readonly used: bigint;
}

/**
 * The amount that each holder has used within 24 hours of its first use. The clock continues after a restart and ignores
 * steps of the wall clock.
 */
export class DayBudget {
  readonly #nowMs: () => number;
  /** Those that end last at the end, but for days of an earlier run. */
  readonly #days = new Map<string, UsedOfDay>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** All days, also some that have ended. */
  entries(): Iterable<[string, UsedOfDay]> {
    return this.#days.entries();
  }

  /** Those whose day has ended, up to the first whose day has not. */
  *ended(): Iterable<string> {
    for (const who of this.#days.keys()) {
      if (!this.hasEnded(who)) return;
      yield who;
    }
  }

  hasEnded(who: string): boolean {
    return (this.#days.get(who)?.endsMs ?? 0) <= this.#nowMs();
  }

  /** A day that has ended. */
  delete(who: string): void {
    this.#days.delete(who);
  }

  /** Takes all of `amount` or nothing. Returns 0, or the milliseconds until the day ends. */
  take(who: string, amount: bigint, limit: bigint): number {
    const { endsMs, used } = this.of(who);
    // An amount of 0 passes even if the limit was lowered below what is used.
    if (amount > 0n && used + amount > limit) return Math.max(1, Math.ceil(endsMs - this.#nowMs()));
    this.put(who, { endsMs, used: used + amount });
    return 0;
  }

  /**
   * Refunds the unused part of what was taken at `takenMs`; a negative amount charges more. Has no effect after the end
   * of that day.
   */
  giveBack(who: string, amount: bigint, takenMs: number): void {
    const { endsMs, used } = this.of(who);
    if (takenMs < endsMs - DAY_MS) return;
    this.put(who, { endsMs, used: used > amount ? used - amount : 0n });
  }

  /** The current day, or one that would begin now. */
  of(who: string): UsedOfDay {
    const nowMs = this.#nowMs();
    const known = this.#days.get(who);
    return known !== undefined && nowMs < known.endsMs ? known : { endsMs: nowMs + DAY_MS, used: 0n };
  }

  /** Also restores the day of an earlier run. */
  put(who: string, day: UsedOfDay): void {
    if (this.#days.get(who)?.endsMs !== day.endsMs) this.#days.delete(who);
    this.#days.set(who, day);
  }
}

/** Days in the form of a store whose amounts are numbers. */
export function keptDay({ endsMs, used }: UsedOfDay): { readonly endsMs: number; readonly used: number } {
  return { endsMs, used: Math.min(Number(used), Number.MAX_SAFE_INTEGER) };
}

/** The reverse. `what`: of whom it is, for the error. */
export function readKeptDay(day: unknown, what: string): UsedOfDay {
  const { endsMs, used } = Object(day) as { readonly endsMs?: unknown; readonly used?: unknown };
  if (!Number.isSafeInteger(endsMs) || !Number.isSafeInteger(used)) {
    throw new Error(`${what} was kept in a form not understood`);
  }
  return { endsMs: endsMs as number, used: BigInt(used as number) };
}

/** Writes usage to a store, if there is one, and knows whether the last write succeeded. */
export class UsageStore {
  #isKept = true;

  constructor(private readonly store: KeyValueStore | null) {}

  /** False: a restart would let the same be used again, so nothing may be reserved. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** A failing disk ends the process. On a full one the count continues in memory. */
  async put(key: string, value: unknown): Promise<void> {
    try {
      await this.store?.put(key, value);
      this.#isKept = true;
    } catch {
      this.#isKept = false;
    }
  }
}
