import type { Clock } from '../engine/ports.js';
import type { PacedWork } from '../system/paced-work.js';
import { pause } from '../system/timers.js';
import type { QuotaHolder, Quotas } from './rate-limits.js';
import type { TurnBudget } from '../system/turn-budget.js';

/** Answers of one key: one is made, the others wait in the order in which they were requested. */
interface Line {
  readonly waiting: (() => void)[];
}

/**
 * Makes answers that cost more than a request should. Each key has one made at a time, so that it holds one in memory
 * and gains nothing by requesting several at once. It is made in slices: a slice waits until the key has paid for the
 * rows and bytes before it, and for its turn among the slices of all keys.
 */
export class LargeAnswers {
  readonly #quotas: Quotas;
  readonly #turns: TurnBudget;
  readonly #clock: Pick<Clock, 'after'>;
  /** By key id; only keys that have an answer under way. */
  readonly #lines = new Map<string, Line>();

  constructor(quotas: Quotas, turns: TurnBudget, clock: Pick<Clock, 'after'>) {
    this.#quotas = quotas;
    this.#turns = turns;
    this.#clock = clock;
  }

  /**
   * Makes an answer once those that the key requested before are made. Gives when to retry where too many of them wait
   * already; `make` is not called then.
   */
  run<T>(
    holder: QuotaHolder,
    make: (work: PacedWork) => T | Promise<T>,
  ): Promise<T> | { readonly retryAfterMs: number } {
    const line = this.#lines.get(holder.id);
    if (line === undefined) {
      this.#lines.set(holder.id, { waiting: [] });
      return this.#make(holder, make);
    }
    if (line.waiting.length >= this.#quotas.of(holder.tier).answersWaiting) {
      this.#quotas.refused('answers', holder.tier);
      return { retryAfterMs: Math.max(MIN_RETRY_MS, this.#quotas.debtMs(holder)) };
    }
    return new Promise<void>((resolve) => line.waiting.push(resolve)).then(() => this.#make(holder, make));
  }

  async #make<T>(holder: QuotaHolder, make: (work: PacedWork) => T | Promise<T>): Promise<T> {
    const work: PacedWork = {
      turn: () => this.#turn(holder),
      charge: (rows, bytes) => this.#quotas.charge(holder, rows, bytes),
    };
    try {
      await work.turn();
      return await make(work);
    } finally {
      this.#next(holder.id);
    }
  }

  #next(keyId: string): void {
    const next = this.#lines.get(keyId)?.waiting.shift();
    if (next === undefined) this.#lines.delete(keyId);
    else next();
  }

  async #turn(holder: QuotaHolder): Promise<void> {
    for (let waitMs = this.#quotas.debtMs(holder); waitMs > 0; waitMs = this.#quotas.debtMs(holder)) {
      await pause(this.#clock, waitMs);
    }
    if (this.#turns.hasRoom) return this.#turns.spend();
    await new Promise<void>((resolve) => {
      this.#turns.wait(() => {
        this.#turns.spend();
        resolve();
      });
    });
  }
}

/** A slice takes less, and a client that retries sooner gains nothing. */
const MIN_RETRY_MS = 1_000;
