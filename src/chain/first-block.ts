import type { ChainReader } from './contracts/chain-reader.js';

/**
 * The first block from `startBlock` on that is not older than `timestamp` (Unix seconds), by bisection: about 28
 * requests on a chain of a hundred million blocks. Past the newest block when all are older.
 */
export async function firstBlockSince(reader: ChainReader, startBlock: number, timestamp: number): Promise<number> {
  let low = startBlock;
  let high = (await reader.head()).number + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await reader.block(middle)).timestamp < timestamp) low = middle + 1;
    else high = middle;
  }
  return low;
}
