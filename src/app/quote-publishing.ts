import type { QuoteDryRun } from '../chain/publish/dry-run.js';
import type { QuoteIntake } from '../chain/publish/quote-intake.js';
import type { CancelTimer, Clock, Journal } from '../engine/ports.js';
import type { QuotePublishing } from '../http/publish-route.js';
import type { GasBudget } from '../quota/gas-budget.js';
import type { Quotas } from '../quota/rate-limits.js';
import { delayCode } from '../wire/error-codes.js';
import type { ChainSide } from './service-options.js';

export interface QuotePublishingParts {
  /** Null: there is no wallet. */
  readonly intake: QuoteIntake | null;
  readonly rehearsal: QuoteDryRun;
  readonly quotas: Quotas;
  readonly operatorGas: GasBudget;
  readonly journal: Journal;
  readonly chains: ChainSide;
  /** In words why a chain is stale now; null: both are fresh. */
  readonly staleness: () => string | null;
}

/** Publishing by the operator's wallet: what of it is refused, and of whose day its gas is taken. */
export function quotePublishing(parts: QuotePublishingParts): QuotePublishing {
  const { intake, rehearsal, quotas, operatorGas, journal, chains, staleness } = parts;
  const always: Pick<QuotePublishing, 'takeQuotes' | 'rehearse'> = {
    takeQuotes: (caller, count) => quotas.takeQuotes(caller, count),
    rehearse: (quotes) => rehearsal.run(quotes),
  };
  if (intake === null) {
    const message = 'No wallet is configured to publish with: set walletKey or walletKeyFile';
    return {
      ...always,
      refusal: () => ({ code: 'no_wallet', message }),
      submit: () => Promise.reject(new Error(message)),
    };
  }
  return {
    ...always,
    refusal() {
      const message = staleness() ?? journal.refusal();
      return message === null ? null : { code: delayCode(message), message };
    },
    async submit(caller, quotes) {
      const spendWaitMs = chains.spending?.stream.waitMs() ?? 0;
      if (spendWaitMs > 0) return { type: 'SPEND_CAP', wallet: intake.walletAddress, retryAfterMs: spendWaitMs };
      if (!operatorGas.canKeep(caller)) return { type: 'STORAGE_FULL' };
      const retryAfterMs = operatorGas.take(caller, quotes.length);
      if (retryAfterMs > 0) return { type: 'OVER_BUDGET', retryAfterMs };
      const takenMs = operatorGas.nowMs();
      let paid = 0;
      try {
        return await intake.submit(quotes, (count) => (paid = count));
      } finally {
        await operatorGas.settle(caller, quotes.length, paid, takenMs);
      }
    },
  };
}

/**
 * The clock of those who wait for what goes on without them, such as their transaction. Once the service stops their
 * time is up, however long they would have waited: what is known by then is an answer, and a closed connection is none.
 */
export class AskersClock implements Clock {
  readonly #waits = new Set<() => void>();
  #isUp = false;

  constructor(private readonly clock: Clock) {}

  monotonicMs(): number {
    return this.clock.monotonicMs();
  }

  wallMs(): number {
    return this.clock.wallMs();
  }

  after(delayMs: number, task: () => void): CancelTimer {
    let cancelTimer: CancelTimer = () => undefined;
    const cancel = (): void => {
      this.#waits.delete(wait);
      cancelTimer();
    };
    const wait = (): void => {
      cancel();
      task();
    };
    cancelTimer = this.clock.after(this.#isUp ? 0 : delayMs, wait);
    this.#waits.add(wait);
    return cancel;
  }

  /** Every wait ends now, and each that begins from now on at once. */
  timeIsUp(): void {
    this.#isUp = true;
    for (const wait of [...this.#waits]) wait();
  }
}
