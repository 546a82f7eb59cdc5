import t from 'tap';
import { numberToHex, pad } from 'viem';
import type { CallResult } from '../../../src/chain/contracts/abi-encoding.js';
import { ChainReader } from '../../../src/chain/contracts/chain-reader.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import type { Hex } from '../../../src/engine/quote.js';
import { RestoredChain } from '../scripted-chain.js';
import { cursorOn, readAll } from '../scripted-cursor.js';

const LIMITS = { callsPerBatch: 1, batchesInFlight: 1, gasPerCall: 1, gasPerCheck: 1 };

const hashOf = (block: number, branch = 'aa'): Hex => `0x${branch}${`${block}`.padStart(62, '0')}`;

const HEAD = { number: '0x7', hash: hashOf(7), parentHash: hashOf(6), timestamp: '0x6553f100' };

const asked = (answer: object): ChainReader =>
  new ChainReader({ request: () => Promise.resolve(answer) }, null, LIMITS);

t.test('hashes of another length are no answer: the log has no place for them', async (t) => {
  t.match(await asked(HEAD).head(), { number: 7, hash: hashOf(7), timestamp: 1_700_000_000 });
  for (const wrong of ['0x', '0x1234', `${hashOf(7)}00`]) {
    for (const name of ['hash', 'parentHash'])
      await t.rejects(asked({ ...HEAD, [name]: wrong }).head(), ChainAnswerError, `${name} ${wrong}`);
  }
});

t.test('a time after the year 9999 is rejected: engine time would follow it, and never come back', async (t) => {
  const last = { ...HEAD, timestamp: numberToHex(253_402_300_799) };
  t.equal((await asked(last).head()).timestamp, 253_402_300_799);
  for (const timestamp of [numberToHex(253_402_300_800), numberToHex(Number.MAX_SAFE_INTEGER)]) {
    await t.rejects(asked({ ...HEAD, timestamp }).head(), ChainAnswerError);
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

t.test('the genesis block is the one that the chain stands on, whichever one a node shows', async (t) => {
  const chain = new RestoredChain(3);
  const { reader } = chain;
  t.equal((await reader.block(0)).hash, chain.hash(0));
  t.equal((await reader.findBlock(0))?.hash, chain.hash(0));
  t.equal((await reader.blockOf(chain.id(0))).hash, chain.hash(0));
  const { cursor, reorgs } = cursorOn(chain, {}, { trail: [chain.id(0)], isPartial: false });
  t.strictSame(await readAll(cursor), [[1, 3]], 'what was read to there is gone on with');
  t.strictSame(reorgs, []);
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
