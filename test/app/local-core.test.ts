import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { committedReadTo, pastQueries, rfqPorts } from '../../src/app/local-core.js';
import { RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { RfqDesk, type RfqDeskParts } from '../../src/rfq/rfq-desk.js';
import { systemRandom } from '../../src/system/clock.js';
import { newEngine } from '../engine/samples.js';

const ADDRESS = '0x00000000000000000000000000000000000000aa';
const POOL_KEY = {
  base: ADDRESS,
  quote: ADDRESS,
  oracleAdapter: ADDRESS,
  strike: 1n,
  maturity: 8,
  isCallPool: true,
} as const;

function deskOf(sequencer: RfqDeskParts['sequencer']): RfqDesk {
  const bounds = { rfqSeconds: 60, rfqMaxSeconds: 600, liveRfqs: 9, liveRfqsPerKey: 9 };
  return new RfqDesk({ engine: newEngine(), sequencer, nowSeconds: () => 1, random: systemRandom, limits: bounds });
}

function asked(resolve: () => Promise<(Pool | null)[]>) {
  const sequencer = {
    submit: () => ({ refusal: 'BUSY' as const }),
    submitAll: () => 'BUSY' as const,
    whenDurable: () => null,
  };
  return rfqPorts({ pools: { resolve } }, deskOf(sequencer)).poolAddressOf(POOL_KEY);
}

t.test('a pool that the chain cannot resolve now is UNAVAILABLE; any other error is a fault of ours', async (t) => {
  t.equal(await asked(async () => [{ poolAddress: ADDRESS, poolKey: POOL_KEY }]), ADDRESS);
  t.equal(await asked(async () => [null]), 'IMPOSSIBLE');
  t.equal(await asked(() => Promise.reject(new RpcUnreachable('no answer'))), 'UNAVAILABLE');
  await t.rejects(
    asked(() => Promise.reject(new TypeError('of ours'))),
    TypeError,
  );
});

t.test('a request for quotes is published when its record is durable, and not before', async (t) => {
  let commit = (): void => undefined;
  const durable = new Promise<void>((resolve) => (commit = resolve));
  const sequencer = {
    submit: () => ({ refusal: null, index: 1, events: [] }) as const,
    submitAll: () => null,
    whenDurable: () => durable,
  };
  const told: string[] = [];
  void rfqPorts({ pools: { resolve: async () => [] } }, deskOf(sequencer))
    .publish({ poolAddress: ADDRESS, side: 'ask', size: 1n, taker: ADDRESS, body: '{}' }, 'key')
    .then((outcome) => told.push(outcome));
  await turn();
  t.strictSame(told, []);
  commit();
  await turn();
  t.strictSame(told, ['OK']);
});

t.test('a question about the past waits for what is applied, and reads up to it', async (t) => {
  let commit = (): void => undefined;
  const durable = new Promise<void>((resolve) => (commit = resolve));
  const sequencer = { handedIndex: 6, whenDurable: () => durable };
  const asked: object[] = [];
  const past = {
    ask: (request: object) => {
      asked.push(request);
      return Promise.resolve({ type: 'NOT_REACHED' } as const);
    },
  };
  const question = { type: 'BOOK_PROOF', poolAddress: ADDRESS, point: { type: 'SEQ', seq: 7 } } as const;
  const answer = pastQueries(past, sequencer, { nowMs: () => 5 }).ask(question);
  await turn();
  t.strictSame(asked, []);
  sequencer.handedIndex = 7;
  commit();
  t.strictSame(await answer, { type: 'NOT_REACHED' });
  t.strictSame(asked, [{ ...question, throughIndex: 7, nowMs: 5 }]);
});

t.test('a block counts as read once listeners have had its events', async (t) => {
  const tasks: (() => void)[] = [];
  let isDurable = true;
  let head = 1;
  const chains = { readTo: () => ({ blockNumber: head, blockHash: ADDRESS as Hex }) };
  const afterCommit = (task: () => void): void => (isDurable ? task() : void tasks.push(task));
  const readTo = committedReadTo(chains, { afterCommit });
  const block = () => readTo('stream')?.blockNumber;
  t.equal(block(), 1);
  isDurable = false;
  head = 2;
  t.equal(block(), 1);
  head = 3;
  t.equal(block(), 1);
  t.equal(tasks.length, 1, 'one commit is waited for, however often it is asked');
  tasks.shift()?.();
  t.equal(block(), 2);
  tasks.shift()?.();
  t.equal(block(), 3);
});
