import t from 'tap';
import { concat, decodeEventLog, encodeEventTopics, numberToHex, pad } from 'viem';
import { erc20Abi, poolAbi } from '../../../src/chain/contracts/abi.js';
import type { ChainLog, LogQuery } from '../../../src/chain/contracts/blocks-and-logs.js';
import { collateralToken } from '../../../src/chain/contracts/quote-types.js';
import { LogsBloom } from '../../../src/chain/follow/logs-bloom.js';
import {
  fundsEvent,
  fundsLogsAmong,
  mayHoldFundsLogs,
  readFundsLogs,
  readSettlementLogs,
  settlementEvents,
} from '../../../src/chain/follow/settlement-events.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address, blockHashOf, POOL, txHashOf } from '../../engine/samples.js';

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
  const events = (await readFundsLogs({ logs }, fromBlock, to, makers, [POOL])).map(fundsEvent);
  return [queries, events.some(({ accounts }) => accounts.includes(MAKER))];
}

t.test('makers’ means are asked for by name, or with one query where thousands have quotes', async (t) => {
  t.strictSame(await asked(2_000, BLOCK), [30, true]);
  t.strictSame(await asked(20_000, BLOCK), [1, true]);
});

t.test('in many blocks at once they are named, however many they are', async (t) => {
  t.strictSame(await asked(20_000, BLOCK - 100), [300, true]);
});

/** A log of the pool; `amount` is the first word of its data. */
function poolLog(topics: readonly unknown[], words: number, amount: bigint, logIndex = 0): ChainLog {
  const data = concat([numberToHex(amount, { size: 32 }), ...Array.from({ length: words - 1 }, () => pad('0x01'))]);
  const place = { ...to, address: POOL.poolAddress, txHash: txHashOf(BLOCK), logIndex, timestamp: null };
  return { ...place, topics: topics as Hex[], data };
}

const decodedByViem = ({ topics, data }: ChainLog) =>
  decodeEventLog({ abi: poolAbi, topics: [...topics] as [Hex, ...Hex[]], data });

async function read(logs: ChainLog[]) {
  const found = await readSettlementLogs({ logs: () => Promise.resolve(logs) }, BLOCK, to, address(1), [POOL]);
  return settlementEvents(found, address(1), [POOL]);
}

const quoteId = numberToHex(2n ** 255n + 7n, { size: 32 });
const fillArgs = { quoteOBHash: quoteId, user: address(8), provider: MAKER };
const fillTopics = encodeEventTopics({ abi: poolAbi, eventName: 'FillQuoteOB', args: fillArgs });
const cancelTopics = encodeEventTopics({ abi: poolAbi, eventName: 'CancelQuoteOB', args: { provider: MAKER } });

t.test('fills and cancels are read as viem decodes them, and not where words are missing', async (t) => {
  const [fill, cancel] = [poolLog(fillTopics, 11, 5n), poolLog(cancelTopics, 1, BigInt(quoteId))];
  t.match(decodedByViem(fill), { args: { quoteOBHash: quoteId, contractSize: 5n } });
  t.equal((decodedByViem(cancel).args as { quoteOBHash: Hex }).quoteOBHash, quoteId);
  t.match(await read([fill, cancel]), {
    events: [
      { type: 'FILL', quoteId, size: 5n },
      { type: 'CANCEL', quoteId, provider: MAKER },
    ],
    ignored: [],
  });
  const broken = [
    poolLog(fillTopics, 10, 5n),
    poolLog(fillTopics.slice(0, 3), 11, 5n),
    poolLog(cancelTopics.slice(0, 1), 1, 5n),
    { ...cancel, data: '0x' as const },
  ];
  for (const log of broken) t.throws(() => decodedByViem(log));
  t.strictSame(
    (await read(broken)).ignored.map(({ why }) => why),
    broken.map(() => 'MALFORMED'),
  );
});

t.test('a block of thousands of cancels takes a small part of what viem takes for them', async (t) => {
  const logs = Array.from({ length: 8_000 }, (_, i) => poolLog(cancelTopics, 1, BigInt(i), i));
  // The shortest of a few rounds, in milliseconds: one may fall into a busy moment.
  const shortest = async (work: () => unknown): Promise<number> => {
    const tries: number[] = [];
    for (let round = 0; round < 3; round++) {
      const startedMs = performance.now();
      await work();
      tries.push(performance.now() - startedMs);
    }
    return Math.min(...tries);
  };
  const oursMs = await shortest(() => read(logs));
  const viemMs = await shortest(() => logs.map(decodedByViem));
  t.ok(oursMs < viemMs / 4, `${oursMs} ms of ${viemMs}`);
});

t.test('a filter shows whether a block may change the means of a maker', (t) => {
  const [transfer] = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer' });
  const token = collateralToken({ pool: POOL });
  const mayHold = (from: Hex, topics: readonly unknown[], providers = [address(9), MAKER]): boolean =>
    mayHoldFundsLogs(LogsBloom.of([{ address: from, topics: topics as Hex[] }]), providers, [POOL]);
  const topics = [transfer, pad(address(3)), pad(MAKER)];
  t.equal(mayHold(token, topics), true);
  t.equal(mayHold(POOL.poolAddress, topics), true);
  t.equal(mayHold(address(0x77), topics), false, 'of no contract that matters');
  t.equal(mayHold(token, topics.slice(0, 2)), false, 'of nobody with quotes');
  t.equal(mayHold(token, topics.slice(1)), false, 'no such event');
  t.equal(mayHold(token, topics, []), false);
  const others = Array.from({ length: 2_001 }, (_, n) => address(1_000 + n));
  t.equal(mayHold(token, topics.slice(0, 2), others), true, 'of too many to be looked for');
  t.equal(mayHold(token, topics.slice(0, 2), others.slice(1)), false);
  t.end();
});

t.test('of all logs of a block only those count that name a maker', (t) => {
  const [approval] = encodeEventTopics({ abi: erc20Abi, eventName: 'Approval' });
  const logs = [
    poolLog([approval, pad(MAKER), pad(address(5))], 1, 1n, 0),
    poolLog([approval, pad(address(5)), pad(address(6))], 1, 1n, 1),
    poolLog(fillTopics, 11, 1n, 2),
    poolLog([], 1, 1n, 3),
  ];
  t.strictSame(
    fundsLogsAmong(logs, [MAKER]).map(({ logIndex }) => logIndex),
    [0],
  );
  t.end();
});
