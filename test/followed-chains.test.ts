import pino from 'pino';
import t from 'tap';
import type { ChainSide, ChainSideOptions } from '../src/chain/chain-side.js';
import { openFollowedChains, type FollowedChainsParts } from '../src/followed-chains.js';
import type { ServiceOptions } from '../src/service-options.js';
import { blockHashOf, newEngine, txHashOf } from './engine/samples.js';

t.test('an event that is refused, of which anybody can publish thousands, is a line for debugging alone', async (t) => {
  for (const [level, count] of [
    ['info', 0],
    ['debug', 1],
  ] as const) {
    const lines: string[] = [];
    const logger = pino({ level }, { write: (line: string) => lines.push(line) });
    const opened: Pick<ChainSideOptions, 'onRefusedEvent'>[] = [];
    const openChains = (options: ChainSideOptions): ChainSide => {
      opened.push(options);
      return {} as ChainSide;
    };
    const options = { engine: newEngine(), logger, metrics: null, openChains };
    openFollowedChains(options as unknown as ServiceOptions, { signing: {} } as FollowedChainsParts);
    const at = { blockNumber: 1, blockHash: blockHashOf(1), txHash: txHashOf(1), logIndex: 0, timestamp: null };
    opened[0]?.onRefusedEvent('BAD_SIGNATURE', { ...at, address: '0x', topics: [], data: '0x' });
    t.equal(lines.length, count, level);
  }
});
