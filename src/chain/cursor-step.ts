import type { BlockHead, BlockId } from './block-head.js';

/** A range of blocks whose logs are to be read. */
export interface BlockRange {
  readonly fromBlock: number;
  readonly to: BlockHead;
  /** `to` is the newest block to be read for now. */
  readonly isLast: boolean;
}

/** What `ChainCursor` says to be done next. */
export type CursorStep =
  /** There is nothing to be read now, or the node lags. */
  | { readonly type: 'IDLE' }
  /** Nothing was read yet: tell the book of this block, which holds nothing of interest, then `moveTo(at)`. */
  | { readonly type: 'BEGIN'; readonly at: BlockId }
  /** Read the logs of the range, then `advance`. */
  | ({ readonly type: 'BLOCKS' } & BlockRange)
  /** All above `ancestor` never happened; undo it, then `moveTo(ancestor)`. */
  | { readonly type: 'REORG'; readonly ancestor: BlockId };
