import type { KeyValueStore } from '../persistence/disk/disk.js';
import { DayBudget, keptDay, readKeptDay, UsageStore } from './day-budget.js';
import type { RouteCap } from './gas-budget.js';

/** The name under which the days of the operator's routes are kept. */
const KEPT_AS = 'operator gas';
/** The entry of all these routes together. */
const ALL_ROUTES = 'keys with the scope operator';

export interface OperatorCapOptions {
  /** Gas within 24 hours: of each route, and of all of them together. */
  readonly routeGasPerDay: number;
  readonly gasPerDay: number;
  /** Must continue after a restart where it stopped. */
  readonly nowMs: () => number;
  /** Stores what was used; null: kept in memory only. */
  readonly kept: KeyValueStore | null;
}

/**
 * Caps the gas that the operator's wallet spends for keys with the scope operator, by each route and in all, whatever
 * the single keys may use. Reserves and refunds as `GasBudget` does.
 */
export class OperatorCaps {
  readonly #options: OperatorCapOptions;
  readonly #days: DayBudget;
  readonly #store: UsageStore;

  constructor(options: OperatorCapOptions) {
    this.#options = options;
    this.#days = new DayBudget(options.nowMs);
    this.#store = new UsageStore(options.kept);
    const found = options.kept?.found.get(KEPT_AS) ?? {};
    for (const [spender, day] of Object.entries(Object(found) as Record<string, unknown>)) {
      this.#days.put(spender, readKeptDay(day, `What ${spender} spent`));
    }
  }

  /** `route`: method and path, one of few. */
  of(route: string): RouteCap {
    const { routeGasPerDay, gasPerDay } = this.#options;
    const caps = [
      { spender: route, limit: routeGasPerDay },
      { spender: ALL_ROUTES, limit: gasPerDay },
    ];
    return {
      take: (gas) => {
        if (!this.#store.isKept) {
          void this.#keep(); // the next call may find it kept
          return { type: 'STORAGE_FULL' };
        }
        const taken: string[] = [];
        for (const { spender, limit } of caps) {
          const retryAfterMs = this.#days.take(spender, BigInt(gas), BigInt(limit));
          if (retryAfterMs > 0) {
            for (const each of taken) this.#days.giveBack(each, BigInt(gas), this.#options.nowMs());
            return { type: 'OPERATOR_CAP', spender, retryAfterMs };
          }
          taken.push(spender);
        }
        void this.#keep();
        return null;
      },
      settle: (taken, used, takenMs) => {
        for (const { spender } of caps) this.#days.giveBack(spender, BigInt(taken - used), takenMs);
        return this.#keep();
      },
    };
  }

  #keep(): Promise<void> {
    const days = Array.from(this.#days.entries(), ([spender, day]) => [spender, keptDay(day)]);
    return this.#store.put(KEPT_AS, Object.fromEntries(days));
  }
}
