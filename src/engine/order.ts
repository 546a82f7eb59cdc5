import type { InvalidReason, Quote } from './quote.js';

/** A quote as the engine keeps it: what was signed, and what the chain has made of it since. */
export interface Order {
  readonly quote: Quote;
  /** 1e-18 contracts; 0 once it is filled or cancelled. */
  readonly fillableSize: bigint;
  /**
   * `live`: in the book; `invalid`: known, waiting for its provider's means; `gone`: kept only for a reorg to restore.
   */
  readonly state: 'live' | 'invalid' | 'gone';
  readonly reason: InvalidReason | null;
}
