import t from 'tap';
import type { ChainLog, LogQuery } from '../../../src/chain/contracts/blocks-and-logs.js';
import { readLogsByTopic } from '../../../src/chain/follow/log-query.js';
import { RpcError, RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { Hex } from '../../../src/engine/quote.js';
import { address, blockHashOf, txHashOf } from '../../engine/samples.js';

const BLOCK = 60;
const to = { blockNumber: BLOCK, blockHash: blockHashOf(BLOCK) };
const oneBlock = { fromBlock: BLOCK, to, topics: [] };
const tooMany = new RpcError(-32005, 'query returned more than 10000 results', null);
const emitters = Array.from({ length: 450 }, (_, i) => address(1_000 + i));

function logOf(emitter: Hex, logIndex: number): ChainLog {
  return { ...to, address: emitter, topics: [], data: '0x', txHash: txHashOf(BLOCK), logIndex, timestamp: null };
}

/** Fails for logs of anyone; of given addresses it has one log each, those of the last emitter first. */
function readerThat(failure: Error) {
  const asked: (readonly Hex[])[] = [];
  return {
    asked,
    logs({ address: of }: LogQuery): Promise<ChainLog[]> {
      if (of === undefined) return Promise.reject(failure);
      asked.push(of as Hex[]);
      return Promise.resolve((of as Hex[]).map((each) => logOf(each, -emitters.indexOf(each))));
    },
  };
}

t.test('what a node answers is taken as it is, and nobody asks who emits', async (t) => {
  const found = [logOf(address(1), 0)];
  const reader = { logs: () => Promise.resolve(found) };
  const nobody = (): Hex[] => {
    throw new Error('Nobody asks');
  };
  t.equal(await readLogsByTopic(reader, oneBlock, nobody), found);
});

t.test('a block that a node refuses is asked for by emitter, 200 at a time, each once, in chain order', async (t) => {
  const reader = readerThat(tooMany);
  const logs = await readLogsByTopic(reader, oneBlock, () => [...emitters, ...emitters]);
  t.strictSame(
    reader.asked.map((of) => of.length),
    [200, 200, 50],
  );
  t.strictSame(
    logs.map(({ address: of }) => of),
    emitters.toReversed(),
  );
});

t.test('without emitters nothing is asked: no address would stand for all of them', async (t) => {
  const reader = readerThat(tooMany);
  t.strictSame(await readLogsByTopic(reader, oneBlock, () => []), []);
  t.strictSame(reader.asked, []);
});

t.test('a range is not: half of it may be answered', async (t) => {
  const reader = readerThat(tooMany);
  await t.rejects(
    readLogsByTopic(reader, { ...oneBlock, fromBlock: BLOCK - 1 }, () => emitters),
    tooMany,
  );
  t.strictSame(reader.asked, []);
});

t.test('nor is a block that the node does not have: it has none of its logs', async (t) => {
  for (const text of ['unknown block', 'header not found', 'block could not be found']) {
    const lacking = new RpcError(-32000, text, null);
    const reader = readerThat(lacking);
    await t.rejects(
      readLogsByTopic(reader, oneBlock, () => emitters),
      lacking,
    );
    t.strictSame(reader.asked, []);
  }
});

t.test('nor is a block whose logs did not come at all', async (t) => {
  const away = new RpcUnreachable('No answer to eth_getLogs');
  const reader = readerThat(away);
  await t.rejects(
    readLogsByTopic(reader, oneBlock, () => emitters),
    away,
  );
  t.strictSame(reader.asked, []);
});
