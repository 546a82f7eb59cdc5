import type { ChainReader, BlockHead } from './chain-reader.js';
import type { Hex } from '../engine/quote.js';

/** A block by number and hash: the number alone names another block after a reorg. */
export interface BlockId {
  readonly blockNumber: number;
  readonly blockHash: Hex;
}

export interface CursorOptions {
  /** First block that can hold anything of interest. */
  readonly startBlock: number;
  /** Blocks that must follow a block before it is read. */
  readonly confirmations: number;
  /** Reorgs up to this many blocks are followed; a deeper one stops the cursor. */
  readonly reorgDepth: number;
  /** Most blocks in one range of logs. */
  readonly maxRange: number;
  /** Polls in a row that must show the same lower head before it is believed: one may be a node that lags. */
  readonly lowerHeadPolls: number;
}

export type CursorStep =
  | { readonly type: 'IDLE' }
  /** Read the logs of `fromBlock`..`to`, then `advance(to)`. `isLast`: `to` is the newest block to be read. */
  | { readonly type: 'BLOCKS'; readonly fromBlock: number; readonly to: BlockHead; readonly isLast: boolean }
  /** All above `ancestor` never happened; undo it, then `rewind(ancestor)`. */
  | { readonly type: 'REORG'; readonly ancestor: BlockId };

/** The chain changed deeper down than is followed: nothing read from it can be trusted without a person's look. */
export class DeepReorg extends Error {
  override readonly name = 'DeepReorg';
}

/** Where the reading of one chain stands, and what is to be read next. It decides by block hashes; the log query is the caller's. */
export class ChainCursor {
  #position: BlockId | null;
  /** Ends of the ranges that were read, oldest first: candidates for a common ancestor. */
  readonly #trail: BlockId[];
  #range: number;
  #lowerHeads = 0;

  /** `trail`: blocks read to their end before a restart, oldest first; the last is where the reading stood. */
  constructor(
    private readonly reader: ChainReader,
    private readonly options: CursorOptions,
    trail: readonly BlockId[],
    private readonly onHead: (head: BlockHead) => void,
  ) {
    this.#trail = [...trail];
    this.#position = trail.at(-1) ?? null;
    this.#range = options.maxRange;
  }

  /** The last block that was read to its end; null before the first. */
  get position(): BlockId | null {
    return this.#position;
  }

  async poll(): Promise<CursorStep> {
    const head = await this.reader.head();
    this.onHead(head);
    const target = await this.#target(head);
    if (target === null) return { type: 'IDLE' };
    const position = this.#position;
    if (position === null) return this.#blocks(this.options.startBlock, target);
    if (await this.#stillStands(position, target)) {
      return target.number > position.blockNumber ? this.#blocks(position.blockNumber + 1, target) : { type: 'IDLE' };
    }
    return { type: 'REORG', ancestor: await this.#commonAncestor(target) };
  }

  advance(to: BlockHead): void {
    this.#position = { blockNumber: to.number, blockHash: to.hash };
    this.#trail.push(this.#position);
    const oldest = to.number - this.options.reorgDepth;
    // One block at or below the depth stays: it is the ancestor of the deepest reorg that is followed.
    while ((this.#trail[1]?.blockNumber ?? Infinity) <= oldest) this.#trail.shift();
    this.#range = Math.min(this.#range * 2, this.options.maxRange);
  }

  rewind(ancestor: BlockId): void {
    while ((this.#trail.at(-1)?.blockNumber ?? -1) >= ancestor.blockNumber) this.#trail.pop();
    this.#trail.push(ancestor);
    this.#position = ancestor;
    this.#lowerHeads = 0;
  }

  /** The node refused a range of logs: ask for half of it next. False: it was a single block already. */
  narrow(): boolean {
    if (this.#range === 1) return false;
    this.#range = Math.ceil(this.#range / 2);
    return true;
  }

  /** The newest block with enough blocks after it; null while there is none. */
  async #target(head: BlockHead): Promise<BlockHead | null> {
    if (this.options.confirmations === 0) return head;
    const number = head.number - this.options.confirmations;
    return number < this.options.startBlock ? null : this.reader.block(number);
  }

  async #blocks(fromBlock: number, target: BlockHead): Promise<CursorStep> {
    if (target.number < fromBlock) return { type: 'IDLE' };
    const last = Math.min(target.number, fromBlock + this.#range - 1);
    const isLast = last === target.number;
    return { type: 'BLOCKS', fromBlock, to: isLast ? target : await this.reader.block(last), isLast };
  }

  /** Whether the block that was read last is still part of the chain that ends in `target`. */
  async #stillStands({ blockNumber, blockHash }: BlockId, target: BlockHead): Promise<boolean> {
    if (target.number < blockNumber) return this.#onlyLags(target);
    this.#lowerHeads = 0;
    if (target.number === blockNumber) return target.hash === blockHash;
    if (target.number === blockNumber + 1) return target.parentHash === blockHash;
    return (await this.reader.block(blockNumber)).hash === blockHash;
  }

  /** A lower head on our own branch is a node behind the others, until it keeps saying so. */
  #onlyLags(target: BlockHead): boolean {
    const known = this.#trail.find(({ blockNumber }) => blockNumber === target.number);
    if (known !== undefined && known.blockHash !== target.hash) return false;
    this.#lowerHeads++;
    return this.#lowerHeads < this.options.lowerHeadPolls;
  }

  async #commonAncestor(target: BlockHead): Promise<BlockId> {
    for (const candidate of this.#trail.toReversed()) {
      if (candidate.blockNumber > target.number) continue;
      const block = candidate.blockNumber === target.number ? target : await this.reader.block(candidate.blockNumber);
      if (block.hash === candidate.blockHash) return candidate;
    }
    const before = Math.max(this.options.startBlock - 1, 0);
    const deepest = (this.#position?.blockNumber ?? 0) - this.options.reorgDepth;
    if (deepest > before)
      throw new DeepReorg(`No block of the last ${this.options.reorgDepth} is on the chain any more`);
    return { blockNumber: before, blockHash: (await this.reader.block(before)).hash };
  }
}
