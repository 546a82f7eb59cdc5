import type { Clock } from '../engine/ports.js';

/** What a new leader does one after another before it takes writes. */
export type TakeoverPhase = 'catchUp' | 'term' | 'log' | 'state' | 'chains';

/** How long each phase of a takeover took: the first place to look when writes were refused for long. */
export class TakeoverTimes {
  readonly #clock: Clock;
  readonly #startMs: number;
  #sinceMs: number;

  /** The first phase begins now. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#sinceMs = this.#startMs;
  }

  /** The next phase begins. Returns the ended one's duration, in whole milliseconds, as a field of a log line. */
  end<Phase extends TakeoverPhase>(phase: Phase): Record<`${Phase}Ms`, number> {
    const nowMs = this.#clock.monotonicMs();
    const ms = Math.round(nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
    return { [`${phase}Ms`]: ms } as Record<`${Phase}Ms`, number>;
  }

  /** Since the first phase began. */
  get totalMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.#startMs);
  }
}
