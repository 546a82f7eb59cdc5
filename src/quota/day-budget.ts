import type { Clock } from '../engine/ports.js';

const DAY_MS = 24 * 60 * 60_000;

interface Window {
  readonly endsMs: number;
  used: number;
}

/**
 * What each key has used in 24 hours, counted from its first use on. By monotonic time, so that no step of the wall clock
 * ends a day early. Only keys that exist get here, which bounds their number.
 */
export class DayBudget {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Takes all of `amount` or nothing. Returns 0, or in how many milliseconds the day ends. */
  take(who: string, amount: number, limit: number): number {
    const nowMs = this.#clock.monotonicMs();
    const window = this.#windowAt(who, nowMs);
    if (window.used + amount > limit) return Math.max(1, Math.ceil(window.endsMs - nowMs));
    window.used += amount;
    return 0;
  }

  /** What was taken and not needed after all. */
  giveBack(who: string, amount: number): void {
    const window = this.#windowAt(who, this.#clock.monotonicMs());
    window.used = Math.max(0, window.used - amount);
  }

  used(who: string): number {
    return this.#windowAt(who, this.#clock.monotonicMs()).used;
  }

  #windowAt(who: string, nowMs: number): Window {
    const known = this.#windows.get(who);
    if (known !== undefined && nowMs < known.endsMs) return known;
    const window = { endsMs: nowMs + DAY_MS, used: 0 };
    this.#windows.set(who, window);
    return window;
  }
}
