import { numberToHex, pad } from 'viem';
import t from 'tap';
import {
  ChainAnswerError,
  ChainReader,
  type CallResult,
  type ChainLog,
  type Topics,
} from '../../src/chain/chain-reader.js';
import { RpcError, RpcUnreachable } from '../../src/chain/http-rpc.js';
import type { Hex } from '../../src/engine/quote.js';

const LIMITS = { callsPerBatch: 1, batchesInFlight: 1, gasPerCall: 1 };

interface Place {
  readonly block: number;
  readonly index: number;
  readonly branch?: string;
  readonly removed?: boolean;
  readonly blockTimestamp?: string | null;
}

const hashOf = (block: number, branch = 'aa'): Hex => `0x${branch}${`${block}`.padStart(62, '0')}`;

/** A log as nodes tell of it. */
function told({ block, index, branch, removed = false, ...time }: Place): object {
  return {
    address: pad('0x1', { size: 20 }),
    topics: [],
    data: '0x',
    blockNumber: numberToHex(block),
    blockHash: hashOf(block, branch),
    transactionHash: pad(numberToHex(index)),
    logIndex: numberToHex(index),
    removed,
    ...time,
  };
}

/** Of blocks 1 to 9, where the node answers with these. */
function read(...places: readonly Place[]): Promise<ChainLog[]> {
  const reader = new ChainReader({ request: () => Promise.resolve(places.map(told)) }, null, LIMITS);
  return reader.logs({ fromBlock: 1, to: { blockNumber: 9, blockHash: hashOf(9) }, topics: [] });
}

const placesOf = (logs: readonly ChainLog[]) => logs.map(({ blockNumber, logIndex }) => [blockNumber, logIndex]);

t.test('logs come in the order of the chain, each once, however often the node tells of it', async (t) => {
  const logs = await read(
    { block: 7, index: 1 },
    { block: 2, index: 3 },
    { block: 7, index: 0 },
    { block: 7, index: 1 },
  );
  t.strictSame(placesOf(logs), [
    [2, 3],
    [7, 0],
    [7, 1],
  ]);
});

t.test('what a reorg took back is none of them, though a node may still tell of it', async (t) => {
  const logs = await read({ block: 7, index: 0, branch: 'bb', removed: true }, { block: 7, index: 0 });
  t.strictSame(placesOf(logs), [[7, 0]]);
  t.equal(logs[0]?.blockHash, hashOf(7));
});

t.test('logs of two branches are no answer', async (t) => {
  await t.rejects(read({ block: 7, index: 0 }, { block: 7, index: 1, branch: 'bb' }), ChainAnswerError);
});

t.test('nor are logs of another branch than that of the last block, or of other blocks', async (t) => {
  await t.rejects(read({ block: 9, index: 0, branch: 'bb' }), { message: 'The logs are of another branch' });
  await t.rejects(read({ block: 10, index: 0 }), ChainAnswerError);
  await t.rejects(read({ block: 0, index: 0 }), ChainAnswerError);
});

t.test('nor are logs of another contract than that asked for, or with other topics', async (t) => {
  const [ours, others] = [pad('0xAB', { size: 20 }), pad('0xcd', { size: 20 })];
  const [name, first, second] = [hashOf(1), hashOf(2), hashOf(3)];
  const log = { ...told({ block: 7, index: 0 }), address: ours.toLowerCase(), topics: [name, first] };
  const to = { blockNumber: 9, blockHash: hashOf(9) };
  const reading = (topics: Topics, address?: Hex | Hex[]) =>
    asked([log]).logs({ fromBlock: 1, to, topics, ...(address && { address }) });
  const right: [Topics, (Hex | Hex[])?][] = [
    [[]],
    [[name]],
    [[[first, name], first], ours],
    [
      [null, first],
      [others, ours],
    ],
    [[name, null]],
  ];
  for (const query of right) t.equal((await reading(...query)).length, 1);
  const wrong: [Topics, (Hex | Hex[])?][] = [
    [[name], others],
    [[], [others]],
    [[first], ours],
    [[[first, second]]],
    [[name, second], ours],
    [[name, null, second]],
  ];
  const refusal = new ChainAnswerError('The logs are others than those asked for');
  for (const query of wrong) await t.rejects(reading(...query), refusal);
});

t.test('the time of a log is that of its block, or not known', async (t) => {
  const times = ['0x6553f100', '0x0', null].map((blockTimestamp, index) => ({ block: 2, index, blockTimestamp }));
  const logs = await read(...times, { block: 2, index: 3 });
  t.strictSame(
    logs.map(({ timestamp }) => timestamp),
    [1_700_000_000, null, null, null],
  );
});

const HEAD = { number: '0x7', hash: hashOf(7), parentHash: hashOf(6), timestamp: '0x6553f100' };

const asked = (answer: object): ChainReader =>
  new ChainReader({ request: () => Promise.resolve(answer) }, null, LIMITS);

t.test('hashes and addresses of another length are no answer: the log has no place for them', async (t) => {
  t.match(await asked(HEAD).head(), { number: 7, hash: hashOf(7), timestamp: 1_700_000_000 });
  const log = told({ block: 7, index: 0 });
  const logsFrom = (reader: ChainReader) =>
    reader.logs({ fromBlock: 1, to: { blockNumber: 9, blockHash: hashOf(9) }, topics: [] });
  t.equal((await logsFrom(asked([log]))).length, 1);
  for (const wrong of ['0x', '0x1234', `${hashOf(7)}00`]) {
    for (const name of ['hash', 'parentHash'])
      await t.rejects(asked({ ...HEAD, [name]: wrong }).head(), ChainAnswerError, `${name} ${wrong}`);
    for (const name of ['address', 'blockHash', 'transactionHash'])
      await t.rejects(logsFrom(asked([{ ...log, [name]: wrong }])), ChainAnswerError, `${name} ${wrong}`);
    await t.rejects(logsFrom(asked([{ ...log, topics: [wrong] }])), ChainAnswerError, `topic ${wrong}`);
  }
});

