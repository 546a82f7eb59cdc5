const DAY_MS = 24 * 60 * 60_000;

/** What was used of a day, and when that day ends. */
export interface UsedOfDay {
  /** Milliseconds of the clock that the budget goes by. */
  readonly endsMs: number;
  readonly used: number;
}

/**
 * What each key has used in 24 hours, counted from its first use on. By a clock that goes on where it was after a
 * restart and that no step of the wall clock touches. Only keys that exist get here, which bounds their number.
 */
export class DayBudget {
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
