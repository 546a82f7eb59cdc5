import type { GasRefusal } from '../quota/gas-budget.js';

/** Whom the transactions of one request are charged to. */
export interface GasPayer {
  /** Takes ahead what so many of them may cost; else says why none may be sent. For none there is no refusal. */
  take(transactions: number): GasRefusal | null;
  /** One was mined and used so much gas; null: it was sent, and may still be mined. */
  sent(gasUsed: bigint | null): void;
  /** One was not sent: the wallet has spent its cap, and may spend again in so many milliseconds. */
  capped(waitMs: number): void;
}
