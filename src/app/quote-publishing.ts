import type { QuoteDryRun } from '../chain/publish/dry-run.js';
import type { QuoteIntake } from '../chain/publish/quote-intake.js';
import type { Journal } from '../engine/ports.js';
import { NO_PUBLISHING_WALLET, type QuotePublishing } from '../http/publish-route.js';
import { type GasBudget, gasOfQuotes, type GasRefusal, reserveGas, type RouteCap } from '../quota/gas-budget.js';
import type { Quotas } from '../quota/rate-limits.js';
import { delayCode } from '../wire/error-codes.js';
import type { Chains } from './chains.js';

export interface QuotePublishingParts {
  /** Null: there is no wallet. */
  readonly intake: QuoteIntake | null;
  readonly dryRun: QuoteDryRun;
  readonly quotas: Quotas;
  readonly operatorGas: GasBudget;
  /** Daily gas cap of POST /orderbook/quotes. */
  readonly operatorsCap: RouteCap;
  readonly journal: Journal;
  readonly chains: Chains;
  /** Why a chain is stale now, in words; null: both are fresh. */
  readonly staleness: () => string | null;
}

/** Publishing by the operator's wallet: refuses what cannot be published, and charges the caller's day for gas. */
export function quotePublishing(parts: QuotePublishingParts): QuotePublishing {
  const { intake, dryRun, quotas, operatorGas, operatorsCap, journal, chains, staleness } = parts;
  const always: Pick<QuotePublishing, 'mostQuotes' | 'takeQuotes' | 'dryRun'> = {
    mostQuotes: ({ tier }) => quotas.of(tier).quoteBurst,
    takeQuotes: (caller, count) => quotas.takeQuotes(caller, count),
    dryRun: (quotes) => dryRun.run(quotes),
  };
  if (intake === null) {
    return {
      ...always,
      refusal: () => NO_PUBLISHING_WALLET,
      submit: () => Promise.reject(new Error(NO_PUBLISHING_WALLET.message)),
    };
  }
  return {
    ...always,
    refusal() {
      const message = staleness() ?? journal.refusal();
      return message === null ? null : { code: delayCode(message), message };
    },
    async submit(caller, quotes, areOperators = false) {
      const cap = areOperators ? operatorsCap : null;
      const sender = { address: intake.walletAddress, waitMs: () => chains.spending?.stream.waitMs() ?? 0 };
      let [taken, takenMs, paid] = [0, 0, 0];
      const take = (count: number): GasRefusal | null => {
        const reserved = reserveGas({ operatorGas, sender, holder: caller, cap }, count, gasOfQuotes(count));
        if (typeof reserved !== 'number') return reserved;
        [taken, takenMs] = [count, reserved];
        return null;
      };
      try {
        return await intake.submit(quotes, { take, charge: (count) => (paid = count) });
      } finally {
        if (taken > 0) {
          await Promise.all([
            operatorGas.settle(caller, taken, paid, takenMs),
            cap?.settle(gasOfQuotes(taken), gasOfQuotes(paid), takenMs),
          ]);
        }
      }
    },
  };
}
