import type { Hex } from '../../engine/quote.js';
import type { BlockId, ChainLog } from '../contracts/blocks-and-logs.js';

/** Remembers which logs were read, so that none counts twice. */
export class SeenLogs {
  /** Indexes of the logs, by block. */
  readonly #blocks = new Map<number, { readonly hash: Hex; readonly indexes: Set<number> }>();
  #count = 0;

  has({ blockNumber, blockHash, logIndex }: ChainLog): boolean {
    const seen = this.#blocks.get(blockNumber);
    return seen?.hash === blockHash && seen.indexes.has(logIndex);
  }

  /** Returns whether it was new. */
  add({ blockNumber, blockHash, logIndex }: ChainLog): boolean {
    let seen = this.#blocks.get(blockNumber);
    if (seen?.hash !== blockHash) {
      this.#delete(blockNumber);
      seen = { hash: blockHash, indexes: new Set() };
      this.#blocks.set(blockNumber, seen);
    }
    if (seen.indexes.has(logIndex)) return false;
    seen.indexes.add(logIndex);
    this.#count += 1;
    return true;
  }

  /** Forgets the blocks above this one. */
  cutAbove(blockNumber: number): void {
    for (const number of this.#blocks.keys()) if (number > blockNumber) this.#delete(number);
  }

  clear(): void {
    this.cutAbove(-Infinity);
  }

  /**
   * Forgets the blocks below `floor`, and then the lowest until at most `mostLogs` logs are remembered. Returns the first
   * block of which all logs are remembered.
   */
  dropBelow(floor: number, mostLogs: number): number {
    let lowest = floor;
    for (const number of this.#rising()) {
      if (number >= lowest && this.#count <= mostLogs) break;
      lowest = Math.max(lowest, number + 1);
      this.#delete(number);
    }
    return lowest;
  }

  /** Cuts a range of blocks into parts that hold about so many remembered logs: the last block of each. */
  partsOf(fromBlock: number, last: BlockId, logsPerPart: number): BlockId[] {
    const ends: BlockId[] = [];
    let logs = 0;
    for (const blockNumber of this.#rising()) {
      const seen = this.#blocks.get(blockNumber);
      if (seen === undefined || blockNumber < fromBlock || blockNumber >= last.blockNumber) continue;
      logs += seen.indexes.size;
      if (logs < logsPerPart) continue;
      ends.push({ blockNumber, blockHash: seen.hash });
      logs = 0;
    }
    return [...ends, last];
  }

  #rising(): number[] {
    return [...this.#blocks.keys()].sort((a, b) => a - b);
  }

  #delete(blockNumber: number): void {
    this.#count -= this.#blocks.get(blockNumber)?.indexes.size ?? 0;
    this.#blocks.delete(blockNumber);
  }
}
