import type { Hex } from '../engine/quote.js';

/** Why the operator's wallet sends nothing for a key now. */
export type GasRefusal =
  /** The key has had sent what it may in a day. */
  | { readonly type: 'OVER_BUDGET'; readonly retryAfterMs: number }
  /** The wallet has spent what it may in a day. */
  | { readonly type: 'SPEND_CAP'; readonly wallet: Hex; readonly retryAfterMs: number }
  /** What keys have used cannot be written to the disk: a restart would let them use it again. */
  | { readonly type: 'STORAGE_FULL' };
