/** Counts what happens within a sliding window of time, up to a limit. Costs nothing until something happens. */
export class RateWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  /** Times of the last `limit` happenings, a ring once it is full. */
  readonly #timesMs: number[] = [];
  #next = 0;

  /** `limit`: at least 1. */
  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Counts one at `nowMs`, which never goes back; true when it is the `limit`-th, or more, of the window. */
  reaches(nowMs: number): boolean {
    this.#timesMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#limit;
    if (this.#timesMs.length < this.#limit) return false;
    const oldest = this.#timesMs[this.#next] ?? nowMs;
    return nowMs - oldest < this.#windowMs;
  }
}
