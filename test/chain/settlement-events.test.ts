import t from 'tap';
import { pad } from 'viem';
import type { ChainLog, LogQuery } from '../../src/chain/chain-reader.js';
import { readMeansEvents } from '../../src/chain/settlement-events.js';
import type { Hex } from '../../src/engine/quote.js';
import { address, blockHashOf, POOL, txHashOf } from '../engine/samples.js';

const BLOCK = 600;
const to = { blockNumber: BLOCK, blockHash: blockHashOf(BLOCK) };
const MAKER = address(7);

/** How many queries it takes, and whether the maker's log is among what they find. */
async function asked(providers: number, fromBlock: number): Promise<[queries: number, isFound: boolean]> {
  let queries = 0;
  const logs = ({ topics }: LogQuery): Promise<ChainLog[]> => {
    queries += 1;
    const named = topics[1];
    const isAsked = named === undefined || (Array.isArray(named) && named.includes(pad(MAKER)));
    const [[approval] = []] = topics as Hex[][];
    const log = { ...to, address: POOL.poolAddress, topics: [approval ?? '0x', pad(MAKER)], data: '0x' as const };
    return Promise.resolve(isAsked ? [{ ...log, txHash: txHashOf(BLOCK), logIndex: 0, timestamp: null }] : []);
  };
  const makers = Array.from({ length: providers }, (_, i) => address(i + 1));
  const events = await readMeansEvents({ logs } as never, fromBlock, to, makers, [POOL]);
  return [queries, events.some(({ accounts }) => accounts.includes(MAKER))];
}

t.test('makers’ means are asked for by name, or with one query where thousands have quotes', async (t) => {
  t.strictSame(await asked(2_000, BLOCK), [30, true]);
  t.strictSame(await asked(20_000, BLOCK), [1, true]);
});

t.test('in many blocks at once they are named, however many they are', async (t) => {
  t.strictSame(await asked(20_000, BLOCK - 100), [300, true]);
});
