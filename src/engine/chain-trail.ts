import { assert } from './assert.js';
import type { ChainPosition } from './command.js';
import { NO_BLOCK } from './order-book.js';
import type { Hex } from './quote.js';

/** A block that was read, remembered so that a reader can find the last one it shares with the chain. */
export interface TrailBlock {
  readonly blockNumber: number;
  readonly blockHash: Hex;
}

/**
 * How far one chain is read, and the blocks that led there, oldest first. Everything up to `floor` is final: no rewind
 * goes below it. At least one block of `reorgDepth` blocks ago or more is kept once there is one, so a reader
 * that moves in long strides keeps an ancestor as well.
 */
export class ChainTrail {
  readonly #reorgDepth: number;
  #position: ChainPosition | null = null;
  #blocks: TrailBlock[] = [];
  #floor = NO_BLOCK;

  constructor(reorgDepth: number) {
    this.#reorgDepth = reorgDepth;
  }

  get position(): ChainPosition | null {
    return this.#position;
  }

  get blocks(): readonly TrailBlock[] {
    return this.#blocks;
  }

  get floor(): number {
    return this.#floor;
  }

  /** Moves forward. A position that is not ahead was accounted for before: it changes nothing. */
  advance(position: ChainPosition): void {
    const newest = this.#blocks.at(-1);
    if (newest !== undefined && position.blockNumber <= newest.blockNumber) {
      const isSameBlock = newest.blockHash === position.blockHash;
      if (isSameBlock && isFurther(position.logIndex, this.#position?.logIndex ?? null)) this.#position = position;
      return;
    }
    const { blockNumber, blockHash } = position;
    this.#position = position;
    this.#blocks.push({ blockNumber, blockHash });
    this.#finalize(blockNumber);
  }

  /** Moves to `position`, the last block that the chain still has of those that were read. */
  rewind(position: ChainPosition): void {
    assert(position.blockNumber >= this.#floor, 'a reorg deeper than reorgDepth is not for the engine to follow');
    while ((this.#blocks.at(-1)?.blockNumber ?? NO_BLOCK) >= position.blockNumber) this.#blocks.pop();
    this.#blocks.push({ blockNumber: position.blockNumber, blockHash: position.blockHash });
    this.#position = position;
    this.#finalize(position.blockNumber);
  }

  restore(position: ChainPosition | null, blocks: readonly TrailBlock[], floor: number): void {
    this.#position = position;
    this.#blocks = [...blocks];
    this.#floor = floor;
  }

  checkInvariants(): void {
    assert((this.#position === null) === (this.#blocks.length === 0), 'a chain that was read has a trail');
    assert(this.#blocks.at(-1)?.blockNumber === this.#position?.blockNumber, 'a trail ends at the position');
    assert(this.#blocks.length <= this.#reorgDepth + 2, 'a trail is bounded by the depth');
    let last = NO_BLOCK;
    for (const { blockNumber } of this.#blocks) {
      assert(blockNumber > last && blockNumber >= this.#floor, 'a trail rises from its floor');
      last = blockNumber;
    }
  }

  /** Drops what no reorg from `newest` can go back to. */
  #finalize(newest: number): void {
    const finalThrough = newest - this.#reorgDepth;
    let next = this.#blocks[1];
    while (next !== undefined && next.blockNumber <= finalThrough) {
      this.#blocks.shift();
      next = this.#blocks[1];
    }
    const oldest = this.#blocks[0];
    if (oldest !== undefined && oldest.blockNumber <= finalThrough) this.#floor = oldest.blockNumber;
  }
}

/** Within one block: null is the whole of it. */
function isFurther(logIndex: number | null, than: number | null): boolean {
  return than !== null && (logIndex === null || logIndex > than);
}
