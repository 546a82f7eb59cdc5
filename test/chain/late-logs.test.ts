import t from 'tap';
import { numberToHex } from 'viem';
import { LateLogs } from '../../src/chain/late-logs.js';
import { publishQuoteTopics } from '../../src/chain/quote-events.js';
import type { Hex } from '../../src/engine/quote.js';
import { ManualClock } from '../system/manual-clock.js';
import { Market } from './dev/market.js';
import { httpRpc } from './following.js';
import { MarketBook } from './market-book.js';
import { RpcProxy } from './rpc-proxy.js';

const market = await Market.open(t);
const call = market.pool('testWETH', 1800n, true);
const { orderbookStream } = market.chain.profile.contracts;
const [topic] = publishQuoteTopics;
const PATIENCE_MS = 3_000;

/** A block of anvil's, with its own filter. */
async function newestBlock() {
  const { number, hash, parentHash, timestamp, logsBloom } = await market.client.getBlock();
  return { number: Number(number), hash, parentHash, timestamp: Number(timestamp), logsBloom };
}

async function blockWithQuote() {
  await market.publish(market.stranger.address, [await market.sign(call)]);
  return newestBlock();
}

function lateLogs() {
  const clock = new ManualClock();
  return { clock, late: new LateLogs(orderbookStream.address, topic, clock, PATIENCE_MS) };
}

const logIn = (blockNumber: number) => ({
  ...{ address: orderbookStream.address, topics: [topic], data: '0x' as const, blockHash: '0x' as const },
  ...{ txHash: '0x' as const, timestamp: null, blockNumber, logIndex: 0 },
});

t.test('a block whose filter tells of a log that the node did not give may lack it', async (t) => {
  const block = await blockWithQuote();
  const { late } = lateLogs();
  t.ok(late.mayLack(block, []));
  t.ok(late.mayLack(block, [logIn(block.number - 1)]), 'those of earlier blocks say nothing of it');
  t.notOk(late.mayLack(block, [logIn(block.number)]));
});

t.test('one whose filter tells of none does not, nor one without a filter', async (t) => {
  const { late } = lateLogs();
  await market.client.mine({ blocks: 1 });
  t.notOk(late.mayLack(await newestBlock(), []));
  const { logsBloom, ...block } = await blockWithQuote();
  t.ok(late.mayLack({ ...block, logsBloom }, []));
  t.notOk(late.mayLack(block, []));
});

t.test('other logs of the same contract, and the same ones of another, are not meant', async (t) => {
  const block = await blockWithQuote();
  for (const [emitter, name] of [
    [call.poolAddress, topic],
    [orderbookStream.address, block.hash],
  ] as const) {
    t.notOk(new LateLogs(emitter, name, new ManualClock(), PATIENCE_MS).mayLack(block, []));
  }
});

t.test('the node is believed in the end, and doubted anew after that', async (t) => {
  const block = await blockWithQuote();
  const next = { ...block, number: block.number + 1 };
  const { clock, late } = lateLogs();
  t.ok(late.mayLack(block, []));
  clock.advance(PATIENCE_MS - 1);
  t.ok(late.mayLack(next, []), 'doubts about one block after the other count together');
  clock.advance(1);
  t.notOk(late.mayLack(next, []));
  t.ok(late.mayLack(next, []));
});

t.test('logs that came end the doubt', async (t) => {
  const block = await blockWithQuote();
  const { clock, late } = lateLogs();
  t.ok(late.mayLack(block, []));
  t.notOk(late.mayLack(block, [logIn(block.number)]));
  clock.advance(PATIENCE_MS);
  t.ok(late.mayLack(block, []));
});

t.test('a filter that has most bits set tells of nothing', async (t) => {
  const block = await blockWithQuote();
  const full: Hex = numberToHex(2n ** 2048n - 1n);
  t.notOk(lateLogs().late.mayLack({ ...block, logsBloom: full }, []));
});

t.test('a quote whose event the node’s logs do not hold yet is read when they do', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  await MarketBook.isolated(market, { rpc: { stream: httpRpc([proxy.url]) } }, async (book) => {
    await book.upToDate();
    let answers = 0;
    proxy.trick = ({ method }) => (method === 'eth_getLogs' && ++answers <= 3 ? { rewrite: () => [] } : 'PASS');
    const offer = await market.sign(call);
    await market.publish(market.stranger.address, [offer]);
    await book.following.until(() => answers > 3);
    await book.upToDate();
    t.ok(book.ids.includes(offer.quoteId));
  });
});
