import type { Hex } from 'viem';
import { NotMinedError } from './errors.js';
import type { Transaction } from './transactions.js';

/** One quote that was filled, with the amounts of the pool's event. */
export interface Filled extends Transaction {
  readonly quoteId: Hex;
  /** 1e-18 contracts. */
  readonly size: bigint;
  /** 1e-18 of the collateral token. */
  readonly premium: bigint;
  readonly fee: bigint;
}

/** A quote that was not filled, and why. */
export interface FailedFill {
  readonly quoteId: Hex;
  readonly reason: string;
}

/** The fills of a plan so far. */
export interface FillProgress {
  readonly fills: readonly Filled[];
  /** Quotes of the plan that could no longer be filled. */
  readonly failed: readonly FailedFill[];
  /** 1e-18 contracts: the sum of `fills`, and what they leave of the size that was asked for. */
  readonly filled: bigint;
  readonly shortfall: bigint;
}

export interface FillResult extends FillProgress {
  /** Mined transactions that the feed did not show in time: the service is behind, or a reorg removed them. */
  readonly notShown: readonly Hex[];
}

/** A fill ended before its plan did, such as without an answer of the node. Its `fills` are paid. */
export class FillInterruptedError extends Error implements FillProgress {
  override readonly name = 'FillInterruptedError';
  readonly fills: readonly Filled[];
  readonly failed: readonly FailedFill[];
  readonly filled: bigint;
  readonly shortfall: bigint;
  /** A transaction of this fill that was sent, or may have been, and may still be mined; null: none that is known. */
  readonly pending: Hex | null;

  constructor({ fills, failed, filled, shortfall }: FillProgress, cause: unknown) {
    super(`The fill ended early, after ${fills.length} of its quotes`, { cause });
    this.fills = fills;
    this.failed = failed;
    this.filled = filled;
    this.shortfall = shortfall;
    this.pending = cause instanceof NotMinedError ? cause.hash : null;
  }
}
