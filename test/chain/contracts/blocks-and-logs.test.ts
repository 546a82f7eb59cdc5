import t from 'tap';
import { numberToHex, pad } from 'viem';
import { type ChainLog, readLogs, type Topics } from '../../../src/chain/contracts/blocks-and-logs.js';
import { ChainAnswerError } from '../../../src/chain/rpc/rpc-response.js';
import type { Hex } from '../../../src/engine/quote.js';

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

/** Of blocks 1 to 9. */
const ALL = { fromBlock: 1, to: { blockNumber: 9, blockHash: hashOf(9) }, topics: [] };

/** Where the node answers with these. */
const read = (...places: readonly Place[]) => readLogs(places.map(told), ALL);

const placesOf = (logs: readonly ChainLog[]) => logs.map(({ blockNumber, logIndex }) => [blockNumber, logIndex]);

t.test('logs come in the order of the chain, each once, however often the node tells of it', (t) => {
  const logs = read({ block: 7, index: 1 }, { block: 2, index: 3 }, { block: 7, index: 0 }, { block: 7, index: 1 });
  t.strictSame(placesOf(logs), [
    [2, 3],
    [7, 0],
    [7, 1],
  ]);
  t.end();
});

t.test('logs that a reorg removed are left out, though a node may still list them', (t) => {
  const logs = read({ block: 7, index: 0, branch: 'bb', removed: true }, { block: 7, index: 0 });
  t.strictSame(placesOf(logs), [[7, 0]]);
  t.equal(logs[0]?.blockHash, hashOf(7));
  t.end();
});

t.test('logs of two branches are no answer', (t) => {
  t.throws(() => read({ block: 7, index: 0 }, { block: 7, index: 1, branch: 'bb' }), ChainAnswerError);
  t.end();
});

t.test('nor are two logs that have one place: one of them would be lost', (t) => {
  const log = told({ block: 7, index: 0 });
  t.equal(readLogs([log, { ...log, blockTimestamp: '0x1' }], ALL).length, 1, 'which one node may date and another not');
  const others = { transactionHash: hashOf(1), address: pad('0x2', { size: 20 }), data: '0x01', topics: [hashOf(1)] };
  for (const [name, value] of Object.entries(others))
    t.throws(() => readLogs([log, { ...log, [name]: value }], ALL), ChainAnswerError, name);
  t.end();
});

t.test('nor are logs of another branch than that of the last block, or of other blocks', (t) => {
  t.throws(() => read({ block: 9, index: 0, branch: 'bb' }), { message: 'The logs are of another branch' });
  t.throws(() => read({ block: 10, index: 0 }), ChainAnswerError);
  t.throws(() => read({ block: 0, index: 0 }), ChainAnswerError);
  t.end();
});

t.test('nor are logs of another contract than that asked for, or with other topics', (t) => {
  const [ours, others] = [pad('0xAB', { size: 20 }), pad('0xcd', { size: 20 })];
  const [name, first, second] = [hashOf(1), hashOf(2), hashOf(3)];
  const log = { ...told({ block: 7, index: 0 }), address: ours.toLowerCase(), topics: [name, first] };
  const reading = (topics: Topics, address?: Hex | Hex[]) =>
    readLogs([log], { ...ALL, topics, ...(address && { address }) });
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
  for (const query of right) t.equal(reading(...query).length, 1);
  const wrong: [Topics, (Hex | Hex[])?][] = [
    [[name], others],
    [[], [others]],
    [[first], ours],
    [[[first, second]]],
    [[name, second], ours],
    [[name, null, second]],
  ];
  const refusal = new ChainAnswerError('The logs are others than those asked for');
  for (const query of wrong) t.throws(() => reading(...query), refusal);
  t.end();
});

t.test('the time of a log is that of its block, or not known', (t) => {
  const times = ['0x6553f100', '0x0', null].map((blockTimestamp, index) => ({ block: 2, index, blockTimestamp }));
  const logs = read(...times, { block: 2, index: 3 });
  t.strictSame(
    logs.map(({ timestamp }) => timestamp),
    [1_700_000_000, null, null, null],
  );
  t.end();
});

t.test('hashes and addresses of another length are no answer: the log has no place for them', (t) => {
  const log = told({ block: 7, index: 0 });
  t.equal(readLogs([log], ALL).length, 1);
  for (const wrong of ['0x', '0x1234', `${hashOf(7)}00`]) {
    for (const name of ['address', 'blockHash', 'transactionHash'])
      t.throws(() => readLogs([{ ...log, [name]: wrong }], ALL), ChainAnswerError, `${name} ${wrong}`);
    t.throws(() => readLogs([{ ...log, topics: [wrong] }], ALL), ChainAnswerError, `topic ${wrong}`);
  }
  t.end();
});

t.test('nor is a time after the year 9999', (t) => {
  for (const blockTimestamp of [numberToHex(253_402_300_800), numberToHex(Number.MAX_SAFE_INTEGER)])
    t.throws(() => read({ block: 2, index: 0, blockTimestamp }), ChainAnswerError);
  t.end();
});

t.test('an answer that is no list of logs is rejected', (t) => {
  for (const answer of [null, undefined, {}, 'logs', [null], [{}]])
    t.throws(() => readLogs(answer, ALL), ChainAnswerError);
  t.end();
});
