import t from 'tap';
import { encodeFunctionResult } from 'viem';
import type { CallResult } from '../../../src/chain/contracts/abi-encoding.js';
import { multicall3Abi } from '../../../src/chain/contracts/abi.js';
import { ChainReader } from '../../../src/chain/contracts/chain-reader.js';
import { DeploymentDryRun } from '../../../src/chain/follow/deployment-dry-run.js';
import { findPools, PoolAddresses } from '../../../src/chain/follow/pool-addresses.js';
import { QuoteStates, UndeployedPools } from '../../../src/chain/follow/quote-states.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import type { Hex } from '../../../src/engine/quote.js';
import { samplePool, sampleQuote } from '../../engine/samples.js';
import { ManualClock } from '../../system/manual-clock.js';

const FACTORY: Hex = `0x${'fa'.repeat(20)}`;
const LIMITS = { callsPerBatch: 2, batchesInFlight: 1, gasPerCall: 1, gasPerCheck: 1 };

/** Of a node that gives every call this answer. */
function readerOf(data: Hex, multicall3: Hex | null = null): ChainReader {
  return new ChainReader({ request: () => Promise.resolve(data) }, multicall3, LIMITS);
}

function statesOf(reader: ChainReader): QuoteStates {
  const clock = new ManualClock();
  const dryRun = new DeploymentDryRun(reader, FACTORY, clock, {
    gas: 1,
    inFlight: 1,
    patienceMs: 1_000,
    remembered: 1,
    maxAgeMs: 1,
  });
  const undeployed = new UndeployedPools(reader, FACTORY, FACTORY, dryRun);
  return new QuoteStates(reader, undeployed, clock, { statesPerSlice: 8, slicesInFlight: 1 });
}

const word = (digits: string): string => digits.padStart(64, '0');
/** No address, no flag, or less than there has to be. */
const odd: Hex[] = ['0x01', `0x${word('1')}`, `0x${word('1')}${'f'.repeat(63)}`];

t.test('an answer of the factory that cannot be is the node’s fault, and no bug', async (t) => {
  const { poolKey } = samplePool(0);
  for (const data of odd) {
    await t.rejects(findPools(readerOf(data), FACTORY, [poolKey]), ChainAnswerError, data);
    await t.rejects(new PoolAddresses(readerOf(data), FACTORY, 10).resolve([poolKey]), ChainAnswerError, data);
  }
});

t.test('so it is of a pool’s answer about a quote', async (t) => {
  const quote = sampleQuote({ n: 1 });
  await t.rejects(statesOf(readerOf('0x01')).read([quote]), ChainAnswerError);
  const filled = `0x${word('0')}` as const;
  await t.rejects(statesOf(readerOf(filled)).read([quote]), ChainAnswerError, 'its verdict has two words');
});

t.test('a batch with more or fewer answers than calls is rejected: they would go to the wrong calls', async (t) => {
  const answer = { success: true, returnData: '0x01' } as const;
  const ask = (count: number): Promise<CallResult[]> => {
    const result = Array.from({ length: count }, () => answer);
    const data = encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result });
    const call = { to: FACTORY, data: '0x' } as const;
    return readerOf(data, FACTORY).multicall([call, call]);
  };
  t.equal((await ask(2)).length, 2);
  for (const count of [0, 1, 3]) await t.rejects(ask(count), ChainAnswerError, `${count}`);
});