t.test('a time after the year 9999 is none: engine time would follow it, and never come back', async (t) => {
  const last = { ...HEAD, timestamp: numberToHex(253_402_300_799) };
  t.equal((await asked(last).head()).timestamp, 253_402_300_799);
  for (const timestamp of [numberToHex(253_402_300_800), numberToHex(Number.MAX_SAFE_INTEGER)]) {
    await t.rejects(asked({ ...HEAD, timestamp }).head(), ChainAnswerError);
    await t.rejects(read({ block: 2, index: 0, blockTimestamp: timestamp }), ChainAnswerError);
  }
});

t.test('a block that is asked for by its hash is no other of the same number', async (t) => {
  const block = { number: '0x7', hash: hashOf(7), parentHash: hashOf(6), timestamp: '0x1' };
  const reader = new ChainReader({ request: () => Promise.resolve(block) }, null, LIMITS);
  t.equal((await reader.blockOf({ blockNumber: 7, blockHash: hashOf(7) })).timestamp, 1);
  const other = reader.blockOf({ blockNumber: 7, blockHash: hashOf(7, 'bb') });
  await t.rejects(other, new ChainAnswerError('The node has another block 7'));
});

t.test('a block of another number than that asked for is no answer', async (t) => {
  const block = { number: '0x7', hash: hashOf(7), parentHash: hashOf(6), timestamp: '0x1' };
  const wrong = new ChainAnswerError('The node gave block 7 for block 8');
  await t.rejects(asked(block).block(8), wrong);
  await t.rejects(asked(block).findBlock(8), wrong);
  await t.rejects(asked(block).blockOf({ blockNumber: 8, blockHash: hashOf(7) }), wrong);
  t.equal((await asked(block).findBlock(7))?.number, 7);
});

t.test('what a node is asked: no block with its transactions, one block’s logs and states by its hash', async (t) => {
  const asked: unknown[] = [];
  const block = { number: '0x7', hash: hashOf(7), parentHash: hashOf(6), timestamp: '0x1' };
  const rpc = {
    request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
      asked.push([method, params]);
      return Promise.resolve(method === 'eth_getLogs' ? [] : method === 'eth_call' ? '0x' : block);
    },
  };
  const reader = new ChainReader(rpc, null, LIMITS);
  const [to, from] = [pad('0x1', { size: 20 }), pad('0x2', { size: 20 })];
  const at = { blockNumber: 7, blockHash: hashOf(7) };
  await reader.head();
  await reader.block(7);
  await reader.findBlock(7);
  await reader.logs({ fromBlock: 7, to: at, topics: [] });
  await reader.logs({ fromBlock: 6, to: at, topics: [null, hashOf(1)], address: to });
  await reader.call({ to, data: '0x01' });
  await reader.call({ to, data: '0x01' }, at);
  await reader.call({ to, data: '0x01' }, 6, from, 255);
  await reader.multicallAtTime([{ to, data: '0x01' }], 256);
  t.strictSame(asked, [
    ['eth_getBlockByNumber', ['latest', false]],
    ['eth_getBlockByNumber', ['0x7', false]],
    ['eth_getBlockByNumber', ['0x7', false]],
    ['eth_getLogs', [{ blockHash: hashOf(7), topics: [] }]],
    ['eth_getLogs', [{ fromBlock: '0x6', toBlock: '0x7', topics: [null, hashOf(1)], address: to }]],
    ['eth_call', [{ to, data: '0x01' }, 'latest']],
    [
      'eth_call',
      [
        { to, data: '0x01' },
        { blockHash: hashOf(7), requireCanonical: true },
      ],
    ],
    ['eth_call', [{ to, data: '0x01', from, gas: '0xff' }, '0x6']],
    ['eth_call', [{ to, data: '0x01', gas: '0x1' }, 'latest', {}, { time: '0x100' }]],
  ]);
});

t.test('a revert is an answer, in whatever form a node tells of it', async (t) => {
  const to = pad('0x1', { size: 20 });
  const call = (error: Error): Promise<CallResult> =>
    new ChainReader({ request: () => Promise.reject(error) }, null, LIMITS).call({ to, data: '0x' });
  const reverts: [RpcError, Hex][] = [
    [new RpcError(3, 'execution failed', '0x1234'), '0x1234'],
    [new RpcError(-32000, 'execution reverted', undefined), '0x'],
    [new RpcError(-32015, 'VM execution error: Reverted', 'Reverted 0x'), '0x'],
    [new RpcError(-32015, 'VM execution error.', 'Reverted 0x7a933234'), '0x7a933234'],
    [new RpcError(-32015, 'VM execution error.', 'revert: not now'), '0x'],
  ];
  for (const [error, data] of reverts) t.strictSame(await call(error), { reverted: true, data }, error.message);
  const failures = [
    new RpcError(-32015, 'VM execution error.', 'OutOfGas'),
    new RpcError(-32000, 'header not found', '0x12'),
    new RpcUnreachable('reverted to nothing'),
  ];
  for (const error of failures) await t.rejects(call(error), error);
});

t.test('an answer that is no list of logs is none', async (t) => {
  const reader = new ChainReader({ request: () => Promise.resolve(null) }, null, LIMITS);
  await t.rejects(
    reader.logs({ fromBlock: 1, to: { blockNumber: 9, blockHash: hashOf(9) }, topics: [] }),
    ChainAnswerError,
  );
});
