import type { BlockId } from '../contracts/blocks-and-logs.js';

interface ReadBlock extends BlockId {
  /** A range ended there in this process: the book shows the state after it, and not only the events up to it. */
  readonly isEnd: boolean;
}

/**
 * Blocks that were read, oldest first: candidates for a common ancestor. Every block that the book knows of is among
 * them.
 */
export class ReadBlocks {
  readonly #blocks: ReadBlock[];

  /** `known`: what an earlier process read. */
  constructor(known: readonly BlockId[]) {
    this.#blocks = known.map((block) => ({ ...block, isEnd: false }));
  }

  get oldest(): BlockId | undefined {
    return this.#blocks[0];
  }

  get newest(): BlockId | undefined {
    return this.#blocks.at(-1);
  }

  at(blockNumber: number): ReadBlock | undefined {
    return this.#blocks.find((block) => block.blockNumber === blockNumber);
  }

  newestFirst(): readonly BlockId[] {
    return this.#blocks.toReversed();
  }

  isEnd({ blockNumber }: BlockId): boolean {
    return this.at(blockNumber)?.isEnd === true;
  }

  /** A range was read. `seen`: blocks before its end with events that the book has, in order. */
  add(seen: readonly BlockId[], end: BlockId): void {
    for (const { blockNumber, blockHash } of [...seen, end]) {
      if (blockNumber <= (this.newest?.blockNumber ?? -1)) continue;
      this.#blocks.push({ blockNumber, blockHash, isEnd: blockNumber === end.blockNumber });
    }
  }

  /** One block at or below this number stays: it is the ancestor of the deepest reorg that is followed. */
  forgetBelow(blockNumber: number): void {
    while ((this.#blocks[1]?.blockNumber ?? Infinity) <= blockNumber) this.#blocks.shift();
  }

  /** Nothing after this block was read: the one before the first, or the ancestor of a new branch. */
  goBackTo({ blockNumber, blockHash }: BlockId): void {
    const isEnd = this.newest === undefined || this.isEnd({ blockNumber, blockHash });
    while ((this.newest?.blockNumber ?? -1) >= blockNumber) this.#blocks.pop();
    this.#blocks.push({ blockNumber, blockHash, isEnd });
  }
}
