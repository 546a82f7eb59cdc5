import type { Quotas } from '../quotas.js';

/**
 * How many quotes may be posted, so that the key's quotas are never exceeded: within a day's number, a fifteenth of it at
 * once so that any 24 hours stay within it, and within what the service says is left. Times in milliseconds.
 */
export class PostingBudget {
  readonly #burst: number;
  readonly #perMs: number;
  #day: number;
  #dayAtMs: number;
  /** Of the service's quotas, at `#leftAtMs`. Before the first answer little is posted. */
  #left: Quotas = new Map([['quotes', { left: FIRST_QUOTES, perSecond: 0 }]]);
  #leftAtMs: number;
  #refusedUntilMs = -Infinity;

  constructor(quotesPerDay: number, nowMs: number) {
    this.#burst = quotesPerDay / BURSTS_PER_DAY;
    this.#perMs = (quotesPerDay - this.#burst) / DAY_MS;
    this.#day = this.#burst;
    this.#dayAtMs = nowMs;
    this.#leftAtMs = nowMs;
  }

  /** Quotes that one request may have now. */
  available(nowMs: number): number {
    if (nowMs < this.#refusedUntilMs || this.#service('requests', nowMs) < REQUEST_RESERVE) return 0;
    this.#refill(nowMs);
    return Math.max(0, Math.floor(Math.min(this.#day, this.#service('quotes', nowMs))));
  }

  /** `count` quotes are posted, known ones too. */
  take(count: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#day -= count;
  }

  /** An answer arrived with these quotas; those that it does not name stay. */
  answered(quotas: Quotas, nowMs: number): void {
    const merged = new Map(this.#left);
    for (const [name, { left, perSecond }] of merged) {
      merged.set(name, { left: left + (perSecond * (nowMs - this.#leftAtMs)) / 1000, perSecond });
    }
    for (const [name, quota] of quotas) merged.set(name, quota);
    this.#left = merged;
    this.#leftAtMs = nowMs;
  }

  /** The service answered 429: nothing more before then. */
  refused(untilMs: number): void {
    this.#refusedUntilMs = untilMs;
  }

  #service(name: string, nowMs: number): number {
    const quota = this.#left.get(name);
    if (quota === undefined) return Infinity;
    // Refills are counted in whole seconds and a second late, in case the answer took that long to arrive.
    const seconds = Math.max(0, Math.floor((nowMs - this.#leftAtMs) / 1000) - 1);
    return quota.left + quota.perSecond * seconds;
  }

  #refill(nowMs: number): void {
    this.#day = Math.min(this.#burst, this.#day + (nowMs - this.#dayAtMs) * this.#perMs);
    this.#dayAtMs = nowMs;
  }
}

const BURSTS_PER_DAY = 15;
const DAY_MS = 86_400_000;
/** Fit every tier's burst. */
const FIRST_QUOTES = 20;
/** Requests left to other programs with the same key, and to the next calls of this one. */
const REQUEST_RESERVE = 2;
