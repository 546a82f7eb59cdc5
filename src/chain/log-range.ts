import type { ChainCursor } from './chain-cursor.js';
import type { BlockRange } from './cursor-step.js';
import { RpcError } from './rpc-errors.js';

/**
 * Reads a range of logs. Null when the node itself refused it: half of it is to be asked for at once. When no answer
 * came at all, the error is thrown and the next range is shorter too, since the answer may have been what took too
 * long.
 */
export async function readRange<T>(cursor: ChainCursor, range: BlockRange, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (cursor.narrow(range) && error instanceof RpcError) return null;
    throw error;
  }
}
