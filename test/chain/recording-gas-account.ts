import type { GasAccount } from '../../src/chain/wallet/operator.js';
import type { GasRefusal } from '../../src/quota/gas-budget.js';

export interface RecordingGasAccount extends GasAccount {
  /** How many transactions were taken for, each time. */
  readonly taken: number[];
  readonly used: (bigint | null)[];
  readonly cappedMs: number[];
}

/** Pays for every transaction, or for none when it has a refusal, and records the calls. */
export function recordingGasAccount(refusal: GasRefusal | null = null): RecordingGasAccount {
  const taken: number[] = [];
  const used: (bigint | null)[] = [];
  const cappedMs: number[] = [];
  return {
    taken,
    used,
    cappedMs,
    take(transactions) {
      taken.push(transactions);
      return transactions === 0 ? null : refusal;
    },
    sent: (gasUsed) => used.push(gasUsed),
    capped: (waitMs) => cappedMs.push(waitMs),
  };
}
