import t from 'tap';
import { Market, ONE } from './dev/market.js';
import { httpRpc, newOperator, type FollowingOptions } from './following.js';
import { MarketBook } from './market-book.js';
import { RpcProxy } from './rpc-proxy.js';
import type { SignedOffer } from './sign-quote.js';
import { NOBODY } from './wallet-fixture.js';

const market = await Market.open(t);
const call = market.pool('testWETH', 1800n, true);

for (const [what, method] of [
  ['logs', 'eth_getLogs'],
  ['the state of any block', 'eth_call'],
] as const) {
  t.test(`where a node tells of heads and refuses ${what}, the next endpoint is asked`, async (t) => {
    const proxy = await RpcProxy.open(market.chain.rpcUrl);
    t.teardown(() => proxy.close());
    const settlement = httpRpc([proxy.url, market.chain.rpcUrl]);
    await MarketBook.isolated(market, { rpc: { settlement }, limits: { lowerHeadMs: 50 } }, async (book) => {
      const offer = await market.sign(call);
      await book.publish(offer);
      t.equal(settlement.endpoint, 0);
      const error = { code: -32000, message: 'this is not available on your plan' };
      proxy.trick = (asked) => (asked.method === method ? { error } : 'PASS');
      await market.fill(market.taker.address, offer, ONE / 4n);
      await book.following.until(() => book.fillable(offer) === (3n * ONE) / 4n);
      await book.upToDate();
      t.equal(settlement.endpoint, 1);
    });
  });
}

t.test('where each chain has a node that refuses, each comes to the other one of its own', async (t) => {
  const refusing = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => refusing.close());
  const settlement = httpRpc([refusing.url, market.chain.rpcUrl]);
  const stream = httpRpc([market.chain.rpcUrl, refusing.url]);
  await MarketBook.isolated(market, { rpc: { settlement, stream }, limits: { lowerHeadMs: 50 } }, async (book) => {
    const offer = await market.sign(call);
    const error = { code: -32000, message: 'this is not available on your plan' };
    refusing.trick = (asked) => (asked.method === 'eth_getLogs' ? { error } : 'PASS');
    await market.publish(market.stranger.address, [offer]);
    // As on a chain that others use there is always something to be read.
    const done = new AbortController();
    const mining = (async () => {
      while (!done.signal.aborted) await market.client.mine({ blocks: 1 });
    })();
    try {
      await book.following.until(() => book.ids.length === 1);
    } finally {
      done.abort();
      await mining;
    }
    t.strictSame([settlement.endpoint, stream.endpoint], [1, 0]);
  });
});

t.test('what a reorg took back is published once, in whatever company it is posted again', async (t) => {
  const [first, second] = [await market.sign(call), await market.sign(call)];
  const outcomes: Promise<unknown>[] = [];
  const operator = newOperator(market.operator.privateKey);
  const onEvents: FollowingOptions['onEvents'] = (events) => {
    for (const event of events) if (event.type === 'QUOTE_REMOVED') outcomes.push(publish(first));
  };
  let publish = (...offers: readonly SignedOffer[]): Promise<unknown> => Promise.resolve(offers);
  await MarketBook.isolated(market, { operator, onEvents }, async (book) => {
    const { publisher } = book.following.chains;
    if (publisher === null) throw new Error('There is a wallet');
    publish = (...offers) => Promise.all(offers.map((offer) => publisher.publish(offer)));
    await book.upToDate();
    const nonce = await market.client.getTransactionCount({ address: market.operator.address });
    await publish(first, second);
    await market.reorg(1);
    await book.following.until(() => outcomes.length === 2);
    t.strictSame((await Promise.all(outcomes)).flat(), [
      { type: 'ENTERED', isSent: true },
      { type: 'ENTERED', isSent: true },
    ]);
    await book.upToDate();
    t.strictSame(book.ids, [first.quoteId, second.quoteId].sort());
    t.equal(await market.client.getTransactionCount({ address: market.operator.address }), nonce + 1);
  });
});

t.test('what the wallet sent is sent again where a block that nobody could read was replaced', async (t) => {
  const proxy = await RpcProxy.open(market.chain.rpcUrl);
  t.teardown(() => proxy.close());
  const [settlement, stream] = [httpRpc([proxy.url]), httpRpc([proxy.url])];
  const operator = newOperator(market.operator.privateKey);
  await MarketBook.isolated(market, { rpc: { settlement, stream }, operator }, async (book) => {
    await book.upToDate();
    const error = { code: -32000, message: 'this is not available on your plan' };
    proxy.trick = (asked) => (asked.method === 'eth_getLogs' ? { error } : 'PASS');
    const wallet = book.following.chains.settlementWallet;
    if (wallet === null) throw new Error('There is a wallet');
    const { txHash } = await wallet.send({ to: NOBODY, data: '0x57' });
    const sent = (): Promise<number> => market.client.getTransactionCount({ address: market.operator.address });
    const before = await sent();
    await market.reorg(1);
    await market.client.dropTransaction({ hash: txHash });
    t.equal(await sent(), before - 1, 'it is gone');
    proxy.trick = () => 'PASS';
    await market.client.mine({ blocks: 1 });
    await book.following.until(() => book.following.troubles.length > 0);
    t.match(book.following.troubles, [/a reorg took it back: sent again/]);
    await wallet.send({ to: NOBODY, data: '0x58' });
    t.equal(await sent(), before + 1);
  });
});
