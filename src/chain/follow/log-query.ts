import type { Hex } from '../../engine/quote.js';
import { mapLimit } from '../../system/timers.js';
import type { ChainLog, LogQuery } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { RpcError } from '../rpc/rpc-errors.js';
import type { BlockRange, ChainCursor } from './cursor.js';

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

/** Addresses of one `eth_getLogs`: a node takes some hundreds, not thousands. */
const ADDRESSES_PER_QUERY = 200;
/** Few: the caller may have several of these under way itself. */
const QUERIES_IN_FLIGHT = 2;
/**
 * Errors of a node that lacks the block: splitting the range would not help. For too many logs every kind of node has
 * words of its own.
 */
const LACKS_BLOCK = /not (be )?found|unknown block/i;

/**
 * Logs by their topics, of any contract, in chain order. Anyone may emit logs with any topics, and in one block
 * more of them than a node puts into one answer: 10,000 cost 15 million gas. That block cannot be halved. Its logs are
 * asked of `emitters` alone, the contracts whose logs count. Rejects as ChainReader does.
 */
export async function readLogsByTopic(
  reader: Pick<ChainReader, 'logs'>,
  query: Omit<LogQuery, 'address'>,
  emitters: () => Iterable<Hex>,
): Promise<ChainLog[]> {
  try {
    return await reader.logs(query);
  } catch (error) {
    const isOneBlock = query.fromBlock === query.to.blockNumber;
    if (!isOneBlock || !(error instanceof RpcError) || LACKS_BLOCK.test(error.message)) throw error;
  }
  const addresses = [...new Set(emitters())];
  const parts: Hex[][] = [];
  for (let start = 0; start < addresses.length; start += ADDRESSES_PER_QUERY) {
    parts.push(addresses.slice(start, start + ADDRESSES_PER_QUERY));
  }
  const found = await mapLimit(parts, QUERIES_IN_FLIGHT, (address) => reader.logs({ ...query, address }));
  return found.flat().sort((a, b) => a.logIndex - b.logIndex);
}
